import RelayCore
import StateCoding
import StrictJSON
import Telnet
import Testing

/// A client that loses its connection at random points, and resumes with the last number that it saw.
@Suite("A client that vanishes and resumes at random")
struct ResumeRandomTests {
    @Test(arguments: [DialectKind.typed, .gmcp, .json], UInt64(0)..<40)
    func `ends with exactly the target's output or the announced gap`(kind: DialectKind, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let limit = [200, 2_000, 51_200].randomElement(using: &generator) ?? 200
        var run = try Run(kind, outputBufferBytes: limit)
        for _ in 0..<300 { run.step(&generator) }
        run.comeBack(losing: 0)
        #expect(run.problems.isEmpty, "\(run.problems)")
        #expect(run.witness.text == run.sent)
        #expect(run.client.differences(to: run.witness).isEmpty)
        #expect(run.client.gauge == run.witness.gauge)
        #expect(run.client.isEchoSuppressed == run.witness.isEchoSuppressed)
        let hasGap = run.client.parts.contains { $0.payload == nil }
        #expect(limit == 200 ? hasGap : limit < 51_200 || !hasGap)
    }
}

/// A target, a session, and a client whose connection may break behind any of its messages.
private struct Run {
    var session: Conversation
    var client: ResumingClient
    /// A second client, which never loses its connection.
    private(set) var witness: ResumingClient
    private(set) var sent: [UInt8] = []
    private var ownProblems: [String] = []
    private let limit: Int
    private var isEchoSuppressed = false
    private var gauge = 0
    private var isAttached = true

    init(_ kind: DialectKind, outputBufferBytes: Int) throws {
        session = try Conversation(kind, outputBufferBytes: outputBufferBytes)
        limit = outputBufferBytes
        client = ResumingClient(kind: kind)
        witness = client
        if kind == .typed { _ = session.say(#"{"type":"connect","host":"h","port":1}"#) }
        session.translation.connected(Transcript.session, telnet: Transcript.telnet, into: &session.output)
        deliver()
        hear([255, 251, 201])
    }

    var problems: [String] { ownProblems + client.problems + witness.problems }

    mutating func step(_ generator: inout SeededGenerator) {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0..<6:
            let text = (0..<Int.random(in: 1...90, using: &generator)).map { _ in
                UInt8.random(in: 0x20...0x7E, using: &generator)
            }
            sent += text
            hear(text)
        case 6:
            gauge += 1
            hear([255, 250, 201] + Array("Char.Vitals \(gauge)".utf8) + [255, 240])
        case 7:
            isEchoSuppressed.toggle()
            hear([255, isEchoSuppressed ? 251 : 252, 1])
        case 8: hear([255, 249])
        case 9 where isAttached: vanish()
        case 10: comeBack(losing: Int.random(in: 0...5, using: &generator))
        case 11 where !isAttached: cross()
        default: acknowledge()
        }
    }

    /// The session goes on in another process.
    private mutating func cross() {
        do {
            guard let state = session.translation.state else { return ownProblems.append("it can't be moved") }
            let bytes = try StateEncoder.bytes(of: state)
            let translation = Translation(
                try StateDecoder.decode(Translation.State.self, from: bytes), maximumMessageBytes: 65_536,
                telnet: Transcript.telnet, compressor: Stored(), makeDecompressor: nil, restoring: { _ in nil })
            guard let translation else { return ownProblems.append("it wasn't taken over") }
            session.translation = translation
        } catch {
            ownProblems.append("\(error)")
        }
    }

    private mutating func hear(_ bytes: [UInt8]) {
        var input = bytes[...]
        while session.translation.next(&input, now: 0, into: &session.output) {}
        deliver()
    }

    private mutating func vanish() {
        session.translation.detached()
        isAttached = false
    }

    /// - Parameter lost: so many of the last messages of the answer don't arrive, and the connection is gone again.
    mutating func comeBack(losing lost: Int) {
        client.comesBack()
        let known = client.parts.count
        session.translation.attached(Transcript.resumed, after: client.seq, into: &session.output)
        for frame in session.output.frames.frames.dropLast(lost) { client.receive(frame, of: session.output.frames) }
        session.output.removeAll()
        isAttached = true
        if lost > 0 { vanish() }
        if let gap = client.parts.dropFirst(known).first(where: { $0.payload == nil }) { check(gap) }
    }

    /// Had one more message been kept, it would have been too much.
    private mutating func check(_ gap: ResumingClient.Part) {
        let kept = witness.parts.filter { $0.from > gap.to }
        let oldest = witness.parts.last { $0.to <= gap.to }?.size ?? 0
        if kept.reduce(oldest, { $0 + $1.size }) <= limit, kept.count < max(64, limit / 16) {
            ownProblems.append("a gap to \(gap.to), although more would have had room")
        }
    }

    private mutating func acknowledge() {
        guard isAttached, client.kind == .typed else { return }
        _ = session.say(#"{"type":"syncAck","sessionId":"\#(Transcript.session.id)","lastSeq":\#(client.seq)}"#)
    }

    private mutating func deliver() {
        for frame in session.output.frames.frames {
            witness.receive(frame, of: session.output.frames)
            if isAttached { client.receive(frame, of: session.output.frames) }
        }
        session.output.removeAll()
    }
}

/// A client of these dialects: it counts, keeps what it receives, and records gaps.
private struct ResumingClient {
    /// A message with its number or numbers, or a gap.
    struct Part {
        let from: UInt64
        let to: UInt64
        /// nil: it is lost permanently.
        let payload: [UInt8]?
        let size: Int
        var isText = false
    }

    let kind: DialectKind
    private(set) var seq: UInt64 = 0
    private(set) var gauge = 0
    private(set) var isEchoSuppressed = false
    private(set) var problems: [String] = []
    private(set) var parts: [Part] = []
    /// With bytes, what comes before the session's message isn't counted.
    private var isCounting = true

    init(kind: DialectKind) { self.kind = kind }

    var text: [UInt8] { parts.filter(\.isText).flatMap { $0.payload ?? [] } }

    mutating func comesBack() { isCounting = kind == .typed }

    mutating func receive(_ frame: FrameBuffer.Frame, of frames: FrameBuffer) {
        let payload = frames.bytes[frame.range]
        switch kind {
        case .typed: receiveTyped(payload)
        case _ where !frame.isText: take(payload, isText: true)
        case .json: receiveEnvelope(payload)
        default: receiveGMCP(payload)
        }
    }

    /// - Parameter witness: has seen all of it.
    func differences(to witness: ResumingClient) -> [String] {
        var place: UInt64 = 0
        var differences: [String] = []
        for part in parts {
            let truth = witness.parts.filter { $0.from >= part.from && $0.to <= part.to }
            if part.from != place + 1 { differences.append("\(part.from) behind \(place)") }
            if truth.first?.from != part.from || truth.last?.to != part.to { differences.append("cut at \(part.to)") }
            if let payload = part.payload, payload != truth[0].payload { differences.append("other than \(part.to)") }
            if part.size != truth.reduce(0, { $0 + $1.size }) { differences.append("size at \(part.to)") }
            place = part.to
        }
        return place == witness.seq ? differences : differences + ["ends at \(place) of \(witness.seq)"]
    }

    // MARK: Typed

    private mutating func receiveTyped(_ payload: ArraySlice<UInt8>) {
        guard let object = object(payload), case .string(let type) = object["type"] else {
            return problems.append("no typed message")
        }
        if type == "gap" { return takeGap(object) }
        guard let number = object["seq"]?.number else { return }
        note(type, object)
        // What isn't above is state that is told again.
        guard number > seq else {
            if type == "data" || type == "prompt" { problems.append("\(number) after \(seq)") }
            return
        }
        let content = content(of: type, object, payload)
        parts.append(Part(from: number, to: number, payload: content, size: content.count, isText: type == "data"))
        seq = number
    }

    private mutating func note(_ type: String, _ object: JSONObject) {
        if type == "gmcp" { gauge = Int(object["data"]?.number ?? 0) }
        if type == "echo" { isEchoSuppressed = object["suppressed"] == .bool(true) }
    }

    private func content(of type: String, _ object: JSONObject, _ payload: ArraySlice<UInt8>) -> [UInt8] {
        if type == "data", case .string(let text) = object["payload"] { return decodedBase64(text) }
        let written = String(decoding: payload, as: UTF8.self)
        return Array((written.firstMatch(of: /"package":("[^"]*","data":[0-9]+)/)?.1 ?? "").utf8)
    }

    // MARK: The others

    private mutating func receiveGMCP(_ payload: ArraySlice<UInt8>) {
        let words = String(decoding: payload, as: UTF8.self).split(separator: " ", maxSplits: 1)
        let data = words.count > 1 ? String(words[1]) : ""
        if words[0].hasPrefix("Portcullis.") { return receiveOwn(words[0].dropFirst(11).lowercased(), data) }
        gauge = Int(data) ?? -1
        take(payload, isText: false)
    }

    private mutating func receiveEnvelope(_ payload: ArraySlice<UInt8>) {
        guard let object = object(payload), case .string(let proto) = object["proto"],
            case .string(let data) = object["data"]
        else { return problems.append("no envelope") }
        guard proto == "gmcp" else { return receiveOwn(proto, data) }
        gauge = Int(data) ?? -1
        take(payload, isText: false)
    }

    private mutating func receiveOwn(_ name: String, _ data: String) {
        let object = object(Array(data.utf8)[...])
        switch name {
        case "session": startCounting(at: object?["seq"]?.number ?? 0)
        case "gap": object.map { takeGap($0) }
        case "echo": isEchoSuppressed = object?["suppressed"] == .bool(true)
        default: break
        }
    }

    private mutating func startCounting(at start: UInt64) {
        if start < seq { problems.append("counting begins at \(start) before \(seq)") }
        // The gap's own message, which says the same, may not come any more.
        if start > seq { parts.append(Part(from: seq + 1, to: start, payload: nil, size: Int(start - seq))) }
        seq = start
        isCounting = true
    }

    private mutating func take(_ payload: ArraySlice<UInt8>, isText: Bool) {
        guard isCounting else { return problems += isText ? ["text before the session's message"] : [] }
        let to = seq + UInt64(payload.count)
        parts.append(Part(from: seq + 1, to: to, payload: Array(payload), size: payload.count, isText: isText))
        seq = to
    }

    private mutating func takeGap(_ object: JSONObject) {
        guard let from = object["fromSeq"]?.number, let to = object["toSeq"]?.number,
            let bytes = object["bytes"]?.number
        else { return problems.append("no gap") }
        if kind == .typed {
            parts.append(Part(from: from, to: to, payload: nil, size: Int(bytes)))
            seq = to
        } else if let last = parts.last, last.payload != nil || last.from != from || last.to != to || last.size != bytes
        {
            problems.append("a gap that counting doesn't show")
        }
    }

    private func object(_ text: ArraySlice<UInt8>) -> JSONObject? {
        if case .object(let object)? = try? JSONReader.read(text) { object } else { nil }
    }
}

extension JSONValue {
    fileprivate var number: UInt64? {
        if case .integer(let value) = self { UInt64(exactly: value) } else { nil }
    }
}
