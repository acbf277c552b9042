import RelayCore
import StrictJSON
import Telnet
import Testing

/// Properties for seeded random input from both sides.
@Suite("A translation of random input")
struct TranslationFuzzTests {
    private static let kinds: [DialectKind] = [.terminal, .gmcp, .json, .typed, .legacy]

    @Test(arguments: kinds, [false, true])
    func `never sends a text message that isn't UTF-8, nor one that isn't of its dialect`(
        kind: DialectKind, isPlain: Bool
    ) throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<25 {
            var session = try Conversation(kind)
            if kind == .typed || kind == .legacy { _ = session.say(Self.connect(kind, isPlain: isPlain)) }
            _ = session.connect()
            var checker = FrameChecker(kind: kind, isPlain: isPlain)
            for _ in 0..<40 {
                if Bool.random(using: &generator) {
                    let message = Self.mutated(Self.messages, using: &generator)
                    session.translation.receive(
                        message[...], isText: Bool.random(using: &generator), isLast: true, into: &session.output)
                } else {
                    var input = Self.mutated(Self.streams, using: &generator)[...]
                    while session.translation.next(&input, now: 0, into: &session.output) {}
                }
                checker.check(session.output)
                session.output.removeAll()
            }
        }
    }

    @Test(arguments: kinds, [false, true])
    func `sends the client the same wherever the target's stream is split`(kind: DialectKind, isPlain: Bool) throws {
        var generator = SeededGenerator(seed: 4)
        for _ in 0..<12 {
            let stream = (0..<4).flatMap { _ in Self.mutated(Self.streams, using: &generator) }
            let whole = try Self.heard(stream, kind, isPlain, in: stream.count)
            #expect(try Self.heard(stream, kind, isPlain, in: 1) == whole)
            #expect(try Self.heard(stream, kind, isPlain, in: 7) == whole)
        }
    }

    /// Adjacent pieces of text joined: the split of text isn't specified.
    private static func heard(
        _ stream: [UInt8], _ kind: DialectKind, _ isPlain: Bool, in pieceBytes: Int
    ) throws -> [String] {
        var session = try Conversation(kind)
        _ = session.say(connect(kind, isPlain: isPlain))
        _ = session.connect()
        var lines: [String] = []
        for start in stride(from: 0, to: stream.count, by: pieceBytes) {
            var input = stream[start..<min(start + pieceBytes, stream.count)]
            while session.translation.next(&input, now: 0, into: &session.output) {}
        }
        session.translation.targetClosed(into: &session.output)
        for frame in session.output.frames.frames {
            let payload = session.output.frames.bytes[frame.range]
            guard let text = Self.text(in: payload, isText: frame.isText, kind, isPlain) else {
                lines.append("S " + String(decoding: payload, as: UTF8.self).replacing(/"seq":\d+/, with: ""))
                continue
            }
            if let last = lines.last, last.hasPrefix("text ") {
                lines[lines.count - 1] = last + escaped(text[...])
            } else {
                lines.append("text " + escaped(text[...]))
            }
        }
        return lines
    }

    /// The text of a text frame; nil for other frames.
    private static func text(
        in payload: ArraySlice<UInt8>, isText: Bool, _ kind: DialectKind, _ isPlain: Bool
    ) -> [UInt8]? {
        guard isText else { return Array(payload) }
        let string = String(decoding: payload, as: UTF8.self)
        switch kind {
        case .legacy: return isPlain ? nil : Array(decodedBase64(string).dropFirst(5))
        case .typed:
            guard let match = string.wholeMatch(of: /\{"type":"data","seq":\d+,"payload":"(.*)"\}/) else { return nil }
            return decodedBase64(String(match.1))
        default: return nil
        }
    }

    /// - Parameter isPlain: a legacy client declines compression.
    private static func connect(_ kind: DialectKind, isPlain: Bool) -> String {
        switch kind {
        case .typed: #"{"type":"connect","host":"h","port":1}"#
        case .legacy: isPlain ? #"{"connect":1,"mccp":0}"# : #"{"connect":1}"#
        default: ""
        }
    }

    private static let messages: [[UInt8]] = [
        #"{"type":"input","text":"look\r\n"}"#, #"{"type":"gmcp","package":"Core.Hello","data":{"client":"a"}}"#,
        #"{"type":"resume","sessionId":"s","token":"t","lastSeq":3}"#, #"{"type":"input","text":"a","cid":1}"#,
        #"{"type":"syncAck","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","lastSeq":3}"#,
        #"{"type":"naws","width":80,"height":24}"#, #"{"proto":"gmcp","id":"A.B","data":"{}"}"#,
        #"{"proto":"msdp","id":"REPORT","data":["A",{"b":[1]}]}"#,
        #"{"proto":"terminal","id":"size","data":{"cols":1,"rows":2}}"#,
        #"Core.Supports.Set ["Char 1"]"#, #"Portcullis.Size {"cols":1,"rows":2}"#, #"{"msdp":{"key":"a","val":["b"]}}"#,
        #"{"gmcp":"A.B {}"}"#, "look\r\n", #"{"type":"gmcp","package":"MSDP.X","data":[null,true,1.5]}"#,
    ].map { Array($0.utf8) }

    private static let streams: [[UInt8]] = [
        Array("Grüße, 世界 😀\r\n".utf8), [255, 251, 1, 255, 252, 1],
        [255, 251, 201, 255, 251, 69, 255, 251, 70, 255, 251, 25],
        [255, 250, 201] + Array(#"Char.Vitals {"hp":1,"name":"é"}"#.utf8) + [255, 240],
        [255, 250, 201] + Array("Note not JSON \"x\" \\".utf8) + [0xC3, 255, 240],
        [255, 250, 69, 1] + Array("ROOM".utf8) + [2, 3, 1] + Array("X".utf8) + [
            2, 5, 2, 0x41, 2, 0xE9, 6, 4, 255, 240,
        ],
        [255, 250, 70, 1] + Array("NAME".utf8) + [2, 0x41, 2, 0x42, 255, 240], [255, 253, 31, 255, 253, 24],
        [0x3E, 0x20, 255, 249],
        [255, 251, 200, 255, 250, 200] + Array("Room.Exits n,s".utf8) + [255, 240],
        [0xFF, 0xFF, 0xC3, 0x28, 0xE4, 0xB8],
    ]

    /// One of the corpus, with up to three bytes changed.
    private static func mutated(_ corpus: [[UInt8]], using generator: inout SeededGenerator) -> [UInt8] {
        var bytes = corpus.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 0...3, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: place)
            default: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
            }
        }
        return bytes
    }
}

/// Knows what a client of a dialect can rely on.
private struct FrameChecker {
    let kind: DialectKind
    let isPlain: Bool
    var lastSequence = 0

    init(kind: DialectKind, isPlain: Bool) {
        self.kind = kind
        self.isPlain = isPlain
    }

    mutating func check(_ output: TranslationOutput) {
        for frame in output.frames.frames {
            let payload = output.frames.bytes[frame.range]
            let text = String(validating: payload, as: UTF8.self)
            let isEcho = kind == .legacy && isPlain && (payload == [255, 251, 1] || payload == [255, 252, 1])
            #expect((text != nil || isEcho && !frame.isText) && !payload.isEmpty)
            switch kind {
            case .raw, .terminal: #expect(!frame.isText)
            case .gmcp where frame.isText: checkGMCP(text ?? "")
            case .json where frame.isText: checkEnvelope(payload)
            case .gmcp, .json: break
            case .typed:
                #expect(frame.isText)
                checkTyped(payload)
            case .legacy where isPlain && frame.isText: checkPair(payload)
            case .legacy where isPlain: break
            case .legacy:
                #expect(frame.isText && payload.count.isMultiple(of: 4))
            }
        }
    }

    private func checkPair(_ payload: ArraySlice<UInt8>) {
        guard case .object(let object)? = try? JSONReader.read(payload), object.members.count == 1 else {
            return #expect(Bool(false), "no pair")
        }
        #expect(object["gmcp"] != nil || object["msdp"] != nil)
    }

    private func checkGMCP(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        #expect(!parts.isEmpty && (parts.count == 1 || JSONReader.isValid(bytes(String(parts[1])))), "\(text)")
    }

    private func checkEnvelope(_ payload: ArraySlice<UInt8>) {
        guard case .object(let object)? = try? JSONReader.read(payload), case .string(let data) = object["data"] else {
            return #expect(Bool(false), "no envelope")
        }
        let hasJSON = ["gmcp", "msdp", "mssp", "echo"].map(JSONValue.string).contains(object["proto"])
        #expect(!hasJSON || data.isEmpty || JSONReader.isValid(bytes(data)))
    }

    private mutating func checkTyped(_ payload: ArraySlice<UInt8>) {
        guard case .object(let object)? = try? JSONReader.read(payload), case .string = object["type"] else {
            return #expect(Bool(false), "no typed message")
        }
        guard case .integer(let sequence) = object["seq"] else { return }
        #expect(sequence == lastSequence + 1)
        lastSequence = sequence
    }
}
