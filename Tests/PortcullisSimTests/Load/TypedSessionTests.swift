import RelayCore
import Testing

@testable import portcullis_sim

struct TypedSessionTests {
    private static let target = TypedRequest.Target.address(host: "127.0.0.1", port: 4000)
    private static let identity = TypedSession.Identity(id: "one", token: "secret")

    private static func begun() -> TypedSession {
        var session = TypedSession()
        _ = session.receive(Array(#"{"type":"session","sessionId":"one","token":"secret","capabilities":[]}"#.utf8))
        return session
    }

    private static func data(_ sequence: Int, _ payload: String = "aGk=") -> [UInt8] {
        Array(#"{"type":"data","seq":\#(sequence),"payload":"\#(payload)"}"#.utf8)
    }

    @Test func requestsAreWrittenAsTheProtocolHasThem() {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        #expect(text(TypedRequest.connect(Self.target)) == #"{"type":"connect","host":"127.0.0.1","port":4000}"#)
        #expect(text(TypedRequest.connect(.route("main"))) == #"{"type":"connect","target":"main"}"#)
        #expect(
            text(TypedRequest.resume(Self.identity, lastSequence: 7))
                == #"{"type":"resume","sessionId":"one","token":"secret","lastSeq":7}"#)
        #expect(
            text(TypedRequest.input(Array("look\r\n".utf8), number: 3))
                == #"{"type":"input","text":"look\r\n","cid":"3"}"#)
    }

    @Test func aNewSessionConnectsAndAnOldOneResumes() {
        var session = TypedSession()
        #expect(session.greeting(to: Self.target) == TypedRequest.connect(Self.target))
        session = Self.begun()
        #expect(session.receive(Self.data(1)) == [.bytes(Array("hi".utf8))])
        #expect(session.greeting(to: Self.target) == TypedRequest.resume(Self.identity, lastSequence: 1))
        #expect(session.receive(Array(#"{"type":"resumed","sessionId":"one","token":"next"}"#.utf8)) == [.resumed])
        #expect(session.identity == TypedSession.Identity(id: "one", token: "next"))
    }

    @Test func aResumeWithoutANewTokenKeepsTheOld() {
        var session = Self.begun()
        _ = session.greeting(to: Self.target)
        _ = session.receive(Array(#"{"type":"resumed","sessionId":"one"}"#.utf8))
        #expect(session.identity == Self.identity)
    }

    @Test("A refused resume begins anew", arguments: ["session_expired", "invalid_resume"])
    func refused(code: String) {
        var session = Self.begun()
        _ = session.receive(Self.data(1))
        _ = session.greeting(to: Self.target)
        let answer = Array(#"{"type":"error","code":"\#(code)","message":"…"}"#.utf8)
        #expect(session.receive(answer) == [.refusedToResume(code: code)])
        #expect(session.greeting(to: Self.target) == TypedRequest.connect(Self.target))
    }

    @Test func numbersThatAreMissingOrComeAgainAreSeen() {
        var session = Self.begun()
        #expect(session.receive(Self.data(1)).count == 1)
        #expect(session.receive(Self.data(3)).first == .wrong(.sequenceGap))
        #expect(session.receive(Self.data(3)).first == .wrong(.sequenceDoubled))
        #expect(session.receive(Array(#"{"type":"prompt","seq":4}"#.utf8)).isEmpty)
        #expect(session.receive(Self.data(5)).count == 1)
    }

    @Test func aToldGapIsTakenForWhatItSays() {
        var session = Self.begun()
        _ = session.receive(Self.data(1))
        let gap = Array(#"{"type":"gap","fromSeq":2,"toSeq":9,"bytes":700}"#.utf8)
        #expect(session.receive(gap) == [.gap(bytes: 700)])
        #expect(session.receive(Self.data(10)).count == 1)
        #expect(
            session.receive(Array(#"{"type":"gap","fromSeq":12,"toSeq":13,"bytes":1}"#.utf8)).first
                == .wrong(.sequenceGap))
    }

    @Test(
        "What isn't a message of the dialect is wrong",
        arguments: [
            "", "{", "[]", #"{"seq":1}"#, #"{"type":"data","seq":"1","payload":""}"#,
            #"{"type":"data","seq":1,"payload":"?"}"#,
            #"{"type":"gap","fromSeq":2,"toSeq":1,"bytes":0}"#, #"{"type":"gap","fromSeq":1,"toSeq":1,"bytes":-1}"#,
        ])
    func bad(text: String) {
        var session = Self.begun()
        #expect(session.receive(Array(text.utf8)) == [.wrong(.badMessage)])
    }

    @Test func whatMayYetComeIsPassedOver() {
        var session = Self.begun()
        #expect(session.receive(Array(#"{"type":"draining","reconnectAfterMs":5}"#.utf8)).isEmpty)
    }

    @Test func itIsToldWhatHasComeEveryNowAndThen() {
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
