import Telnet
import WireText

@testable import RelayCore

/// A conversation written down: what goes in, and behind each line what came of it. Replaying gives the same text, or
/// the test shows where it doesn't.
///
/// ```
/// C text message of the client            S text message for the client
/// B binary message of the client          b binary message for the client
/// T bytes of the target                   D bytes for the target
/// connected  failed <why>  closed         dial …  close <code> <text>
/// keepalive  ticket <ticket>              resume <id> <token> <seq>
/// unresumed <why>  detached  attached <seq>
/// tell attached|detached
/// draining <milliseconds>
/// ```
/// Bytes are ASCII with `\r`, `\n`, `\e`, `\\` and `\xHH`; text messages stand as they are.
struct Transcript {
    private var translation: Translation
    private var output = TranslationOutput()
    private(set) var lines: [String] = []
    /// How many bytes of the target come at once; nil: all of a line.
    var pieceBytes: Int?

    init?(
        _ kind: DialectKind, client: ClientDescription = ClientDescription(), outputBufferBytes: Int = 51_200,
        compressor: any FrameCompressor = Stored()
    ) {
        let made = Translation(
            kind: kind, client: client, outputBufferBytes: outputBufferBytes, compressor: compressor,
            makeDecompressor: nil)
        guard let made else { return nil }
        translation = made
    }

    static let session = SessionIdentity(
        id: "3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1", token: String(repeating: "0123456789abcdef", count: 4))

    /// The same session after a resume.
    static let resumed = SessionIdentity(id: session.id, token: String(repeating: "fedcba9876543210", count: 4))

    static var telnet: TelnetClientSettings {
        var settings = TelnetClientSettings()
        settings.greetsGMCP = false
        return settings
    }

    static func replay(
        _ kind: DialectKind, pieceBytes: Int? = nil, client: ClientDescription = ClientDescription(),
        outputBufferBytes: Int = 51_200, _ text: String
    ) -> String {
        guard var transcript = Transcript(kind, client: client, outputBufferBytes: outputBufferBytes) else {
            return "no translation"
        }
        transcript.pieceBytes = pieceBytes
        let outgoing: Set<Substring> = ["S", "b", "D", "dial", "close", "resume"]
        for line in text.split(separator: "\n") {
            let word = line.prefix { $0 != " " }
            guard !outgoing.contains(word) else { continue }
            transcript.lines.append(String(line))
            transcript.perform(word, String(line.dropFirst(word.count + 1)))
        }
        return transcript.lines.joined(separator: "\n")
    }

    /// The first line that replaying gives otherwise, and what it gives; nil if there is none.
    static func difference(
        _ kind: DialectKind, client: ClientDescription = ClientDescription(), outputBufferBytes: Int = 51_200,
        _ text: String
    ) -> String? {
        let replayed = replay(kind, client: client, outputBufferBytes: outputBufferBytes, text).split(separator: "\n")
        let written = text.split(separator: "\n")
        for index in 0..<max(replayed.count, written.count) {
            let now = index < replayed.count ? replayed[index] : "nothing"
            let then = index < written.count ? written[index] : "nothing"
            if now != then { return "written: \(then)\nreplayed: \(now)" }
        }
        return nil
    }

    mutating func perform(_ word: Substring, _ rest: String) {
        switch word {
        case "C": translation.receive(Array(rest.utf8)[...], isText: true, isLast: true, into: &output)
        case "B": translation.receive(unescaped(rest)[...], isText: false, isLast: true, into: &output)
        case "T": target(unescaped(rest))
        case "connected": translation.connected(Self.session, telnet: Self.telnet, into: &output)
        case "failed": DialFailure(rest).map { translation.dialFailed($0, into: &output) }
        case "closed": translation.targetClosed(into: &output)
        case "keepalive": translation.keepAlive(into: &output)
        case "ticket": translation.send(ticket: rest, expiresIn: 30, into: &output)
        case "unresumed": ResumeFailure(rest).map { translation.resumeFailed($0, into: &output) }
        case "detached": translation.detached()
        case "attached": translation.attached(Self.resumed, after: UInt64(rest) ?? 0, into: &output)
        case "tell": translation.tellTarget(isAttached: rest == "attached", into: &output)
        case "draining": translation.sendDraining(reconnectAfterMilliseconds: Int(rest) ?? 0, into: &output)
        default: lines.append("unknown line: \(word)")
        }
        report()
    }

    private mutating func target(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            var piece = rest.prefix(pieceBytes ?? rest.count)
            rest = rest.dropFirst(piece.count)
            while translation.next(&piece, now: 0, into: &output) {}
        }
    }

    private mutating func report() {
        lines += Self.lines(of: output, translation)
        output.removeAll()
    }

    /// - Parameter translation: after the step that `output` came of.
    static func lines(of output: TranslationOutput, _ translation: Translation) -> [String] {
        var lines: [String] = []
        for frame in output.frames.frames {
            let payload = output.frames.bytes[frame.range]
            lines.append(frame.isText ? "S " + String(decoding: payload, as: UTF8.self) : "b " + escaped(payload))
        }
        if !output.toTarget.isEmpty { lines.append("D " + escaped(output.toTarget[...])) }
        return lines + output.orders.map { text(of: $0, size(of: translation.client)) }
    }

    private static func text(of order: TranslationOrder, _ size: String) -> String {
        switch order {
        case .resume(let request): "resume \(request.sessionID) \(request.token) \(request.lastSeq)"
        case .close(let reason): "close \(reason.code) \(reason.text)"
        case .dial(.standard): "dial standard" + size
        case .dial(.route(let name)): "dial route \(name)" + size
        case .dial(.address(let host, let port)): "dial \(host) \(port)" + size
        }
    }

    /// Of the client's window, where it is known when the target is dialled.
    private static func size(of client: ClientDescription) -> String {
        client.columns == nil && client.rows == nil ? "" : " \(client.columns ?? 0)x\(client.rows ?? 0)"
    }
}

/// No compression, so that what is sent can be read.
struct Stored: FrameCompressor {
    func compress(_ bytes: [UInt8]) -> [UInt8]? { nil }
}

extension DialFailure {
    init?(_ name: String) {
        guard let failure = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
        self = failure
    }
}

extension ResumeFailure {
    init?(_ name: String) {
        guard let failure = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
        self = failure
    }
}

func escaped(_ bytes: ArraySlice<UInt8>) -> String {
    bytes.map { byte in
        switch byte {
        case 0x0D: #"\r"#
        case 0x0A: #"\n"#
        case 0x1B: #"\e"#
        case UInt8(ascii: "\\"): #"\\"#
        case 0x20...0x7E: String(UnicodeScalar(byte))
        default: #"\x"# + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
    }.joined()
}

func unescaped(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else {
            bytes.append(byte)
            continue
        }
        switch letter {
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "e"): bytes.append(0x1B)
        case UInt8(ascii: "x"):
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        default: bytes.append(letter)
        }
    }
    return bytes
}
