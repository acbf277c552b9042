import Admission
import CoreMetrics
import Glibc
import KeyStore
import KeyStoreTestKit
import Logging
import Observability
import PrometheusText
import WireText

@testable import AuditTrail
@testable import GatewayServer
@testable import OperatorTools
@testable import StateCoding

/// What is written about clients, what is read again of it, and the records of stores and of other processes.
let recordPlaces = places {
    audits
    text("text in a log line") { text in
        use(EscapedText(text))
        use(EscapedText(text, maximumBytes: 1 << 20))
    }
    bytes("bytes in a log line") { use(EscapedText(bytes: $0, maximumBytes: 1 << 20)) }
    text("an event's field in the text log") {
        log($0, TextLogHandler(label: "a", level: .info, output: nowhere))
    }
    text("an event's field in the JSON log") {
        log($0, JSONLogHandler(label: "a", level: .info, output: nowhere))
    }
    text("a decision's texts in the audit log") { text in
        var entry = AuditEntry(
            time: Timestamp(unixMilliseconds: 1), event: .upgrade, outcome: .refused, method: "none", who: text,
            reason: text,
            detail: text, requestID: text, address: text)
        (entry.check, entry.expected, entry.received) = (text, text, text)
        use(entry.line)
    }
    text("a label of the metrics") { text in
        let registry = MetricRegistry([MetricFamily("a_total", .counter, "A.")])
        Counter(label: "a_total", dimensions: [("x", text)], factory: registry).increment()
        use(registry.exposition(.text))
    }
    text("text in an answer") { text in
        var writer = JSONWriter()
        writer.member(text, text)
        use(writer.object)
    }
    bytes("a state of another process") { use(try? StateReader.read($0)) }
    prepared("texts of another process") { text in
        let bytes = try StateEncoder.bytes(of: [text: text, "a": text])
        return {
            use(try? StateDecoder.decode([String: String].self, from: bytes))
            use(try? StateDecoder.decode([String].self, from: bytes))
            use(try? StateDecoder.decode(KeyID.self, from: bytes))
        }
    }
    prepared("many texts of another process") { text in
        let piece = String(text.unicodeScalars.prefix(20))
        let bytes = try StateEncoder.bytes(
            of: Dictionary(uniqueKeysWithValues: (0..<text.utf8.count / 60).map { (piece + "\($0)", $0) }))
        return { use(try? StateDecoder.decode([String: Int].self, from: bytes)) }
    }
    prepared("a record of another process") { text in
        let bytes = try StateEncoder.bytes(of: HandoverRecord.refused(reason: text))
        return { use(try? StateDecoder.decode(HandoverRecord.self, from: bytes)) }
    }
    text("a stored key's texts") { text in
        let id = KeyID(bytes: [UInt8](repeating: 1, count: 32))
        guard let id else { return }
        let key = DeviceKey(
            id: id, publicKeyX963: [], app: text, environment: text, trustRoot: [], counter: 0, receipt: [],
            validationCategory: nil, bundleVersion: text, registeredAt: 0, revokedAt: 1, revocationReason: text)
        let registry = MemoryKeyRegistry()
        use(registry.enrol(key))
        use(registry.enrol(key))
        use(key.completed(by: key))
    }
    text("a stored account's texts") { text in
        let (id, mark) = (AccountID(bytes: Array(1...16)), PasskeyMark(bytes: Array(1...32)))
        guard let id, let mark, let key = KeyID(bytes: Array(1...32)) else { return }
        let passkey = Passkey(
            mark: mark, credentialID: [1], publicKey: [1], signCount: 0, isBackupEligible: false, isBackedUp: false,
            isUserVerified: true, aaguid: [], attestation: text, label: text, madeAt: 0)
        let device = AccountDevice(key: key, label: text, joinedAt: 0)
        let account = Account(id: id, origin: .device, madeAt: 0, passkeys: [passkey], devices: [device])
        let description = AccountDescription(account)
        use((description.line, description.full, description.json, account.isWellFormed))
        use(account.completed(by: account))
        use(RegistrationRules(now: 0).faults(of: .account(account)))
    }
    text("a stored signing key's name") { text in
        let keys = StoredSigningKeys(
            keys: (0..<4).map { StoredSigningKey(id: text + "\($0)", secret: [1], publishedAt: 0, signsFrom: 0) },
            revoked: [.init(id: text, revokedAt: 0)])
        use(keys.completed(by: keys))
    }
    text("the name of a development token") { use(DevelopmentTokenID(text: $0)) }
    bytes("a file that is searched") { bytes in
        var search = LineSearch(words: ["app_attest", "aab"])
        use(search.feed(bytes[...]))
        use(search.finish())
    }
}

private let nowhere = LineOutput(descriptor: open("/dev/null", O_WRONLY | O_CLOEXEC))

private func log(_ text: String, _ handler: some LogHandler) {
    var logger = Logger(label: "a") { _ in handler }
    logger.logLevel = .info
    logger.info("a message", metadata: ["detail": "\(text)", "\(text.unicodeScalars.count)": "a"])
}

// MARK: The audit log, read again

private func audit(_ name: String, _ line: String) -> HostilePlace {
    json("\(name) of an audit line", bytes: 65_000, in: line, read)
}

private func read(_ line: [UInt8]) {
    guard let record = AuditRecord(line) else { return }
    var explanation = Explanation(of: record.requestID ?? "")
    explanation.add(record)
    explanation.add(record)
    use(explanation.text)
    use(explanation.notFound)
    use(explanation.json)
    var tally = AuditTally(by: AuditTally.Key.allCases)
    tally.add(record)
    tally.add(record)
    use(tally.text)
    use(tally.jsonLines)
    var filter = AuditFilter()
    filter.who = ["a"]
    use(filter.matches(record))
    filter.who = []
    filter.addresses = AddressRange.list("192.0.2.0/24") ?? []
    filter.reasons = ["no_such_reason"]
    use(filter.matches(record))
    use(record.readable)
    use(record.json)
}

private let beginning = #"{"time":"2026-05-01T00:00:00.000Z","event":"upgrade","outcome":"refused","way":"none""#

private let audits = places {
    audit("the time", #"{"time":"$","event":"upgrade"}"#)
    audit("the event", #"{"time":"2026-05-01T00:00:00.000Z","event":"$"}"#)
    audit("an unknown member", beginning + #","$":"a"}"#)
    audit("the subject", beginning + #","who":"$"}"#)
    audit("the reason", beginning + #","reason":"$"}"#)
    audit("the detail", beginning + #","reason":"rate_limited","detail":"$"}"#)
    audit("the check", beginning + #","check":"$","expected":"$","received":"$"}"#)
    audit("the request", beginning + #","requestId":"$"}"#)
    audit("the address", beginning + #","address":"$"}"#)
    audit("the method", #"{"time":"2026-05-01T00:00:00.000Z","event":"upgrade","outcome":"$","way":"$"}"#)
    audit(
        "a count",
        #"{"time":"2026-05-01T00:00:00.000Z","event":"refusals","of":"$","count":"2","firstTime":"2026-05-01T00:00:00.000Z","firstRequestId":"$","lastTime":"2026-05-01T00:00:00.000Z","lastRequestId":"$","address":"$"}"#
    )
    bytes("an audit file of hostile bytes") { bytes in
        var splitter = LineSplitter()
        splitter.add(bytes[...], read)
        splitter.finish(read)
    }
}
