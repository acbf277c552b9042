import Testing
import WebSocketWire

@testable import FleetWire

struct RelayedMessagesTests {
    private typealias Event = RelayedMessages.Event

    private static func frame(_ opcode: Opcode, _ payload: [UInt8] = [], isFinal: Bool = true) -> [UInt8] {
        FrameHeader(opcode, isFinal: isFinal, payloadBytes: payload.count).bytes + payload
    }

    private static let long = [UInt8](repeating: 65, count: 70_000)
    private static let frames: [[UInt8]] = [
        frame(.text, Array("one".utf8)), frame(.binary), frame(.text, Array("two,".utf8), isFinal: false), frame(.ping),
        frame(.continuation, Array(" and ".utf8), isFinal: false), frame(.pong, [1]),
        frame(.continuation, Array("three".utf8)), frame(.close, [0x03, 0xF4] + Array("for ever".utf8)),
    ]
    private static let events: [Event] = [
        .message(Array("one".utf8), isText: true), .message([], isText: false), .ping,
        .message(Array("two, and three".utf8), isText: true), .close(code: 1012, reason: "for ever"),
    ]

    @Test func `messages are joined from their frames, however the bytes are split`() {
        let whole = Self.frames.flatMap(\.self)
        for cut in 0...whole.count {
            var messages = RelayedMessages()
            #expect(messages.take(Array(whole[..<cut])) + messages.take(Array(whole[cut...])) == Self.events, "\(cut)")
        }
        var messages = RelayedMessages()
        #expect(whole.flatMap { messages.take([$0]) } == Self.events)
    }

    @Test func `every form of length is read`() {
        for count in [0, 125, 126, 65_535, 65_536, 70_000] {
            let payload = Array(Self.long[..<count])
            var messages = RelayedMessages()
            #expect(messages.take(Self.frame(.binary, payload)) == [.message(payload, isText: false)])
        }
    }

    @Test func `a message has a limit`() {
        let limit = RelayedMessages.maximumMessageBytes
        let most = [UInt8](repeating: 7, count: limit)
        var messages = RelayedMessages()
        #expect(messages.take(Self.frame(.binary, most, isFinal: false)).isEmpty)
        #expect(messages.take(Self.frame(.continuation)) == [.message(most, isText: false)])
        // The next message has the whole limit again.
        #expect(messages.take(Self.frame(.binary, most)) == [.message(most, isText: false)])
        #expect(messages.take(Self.frame(.binary, most, isFinal: false)).isEmpty)
        #expect(messages.take(Self.frame(.continuation, [7])) == [.malformed("messageTooBig")])
    }

    @Test(arguments: [
        (frame(.text, [0xFF]), "textNotUTF8"), (frame(.continuation), "unexpectedContinuation"),
        (frame(.close, [0x03]), "closeOfOneByte"), (frame(.close, [0x03, 0xEE]), "closeCode"),
        ([0xC1, 0], "reservedBits"),
        ([0x81, 0x80], "masked"), ([0x83, 0], "unknownOpcode"), ([0x09, 0], "fragmentedControl"),
    ])
    func `what no gateway sends ends the messages`(frame: [UInt8], fault: String) {
        var messages = RelayedMessages()
        let following = Self.frame(.text, [65])
        #expect(messages.take(Self.frame(.ping) + frame + following) == [.ping, .malformed(fault)])
        #expect(messages.take(following).isEmpty)
    }

    @Test func `nothing follows a close`() {
        var messages = RelayedMessages()
        let end = messages.take(Self.frame(.close) + Self.frame(.text, [65]))
        #expect(end == [.close(code: nil, reason: "")])
        #expect(messages.take(Self.frame(.ping)).isEmpty)
    }

    @Test func `whose a session is has the limit of a preface, and is in a binary message`() {
        func introduced(_ opcode: Opcode, _ count: Int) -> [UInt8]? {
            var messages = RelayedMessages()
            return messages.take(Self.frame(opcode, Array(Self.long[..<count]))).first?.introduced
        }
        let limit = RelayPrefaceLimits.maximumPrincipalBytes
        for count in [1, limit] { #expect(introduced(.binary, count) == Array(Self.long[..<count])) }
        for count in [0, limit + 1] { #expect(introduced(.binary, count) == nil) }
        #expect(introduced(.text, 1) == nil && introduced(.ping, 0) == nil)
    }

    // MARK: Toward the gateway

    /// As the other gateway reads it.
    private static func read(_ input: [UInt8]) -> [FrameEvent] {
        var (reader, bytes, position, events) = (FrameReader(), input, 0, [FrameEvent]())
        var span = bytes.mutableSpan
        while let event = reader.next(in: &span, from: &position) { events.append(event) }
        return events
    }

    @Test func `parts of a client's messages arrive as parts of messages`() throws {
        var input = RelayedInput()
        var sent: [UInt8] = []
        let parts: [(bytes: [UInt8], isText: Bool, isLast: Bool)] = [
            (Array("a".utf8), true, false), (Array(Self.long), true, false), (Array("z".utf8), true, true),
            ([1, 2], false, true), ([], true, true),
        ]
        for part in parts {
            sent += input.header(ofPart: part.bytes.count, isText: part.isText, isLast: part.isLast) + part.bytes
        }
        // A control frame may stand between the parts of a message.
        sent += input.header(ofPart: 1, isText: true, isLast: false) + [65] + RelayedInput.ping
        sent += RelayedInput.pong + input.header(ofPart: 0, isText: true, isLast: true)
        let limits = MessageLimits(messageBytes: 100_000)
        var (reader, bytes, position) = (FrameReader(limits: limits), sent, 0)
        var span = bytes.mutableSpan
        var read: [(bytes: [UInt8], isText: Bool, isLast: Bool)] = []
        var controls = 0
        while let event = reader.next(in: &span, from: &position) {
            guard case .data(let piece) = event else {
                controls += 1
                continue
            }
            read.append((piece.range.map { span.span[$0] }, piece.isText, piece.isLast))
        }
        let all = parts + [([65], true, false), ([], true, true)]
        #expect(read.map(\.bytes) == all.map(\.bytes) && controls == 2)
        #expect(read.map(\.isText) == all.map(\.isText) && read.map(\.isLast) == all.map(\.isLast))
    }

    @Test(
        arguments: [(1000, 1000), (4321, 4321), (nil, nil), (1005, nil), (1006, nil), (999, nil)]
            as [(UInt16?, UInt16?)])
    func `a close keeps a code that may be sent`(code: UInt16?, read: UInt16?) {
        let events = Self.read(RelayedInput.close(code: code))
        guard case .close(let close) = events.first else {
            Issue.record("\(events)")
            return
        }
        #expect(close.code?.rawValue == read && events.count == 1)
    }
}
