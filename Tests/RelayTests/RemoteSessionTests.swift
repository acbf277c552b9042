import Admission
import Foundation
import Observability
import Reactors
import RelayCore
import Testing
import WireText

@testable import Relay

/// A typed client whose session another gateway has, which these tests play.
struct RemoteSessionTests {
    private static let resume =
        #"{"type":"resume","sessionId":"\#(id)","token":"\#(token)","lastSeq":3}"#
    private static let id = "00000000-0000-4000-8000-000000000000"
    private static let token = String(repeating: "0", count: 64)
    private static let switching = Array("HTTP/1.1 101 Switching Protocols\r\n\r\n".utf8)
    private static let peer = FleetPeer(id: "a", host: "a.example", port: 7_000)

    private static func frame(_ text: String, opcode: UInt8 = 1) -> [UInt8] {
        [0x80 | opcode, UInt8(text.utf8.count)] + Array(text.utf8)
    }

    private func bench(_ change: (inout Bench.Options) -> Void = { _ in }) throws -> Bench {
        try Bench {
            $0.elsewhere = .elsewhere(Self.peer)
            change(&$0)
        }
    }

    /// - Returns: a client that has asked for its session, which nobody has answered yet.
    private func asking(_ bench: Bench) throws -> TestClient {
        let client = try bench.client(.typed)
        client.say(Self.resume)
        return client
    }

    private func relaying(_ bench: Bench) throws -> TestClient {
        let client = try asking(bench)
        bench.target.send(Self.switching)
        bench.network.settle()
        return client
    }

    private func expectNothingLeft(_ bench: Bench, _ client: TestClient) {
        client.socket.lose()
        bench.network.wait(20 * second)
        #expect(bench.isEmpty)
    }

    @Test func `is asked for in the client's name, and its messages pass in both directions`() throws {
        let bench = try bench()
        var client = try asking(bench)
        let asked = bench.target
        #expect(asked.host == "a.example" && asked.port == 7_000)
        #expect(asked.text.contains("PCUF") && asked.text.contains("GET /?dialect=typed&session=\(Self.id)&token="))
        #expect(asked.text.contains("&lastSeq=3 HTTP/1.1\r\n"))
        asked.send(Self.switching + Self.frame(#"{"type":"resumed","sessionId":"x","token":"y"}"#))
        client.hear()
        #expect(client.types == ["resumed"])
        let before = asked.received.count
        client.type("look")
        #expect(asked.received.count > before && asked.text.hasSuffix(#"{"type":"input","text":"look"}"#))
        expectNothingLeft(bench, client)
    }

    @Test func `what the client sends behind its request arrives there, in order`() throws {
        let bench = try bench()
        let client = try asking(bench)
        client.socket.send(text: "one")
        client.socket.send(text: "two")
        bench.target.send(Self.switching)
        bench.network.settle()
        let rest = bench.target.text
        let (one, two) = (rest.range(of: "one"), rest.range(of: "two"))
        #expect(try #require(one).lowerBound < #require(two).lowerBound)
        expectNothingLeft(bench, client)
    }

    @Test(arguments: [
        ("HTTP/1.1 401 Unauthorized\r\nX-Refusal-Code: invalid_resume\r\n\r\n", "invalid_resume"),
        ("HTTP/1.1 401 Unauthorized\r\nX-Session: unknown\r\n\r\n", "session_expired"),
        ("HTTP/1.1 503 Service Unavailable\r\n\r\n", "session_unavailable"),
        ("SSH-2.0-OpenSSH\r\n\r\n", "session_unavailable"),
    ])
    func `a refusal is told as this gateway's own, and the client may begin anew`(answer: String, code: String) throws {
        let bench = try bench { $0.session.resumeGrace = 10 * second }
        var client = try asking(bench)
        bench.target.send(answer)
        client.hear()
        #expect(client.errors.count == 1)
        if code != "session_unavailable" { #expect(client.errors == [code]) }
        client.say(#"{"type":"connect","host":"mud.example","port":4000}"#)
        client.hear()
        #expect(client.types.last == "session" && bench.network.targets.count == 2)
        expectNothingLeft(bench, client)
    }

    /// It passes nobody on any more, so it doesn't know whether another gateway has the session.
    @Test func `a gateway that drains calls no session expired`() throws {
        let bench = try bench()
        var client = try bench.client(.typed)
        bench.network.settle()
        bench.drain.beginDraining()
        bench.onEachTable { $0.beginDraining() }
        client.say(Self.resume)
        client.hear()
        #expect(client.errors == ["rate_limited"] && client.closeCode == nil && bench.network.targets.isEmpty)
        expectNothingLeft(bench, client)
    }

    @Test(arguments: [TestNetwork.TargetAnswer.hangs, .fails(.broken("refused"))])
    func `a gateway that doesn't answer is given up`(answer: TestNetwork.TargetAnswer) throws {
        let bench = try bench()
        bench.network.answer = answer
        var client = try asking(bench)
        bench.network.wait(20 * second)
        client.hear()
        #expect(client.errors.count == 1 && client.closeCode == nil)
        expectNothingLeft(bench, client)
    }

    @Test func `a gateway that falls silent is lost after the limit`() throws {
        let bench = try bench { $0.relays.idleSeconds = 10 }
        let client = try relaying(bench)
        bench.network.wait(9 * second)
        #expect(client.closeCode == nil)
        bench.target.send(Self.frame("", opcode: 9))
        bench.network.wait(9 * second)
        #expect(client.closeCode == nil)
        bench.network.wait(2 * second)
        #expect(client.closeCode == 1012 && client.closeReason == CloseReason.gatewayLost.text)
        expectNothingLeft(bench, client)
    }

    @Test func `a gateway whose connection breaks, or that violates the protocol, is lost at once`() throws {
        for isBroken in [true, false] {
            let bench = try bench()
            let client = try relaying(bench)
            if isBroken { bench.target.breakDown() } else { bench.target.send([0xF1, 0]) }
            bench.network.settle()
            #expect(client.closeCode == 1012)
            expectNothingLeft(bench, client)
        }
    }

    @Test func `a client that doesn't read stops the other gateway, and is dropped after the limit`() throws {
        let bench = try bench { $0.relays.idleSeconds = 10 }
        let client = try relaying(bench)
        client.socket.reads = false
        let text = String(repeating: "x", count: 100)
        var sent = 0
        while bench.target.isRead {
            bench.target.send(Self.frame(text))
            bench.network.settle()
            sent += 1
            try #require(sent < 1_000_000)
        }
        client.socket.reads = true
        bench.network.settle()
        #expect(bench.target.isRead && client.socket.messages.count == sent)
        client.socket.reads = false
        while bench.target.isRead {
            bench.target.send(Self.frame(text))
            bench.network.settle()
        }
        bench.network.wait(11 * second)
        #expect(client.socket.isClosed)
        expectNothingLeft(bench, client)
    }

    @Test func `another gateway that doesn't read stops the client, and nothing is lost`() throws {
        let bench = try bench()
        let client = try relaying(bench)
        let before = bench.target.text.count { $0 == "y" }
        bench.target.reads = false
        var sent = 0
        while client.socket.isRead {
            client.say(String(repeating: "y", count: 1_000))
            sent += 1
            try #require(sent < 10_000)
        }
        #expect(bench.target.queuedBytes <= RelayLimits().queueBytes + 2_000)
        bench.target.reads = true
        bench.network.settle()
        #expect(client.socket.isRead && bench.target.text.count { $0 == "y" } == before + sent * 1_000)
        expectNothingLeft(bench, client)
    }

    /// Its session waits: the other gateway decides about that.
    @Test func `a client that is revoked or blocked here is closed, and no other one`() throws {
        let bench = try bench()
        let client = try relaying(bench)
        bench.onEachTable { $0.close(.deviceBlocked) { _, address in address.text == "198.51.100.7" } }
        #expect(client.closeCode == nil)
        let before = bench.target.received
        bench.onEachTable { #expect($0.close(.deviceBlocked) { _, address in address.text == "192.0.2.1" } == 0) }
        #expect(client.closeCode == 1_008 && client.closeReason == "device_blocked")
        #expect(bench.target.received == before, "the other gateway hears no Close frame")
        expectNothingLeft(bench, client)
    }

    @Test func `the other gateway's Close frame is the client's`() throws {
        let bench = try bench()
        let client = try relaying(bench)
        bench.target.send([0x88, 4, 3, 240, 110, 111])
        bench.network.settle()
        #expect(client.closeCode == 1_008 && client.closeReason == "no")
        expectNothingLeft(bench, client)
    }

    @Test func `what the client has sent before that Close frame is passed on, and its answer behind it`()
        throws
    {
        let bench = try bench()
        let client = try relaying(bench)
        client.socket.send(text: "early")
        bench.target.send([0x88, 2, 3, 244])
        bench.network.settle()
        #expect(client.closeCode == 1_012 && client.socket.inputLimit == bench.settings.session.closeFlush)
        let text = bench.target.text
        #expect(text.contains("early"))
        #expect(bench.target.received.suffix(8).first == 0x88, "the client's Close frame is behind it")
        expectNothingLeft(bench, client)
    }

    @Test func `a client that leaves while the other gateway is asked isn't waited for`() throws {
        let bench = try bench()
        let client = try asking(bench)
        client.socket.lose()
        bench.target.send(Self.switching)
        bench.network.wait(20 * second)
        #expect(bench.isEmpty)
    }
}
