import Compression
import FoundationEssentials
import StrictJSON
import Telnet

@testable import RelayCore

/// What a MUD sends, on its way to a client: one byte for the dialect, then the stream. Its highest bit means a client
/// that wants nothing compressed. Behind it the client comes back and is told again.
let translationFuzzTarget = FuzzTarget("translation") { bytes in
    let kinds: [DialectKind] = [.typed, .gmcp, .json, .legacy, .terminal]
    let kind = kinds[Int((bytes.first ?? 0) & 0x7F) % kinds.count]
    let isPlain = kind == .legacy && (bytes.first ?? 0) >= 0x80
    let stream = bytes.dropFirst()
    var whole = try TargetConversation(kind, isPlain: isPlain)
    try whole.hear([stream])
    var cut = try TargetConversation(kind, isPlain: isPlain)
    try cut.hear(pieces(of: stream, 3))
    if !whole.hasEnded, !cut.hasEnded {
        try require(cut.heard == whole.heard, "pieces say what the whole says")
    }
    try whole.comeBack()
}

private struct TargetConversation {
    private var translation: Translation
    private var output = TranslationOutput()
    private var frames: FrameCheck
    /// Text of adjacent messages is joined: its split isn't specified.
    private(set) var heard: [Heard] = []

    enum Heard: Equatable {
        case text([UInt8])
        case message([UInt8])
    }

    /// - Parameter isPlain: the client has declined the compression of its dialect.
    init(_ kind: DialectKind, isPlain: Bool) throws {
        guard
            var translation = Translation(
                kind: kind, client: ClientDescription(), outputBufferBytes: 1_024, compressor: FuzzCompressor(),
                makeDecompressor: { ZlibDecompressor() })
        else { throw FuzzViolation(description: "\(kind) is translated") }
        let mccp = isPlain ? #","mccp":0"# : ""
        let connect = kind == .legacy ? #"{"connect":1\#(mccp)}"# : #"{"type":"connect","target":""}"#
        if translation.awaitsConnect {
            translation.receive(Array(connect.utf8)[...], isText: true, isLast: true, into: &output)
        }
        var settings = TelnetClientSettings()
        settings.maximumSubnegotiationBytes = 512
        translation.connected(FuzzSample.session, telnet: settings, into: &output)
        self.translation = translation
        frames = FrameCheck(kind: kind, isPlain: isPlain)
        try take()
    }

    var hasEnded: Bool { translation.hasEnded }

    mutating func hear(_ pieces: [ArraySlice<UInt8>]) throws {
        for piece in pieces {
            var input = piece
            while translation.next(&input, now: 0, into: &output) {
                try require(
                    output.frames.bytes.count <= 16 * TelnetClient.maximumTextBytes, "one event's messages are bounded")
                try take()
            }
            try take()
        }
    }

    mutating func comeBack() throws {
        guard translation.isResumable else { return }
        translation.detached()
        try hear([Array("\u{1B}[1mwhile away\r\n".utf8)[...]])
        for lastSeq in [0, 3, .max] as [UInt64] {
            frames.resume()
            translation.attached(FuzzSample.session, after: lastSeq, into: &output)
            try take()
        }
        translation.targetClosed(into: &output)
        try take()
    }

    private mutating func take() throws {
        try frames.check(output)
        for frame in output.frames.frames {
            let message = try heard(in: output.frames.bytes[frame.range], isText: frame.isText)
            if case .text(let text) = message, case .text(let before)? = heard.last {
                heard[heard.count - 1] = .text(before + text)
            } else {
                heard.append(message)
            }
        }
        output.removeAll()
    }

    private func heard(in payload: ArraySlice<UInt8>, isText: Bool) throws -> Heard {
        guard isText else { return .text(Array(payload)) }
        switch frames.kind {
        case .legacy where frames.isPlain: break
        case .legacy:
            guard var deflated = Data(base64Encoded: text(payload)).map({ [UInt8]($0)[...] }) else {
                throw FuzzViolation(description: "a message is base64")
            }
            return .text(try Inflater(format: .raw).inflate(&deflated, limit: 1 << 20).bytes)
        case .typed:
            // The target can't say it: quotation marks in its text are escaped, and data is base64.
            guard let match = text(payload).wholeMatch(of: /\{"type":"(\w+)","seq":\d+(.*)\}/) else { break }
            guard match.1 == "data" else { return .message(Array(match.2.utf8)) }
            let text = match.2.dropFirst(#","payload":""#.count).dropLast()
            return .text(Data(base64Encoded: String(text)).map { [UInt8]($0) } ?? [])
        default: break
        }
        return .message(Array(payload))
    }
}

/// The guarantees for a client of a dialect, for any input from its target and from itself.
struct FrameCheck {
    let kind: DialectKind
    /// A legacy client that has declined compression.
    let isPlain: Bool
    private var lastSequence: Int?
    private var isResumed = false

    init(kind: DialectKind, isPlain: Bool = false) {
        self.kind = kind
        self.isPlain = isPlain
    }

    /// Numbers come again after a resume, and a client that counts bytes may ask for the rest of a character.
    mutating func resume() {
        lastSequence = nil
        isResumed = true
    }

    mutating func check(_ output: TranslationOutput) throws {
        for frame in output.frames.frames {
            let payload = output.frames.bytes[frame.range]
            try require(!payload.isEmpty, "no message is empty")
            try require(
                isUTF8(payload) || (isResumed && !frame.isText) || isEchoCommand(payload, isText: frame.isText),
                "messages are UTF-8")
            switch kind {
            case .raw, .terminal: try require(!frame.isText, "a terminal gets no text messages")
            case .gmcp where frame.isText: try checkGMCP(payload)
            case .json where frame.isText: try checkEnvelope(payload)
            case .gmcp, .json: break
            case .typed: try checkTyped(payload, isText: frame.isText)
            case .legacy where isPlain && frame.isText: try checkPair(payload)
            case .legacy where isPlain: break
            case .legacy: try checkLegacy(payload, isText: frame.isText)
            }
        }
    }

    /// IAC WILL ECHO or IAC WONT ECHO, alone.
    private func isEchoCommand(_ payload: ArraySlice<UInt8>, isText: Bool) -> Bool {
        kind == .legacy && isPlain && !isText && (payload == [255, 251, 1] || payload == [255, 252, 1])
    }

    private func checkPair(_ payload: ArraySlice<UInt8>) throws {
        guard let object = try json(payload) else { return }
        try require(object.members.count == 1, "a text message has one member")
        switch (object["gmcp"], object["msdp"]) {
        case (.string(let text)?, nil): try require(GMCP.isName(text.utf8.prefix { $0 != 0x20 }), "GMCP has a name")
        case (nil, .object(let pair)?):
            try require(pair.members.map(\.name) == ["key", "val"], "MSDP is a key and a value")
        default: throw FuzzViolation(description: "a text message is GMCP or MSDP")
        }
    }

    private func checkGMCP(_ payload: ArraySlice<UInt8>) throws {
        let name = payload.prefix { $0 != 0x20 }
        let data = payload.dropFirst(name.count + 1)
        if !data.isEmpty { _ = try json(data) }
        try require(OutOfBand.isName(text(name)), "GMCP has a name")
    }

    private func checkEnvelope(_ payload: ArraySlice<UInt8>) throws {
        guard let object = try json(payload) else { return }
        guard case .string? = object["proto"] else { throw FuzzViolation(description: "a text message is an envelope") }
    }

    private mutating func checkTyped(_ payload: ArraySlice<UInt8>, isText: Bool) throws {
        try require(isText, "a message is a text message")
        guard let object = try json(payload) else { return lastSequence = nil }
        guard case .string? = object["type"] else { throw FuzzViolation(description: "a message has a type") }
        guard case .integer(let sequence)? = object["seq"], object["replayed"] == nil else { return }
        try require(lastSequence.map { sequence == $0 + 1 } ?? true, "messages are counted")
        lastSequence = sequence
    }

    /// nil for what is no object, and where a target's nesting, with an object of ours around it, is deeper than our
    /// own reader goes.
    private func json(_ bytes: ArraySlice<UInt8>) throws -> JSONObject? {
        do {
            guard case .object(let object) = try JSONReader.read(bytes) else { return nil }
            return object
        } catch JSONDefect.tooDeep {
            return nil
        }
    }

    private func checkLegacy(_ payload: ArraySlice<UInt8>, isText: Bool) throws {
        try require(isText && payload.count.isMultiple(of: 4), "a message is base64")
    }
}

enum FuzzSample {
    static let session = SessionIdentity(
        id: "3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1", token: String(repeating: "0123456789abcdef", count: 4))
}

/// The bridge from zlib to the legacy dialect, as Relay has one.
struct FuzzCompressor: FrameCompressor {
    func compress(_ bytes: [UInt8]) -> [UInt8]? { try? RawDeflater().deflate(bytes) }
}
