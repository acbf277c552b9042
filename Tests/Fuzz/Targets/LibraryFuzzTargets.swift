import Foundation

@testable import PortcullisClient

/// What a server may send to the client library.
let libraryFuzzTargets = [
    FuzzTarget("library-json") { bytes in
        guard let members = try? JSONMembers(bytes, maximumBytes: 1 << 16) else { return }
        try require(isUTF8(bytes), "JSON is UTF-8")
        let other = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        // Foundation refuses some numbers.
        try require((other?.count ?? 0) <= members.count, "no member is missing")
        for case let name in [StaticString("a"), "data", "nonce"] {
            guard let raw = members.raw(name) else { continue }
            let wrapped = Array("{\"v\":".utf8) + raw + Array("}".utf8)
            let inner = try JSONMembers(wrapped, maximumBytes: wrapped.count)
            try require(inner.count == 1 && inner.raw("v").map(Array.init) == Array(raw), "a member stands alone")
            try require((members.objects(name, atMost: 4) ?? []).count <= 4, "a list has an end")
        }
        if let options = try? PasskeyRequestOptions(members) {
            try require(PasskeyOptions.challengeBytes.contains(options.challenge.count), "a challenge is bounded")
            try require(options.allowed.allSatisfy { !$0.isEmpty && $0.count <= 1_023 }, "a passkey is bounded")
        }
        _ = try? PasskeyCreationOptions(members)
        _ = try? PlayerAccount(members)
    },
    // A status of two bytes, header values that are parted by the byte 1E, and a body.
    FuzzTarget("library-refusal") { bytes in
        let parts = bytes.dropFirst(2).split(separator: 0x1E, maxSplits: 3, omittingEmptySubsequences: false)
        let status = bytes.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        let names = ["x-refusal-code", "retry-after", "www-authenticate"]
        let refusal = RefusalReader.refusal(
            status: status,
            header: { name in names.firstIndex(of: name).flatMap { $0 + 1 < parts.count ? text(parts[$0 + 1]) : nil } },
            body: parts.first.map(Array.init) ?? [], maximumBytes: 1 << 16)
        try require(refusal.message.utf8.count <= 3 * Refusal.maximumTextBytes, "what is kept is short")
        try require(!refusal.description.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a description is one line")
        let words = refusal.message.utf8.split(separator: 0x20)
        try require(words.allSatisfy { $0.count <= 3 * RefusalReader.longestWord }, "a secret isn't repeated")
        try require((refusal.retryAfter ?? 0) <= 3_600, "a pause ends")
        _ = refusal.reaction
    },
    // A session's messages parted by the byte 1E: the first byte says whether it is binary (`b`), a cut (`c`), an input
    // (`i`) or a text.
    FuzzTarget("library-session") { bytes in
        for dialect in SessionDialect.allCases {
            var conversation = LibraryConversation(dialect)
            for part in bytes.split(separator: 0x1E).prefix(48) { try conversation.take(part) }
            try conversation.end()
        }
    },
    FuzzTarget("library-texts") { bytes in
        let given = text(bytes.prefix(4_096))
        if let address = try? GateAddress(given) {
            try require((try? GateAddress(address.origin + address.basePath)) != nil, "an address is in its own form")
            let url = try? address.url(given)
            try require(
                url.map { $0.utf8.starts(with: (address.origin + address.basePath + "/").utf8) } ?? true,
                "a URL stays below it")
        }
        if let seconds = TimeText.seconds(httpDate: given) { try require(abs(seconds) < 1 << 39, "a date is a date") }
        _ = TimeText.seconds(rfc3339: given)
        if let decoded = BinaryText.bytes(base64: given.utf8) {
            try require(decoded.count <= given.utf8.count, "decoding makes it shorter")
        }
        _ = CertificateKey.info(in: bytes)
        _ = RequestTarget(given)
    },
]

/// A session whose gateway says anything.
private struct LibraryConversation {
    private var core: SessionCore
    private var said: Set<InputNumber> = []
    private var settled: Set<InputNumber> = []

    init(_ dialect: SessionDialect) {
        core = SessionCore(ConnectionOptions(dialect: dialect), ClientLimits())
        _ = core.opened()
    }

    mutating func take(_ part: ArraySlice<UInt8>) throws {
        switch part.first {
        case UInt8(ascii: "c"):
            try note(core.detached())
            try note(core.opened())
        case UInt8(ascii: "i") where core.hasRoom(for: part.count):
            let (number, orders) = core.input(Array(part.dropFirst()))
            try require(said.insert(number).inserted, "numbers are unique")
            try note(orders)
        default: try note(core.receive(Array(part.dropFirst()), isText: part.first != UInt8(ascii: "b")))
        }
        try require(
            core.query.allSatisfy { !$0.value.utf8.contains { $0 <= 0x20 || $0 == 0x26 } }, "a query needs no escapes")
    }

    mutating func end() throws {
        try note(core.ended())
        try require(settled == said, "what became of every input is told")
    }

    private mutating func note(_ orders: [SessionCore.Order]) throws {
        for case .event(.input(let outcome)) in orders {
            let numbers: [InputNumber] =
                switch outcome {
                case .delivered(let number), .refused(let number, _): [number]
                case .uncertain(let numbers), .undelivered(let numbers): numbers
                }
            for number in numbers {
                try require(
                    said.contains(number) && settled.insert(number).inserted,
                    "it is told once, of inputs that were made")
            }
        }
    }
}
