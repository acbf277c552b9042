import RelayCore
import Testing

@testable import portcullis_sim

struct TypedSessionTests {
    private static let target = TypedRequest.Target.address(host: "127.0.0.1", port: 4000)
    private static let identity = TypedSession.Identity(id: "one", token: "secret")

    private static func begun() -> TypedSession {
        var session = TypedSession(bufferBytes: 1_024)
        _ = session.receive(Array(#"{"type":"session","sessionId":"one","token":"secret","capabilities":[]}"#.utf8))
        return session
    }

    private static func data(_ sequence: Int, _ payload: String = "aGk=", isReplayed: Bool = false) -> [UInt8] {
        let mark = isReplayed ? #","replayed":true"# : ""
        return Array(#"{"type":"data","seq":\#(sequence),"payload":"\#(payload)"\#(mark)}"#.utf8)
    }

    private static let kilobyte = String(repeating: "YWFh", count: 341) + "YQ=="

    private static func gap(_ numbers: ClosedRange<Int>, bytes: Int) -> [UInt8] {
        Array(
            #"{"type":"gap","fromSeq":\#(numbers.lowerBound),"toSeq":\#(numbers.upperBound),"bytes":\#(bytes)}"#.utf8)
    }

    @Test func `requests are written as the protocol defines them`() {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        #expect(text(TypedRequest.connect(Self.target)) == #"{"type":"connect","host":"127.0.0.1","port":4000}"#)
        #expect(text(TypedRequest.connect(.route("main"))) == #"{"type":"connect","target":"main"}"#)
        #expect(
            text(TypedRequest.resume(Self.identity, lastSequence: 7))
                == #"{"type":"resume","sessionId":"one","token":"secret","lastSeq":7}"#)
        #expect(
            text(TypedRequest.input(Array("look\r\n".utf8), number: 3))
                == #"{"type":"input","text":"look\r\n","cid":3}"#)
    }

    /// A session that was requested again and resumed.
    private static func resumed(after sequence: Int) -> TypedSession {
        var session = begun()
        for number in 1...sequence { _ = session.receive(data(number)) }
        _ = session.greeting(to: target)
        #expect(session.receive(Array(#"{"type":"resumed","sessionId":"one","token":"next"}"#.utf8)) == [.resumed])
        return session
    }

    @Test func `a new session connects and an old one resumes`() {
        var session = TypedSession(bufferBytes: 1_024)
        #expect(session.greeting(to: Self.target) == TypedRequest.connect(Self.target))
        session = Self.begun()
        #expect(session.receive(Self.data(1)) == [.bytes(Array("hi".utf8))])
        #expect(session.greeting(to: Self.target) == TypedRequest.resume(Self.identity, lastSequence: 1))
        #expect(session.receive(Array(#"{"type":"resumed","sessionId":"one","token":"next"}"#.utf8)) == [.resumed])
        #expect(session.identity == TypedSession.Identity(id: "one", token: "next"))
    }

    @Test func `a resume answer with the same token is wrong`() {
        var session = Self.begun()
        _ = session.greeting(to: Self.target)
        #expect(
            session.receive(Array(#"{"type":"resumed","sessionId":"one","token":"secret"}"#.utf8))
                == [.wrong(.tokenKept), .resumed])
    }

    @Test func `the old token is tried again if no answer arrived`() {
        var session = Self.begun()
        let first = session.greeting(to: Self.target)
        #expect(session.greeting(to: Self.target) == first)
        #expect(session.unansweredResumes == 2 && session.isResuming)
    }

    @Test func `the answer of another session is no resume`() {
        var session = Self.begun()
        _ = session.greeting(to: Self.target)
        #expect(
            session.receive(Array(#"{"type":"resumed","sessionId":"two","token":"next"}"#.utf8))
                == [.wrong(.badMessage)])
    }

    @Test func `a session that isn't available now is requested later`() {
        var session = Self.begun()
        _ = session.greeting(to: Self.target)
        #expect(session.receive(Array(#"{"type":"error","code":"rate_limited","message":"…"}"#.utf8)) == [.postponed])
        #expect(session.identity == Self.identity)
    }

    @Test func `a replay follows what has arrived`() {
        var session = Self.resumed(after: 2)
        let echo = Array(#"{"type":"echo","seq":1,"suppressed":true,"replayed":true}"#.utf8)
        #expect(session.receive(echo).isEmpty)
        #expect(session.receive(Self.data(3, isReplayed: true)) == [.bytes(Array("hi".utf8))])
        #expect(session.receive(echo) == [.wrong(.sequenceDoubled)])
        #expect(session.receive(Self.data(4)) == [.bytes(Array("hi".utf8))])
        #expect(session.receive(Self.data(5, isReplayed: true)).first == .wrong(.replayMisplaced))
    }

    @Test(arguments: ["session_expired", "invalid_resume"])
    func `a refused resume begins anew`(code: String) {
        var session = Self.begun()
        _ = session.receive(Self.data(1))
        _ = session.greeting(to: Self.target)
        let answer = Array(#"{"type":"error","code":"\#(code)","message":"…"}"#.utf8)
        #expect(session.receive(answer) == [.refusedToResume(code: code)])
        #expect(session.greeting(to: Self.target) == TypedRequest.connect(Self.target))
    }

    @Test func `missing and repeated numbers are detected`() {
        var session = Self.begun()
        #expect(session.receive(Self.data(1)).count == 1)
        #expect(session.receive(Self.data(3)).first == .wrong(.sequenceGap))
        #expect(session.receive(Self.data(3)).first == .wrong(.sequenceDoubled))
        #expect(session.receive(Array(#"{"type":"prompt","seq":4}"#.utf8)).isEmpty)
        #expect(session.receive(Self.data(5)).count == 1)
    }

    @Test func `an announced gap is accepted as stated`() {
        var session = Self.resumed(after: 1)
        #expect(session.receive(Self.gap(2...9, bytes: 700)) == [.gap(bytes: 700)])
        #expect(session.receive(Self.data(10, Self.kilobyte, isReplayed: true)).count == 1)
        #expect(session.receive(Self.data(11)).count == 1)
    }

    @Test func `a gap comes between the answer and the replay`() {
        var session = Self.resumed(after: 1)
        #expect(session.receive(Self.gap(3...9, bytes: 700)).first == .wrong(.wrongGap))
        #expect(session.receive(Self.gap(10...11, bytes: 700)) == [.wrong(.badMessage)])
        session = Self.begun()
        #expect(session.receive(Self.gap(1...2, bytes: 700)) == [.wrong(.badMessage)])
    }

    /// At most 128 of 1,024 bytes are free before a message is discarded, and never more than the size of that message.
    @Test(
        arguments: [(896, 127, false), (896, 128, false), (897, 127, false), (897, 128, true), (1_024, 1, true)]
            + [(1_023, 1, false), (896, 700, false), (897, 700, true)])
    func `a gap before the buffer was full is wrong`(
        kept: Int, gone: UInt64, isRight: Bool
    ) {
        var check = ReplayCheck(bufferBytes: 1_024)
        check.gapBytes = gone
        check.count(bytes: kept - 1)
        check.count(bytes: 1)
        #expect(check.fault == (isRight ? nil : .wrongGap), "\(kept) \(gone)")
    }

    @Test func `a full message list makes a gap too`() {
        var check = ReplayCheck(bufferBytes: 1_024)
        check.gapBytes = 1
        for _ in 0..<64 { check.count(bytes: 1) }
        #expect(check.fault == nil)
        check.count(bytes: 1)
        #expect(check.fault == .bufferExceeded)
    }

    @Test func `more than the buffer holds can't be replayed`() {
        var check = ReplayCheck(bufferBytes: 1_024)
        check.count(bytes: 1_024)
        #expect(check.fault == nil)
        check.count(bytes: 1)
        #expect(check.fault == .bufferExceeded)
    }

    @Test func `a gap is judged when the replay is over`() {
        var session = Self.resumed(after: 1)
        _ = session.receive(Self.gap(2...9, bytes: 700))
        _ = session.receive(Self.data(10, isReplayed: true))
        #expect(session.receive(Self.data(11)) == [.wrong(.wrongGap), .bytes(Array("hi".utf8))])
    }

    @Test(arguments: [
        "", "{", "[]", #"{"seq":1}"#, #"{"type":"data","seq":"1","payload":""}"#,
        #"{"type":"data","seq":1,"payload":"?"}"#,
        #"{"type":"gap","fromSeq":2,"toSeq":1,"bytes":0}"#, #"{"type":"gap","fromSeq":1,"toSeq":1,"bytes":-1}"#,
        #"{"type":"resume","sessionId":"one","token":"secret","lastSeq":1}"#, #"{"type":"inputAck","cid":0}"#,
        #"{"type":"resumed","sessionId":"one"}"#,
    ])
    func `data that is no message of the dialect is wrong`(text: String) {
        var session = Self.begun()
        #expect(session.receive(Array(text.utf8)) == [.wrong(.badMessage)])
    }

    @Test func `messages that the tool doesn't need are ignored`() {
        var session = Self.begun()
        #expect(session.receive(Array(#"{"type":"draining","reconnectAfterMs":5}"#.utf8)).isEmpty)
    }

    @Test func `the client regularly acknowledges what has arrived`() {
        var session = Self.begun()
        for sequence in 1..<TypedSession.acknowledgeEvery { _ = session.receive(Self.data(sequence)) }
        #expect(session.acknowledgement() == nil)
        _ = session.receive(Self.data(TypedSession.acknowledgeEvery))
        #expect(
            session.acknowledgement()
                == TypedRequest.acknowledge(Self.identity, lastSequence: TypedSession.acknowledgeEvery))
        #expect(session.acknowledgement() == nil)
    }
}
