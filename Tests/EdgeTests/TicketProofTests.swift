import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Reloads that revoke the basis of tickets: no ticket, no next ticket and no resume outlives its proof.
    @Suite struct TicketProofTests {
        // MARK: No credentials

        @Test func `anonymous tickets end when credentials are required`() async throws {
            let bench = try await Bench { $0 }
            let idle = try await bench.open(with: bench.ticket())
            var next = try await bench.play(with: bench.ticket()).nextTicket()
            for _ in 0..<3 { next = try await bench.play(with: next).nextTicket() }
            try await bench.reload(requiring: true)
            expectRefusal(try await bench.refusal(of: next), 401, "invalid_ticket")
            try await idle.expectSession(withTicket: false)
        }

        /// The next ticket is issued after half of the previous one's lifetime, which is that of a first ticket if
        /// sessions aren't kept: this session is refused its second or third.
        @Test func `a continuing session gets no ticket when credentials are required`() async throws {
            let bench = try await Bench { $0.setting("TICKET_TTL_SECONDS", "10").setting("RESUME_GRACE_MINUTES", "0") }
            let player = try await bench.play(with: bench.ticket())
            try await bench.reload(requiring: true)
            try await bench.gateway.child.output.wait(for: "a refusal of a ticket", within: .seconds(60)) { output in
                output.errorLines.contains { $0.contains("no further ticket") } ? true : nil
            }
            try await player.expectEcho()
        }

        @Test func `an unchanged reload ends nothing`() async throws {
            let bench = try await Bench { $0 }
            let idle = try await bench.open(with: bench.ticket())
            let player = try await bench.play(with: bench.ticket())
            let next = try await player.nextTicket()
            try await bench.reload(requiring: false)
            try await idle.expectSession(withTicket: true)
            await player.socket.connection.reset()
            try await bench.expectResumed(player, on: bench.open(with: next))
        }

        @Test func `an anonymous session can't be resumed when credentials are required`() async throws {
            let bench = try await Bench { $0 }
            let player = try await bench.play(with: bench.ticket())
            // Admitted while every client was.
            let waiting = try await bench.open()
            try await bench.reload(requiring: true)
            try await bench.expectNotResumed(player, on: waiting)
            // With credentials it is another identity.
            let certified = try await bench.open(tls: TLSChoice(identity: bench.certificates.client))
            try await bench.expectNotResumed(player, on: certified)
            try await player.expectEcho()
        }

        // MARK: Client certificates

        @Test func `tickets end with their certificate's CA`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true").removing("MTLS_CLIENT_CRL_PATH") }
            let mine = TLSChoice(identity: bench.certificates.client)
            let player = try await bench.play(with: bench.ticket(mine))
            let idle = try await bench.open(with: bench.ticket(mine))
            let waiting = [try await bench.open(tls: mine), try await bench.open(with: bench.ticket(mine))]
            let tickets = [try await player.nextTicket(), try await bench.ticket(mine)]
            try bench.reloads.put(bench.certificates.foreignCA, at: "ca.pem")
            try await bench.reloads.reload(.command)
            for ticket in tickets { expectRefusal(try await bench.refusal(of: ticket), 401, "invalid_ticket") }
            for socket in waiting { try await bench.expectNotResumed(player, on: socket) }
            try await idle.expectSession(withTicket: false)
            try await player.expectEcho()
            // When its authority is restored, it is valid again.
            try bench.reloads.put(bench.certificates.clientCA, at: "ca.pem")
            try await bench.reloads.reload(.command)
            try await bench.expectResumed(player, on: bench.open(with: bench.ticket(mine)))
        }

        @Test func `the same CA in another file changes nothing`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true").removing("MTLS_CLIENT_CRL_PATH") }
            let mine = TLSChoice(identity: bench.certificates.client)
            let idle = try await bench.open(with: bench.ticket(mine))
            let next = try await bench.play(with: bench.ticket(mine)).nextTicket()
            let both = try [bench.certificates.serverCA, bench.certificates.clientCA].map {
                try String(contentsOfFile: $0, encoding: .utf8)
            }
            try bench.reloads.directory.write(both.joined(), to: "both.pem")
            try bench.reloads.set(["MTLS_CLIENT_CA_PATH": bench.reloads.directory.file("both.pem")])
            try await bench.reloads.reload(.command)
            try await idle.expectSession(withTicket: true)
            _ = try await bench.play(with: bench.play(with: next).nextTicket())
        }

        @Test func `tickets end when their certificate is revoked or the list has expired`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true") }
            let mine = TLSChoice(identity: bench.certificates.client)
            let other = TLSChoice(identity: bench.certificates.secondClient)
            let (revoked, neighbours) = (try await bench.ticket(mine), try await bench.ticket(other))
            try bench.reloads.put(bench.certificates.revokingCRL, at: "list.crl")
            try await bench.reloads.reload(.command)
            expectRefusal(try await bench.refusal(of: revoked), 401, "invalid_ticket")
            let next = try await bench.play(with: neighbours).nextTicket()
            let idle = try await bench.open(with: bench.ticket(other))
            try bench.reloads.put(bench.certificates.expiredCRL, at: "list.crl")
            try await bench.reloads.reload(.command)
            expectRefusal(try await bench.refusal(of: next), 401, "invalid_ticket")
            try await idle.expectSession(withTicket: false)
        }

        @Test func `tickets end when their certificate is blocked`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true") }
            let mine = TLSChoice(identity: bench.certificates.client)
            let player = try await bench.play(with: bench.ticket(mine))
            let tickets = [try await player.nextTicket(), try await bench.ticket(mine)]
            let fingerprint = try await bench.reloads.fingerprint(of: bench.certificates.client)
            try bench.reloads.directory.write("certificate \(fingerprint)\n", to: "blocked")
            try await bench.reloads.reload(.command)
            for ticket in tickets { expectRefusal(try await bench.refusal(of: ticket), 403, "device_blocked") }
        }

        // MARK: The operator's tickets

        @Test func `an operator's ticket stays valid when credentials are required`() async throws {
            let bench = try await Bench { $0 }
            let given = try await bench.operatorsTicket()
            let next = try await bench.play(with: given).nextTicket()
            try await bench.reload(requiring: true)
            for ticket in [next, given] { _ = try await bench.play(with: ticket).nextTicket() }
            let last = try await bench.operatorsTicket()
            try bench.reloads.directory.write("address 127.0.0.0/8\n", to: "blocked")
            try await bench.reloads.reload(.command)
            expectRefusal(try await bench.refusal(of: last), 403, "device_blocked")
        }
    }
}

extension EdgeTests.TicketProofTests {
    /// A gateway with the typed dialect, which can deliver tickets and whose clients request their target explicitly.
    struct Bench {
        let reloads: EdgeTests.ReloadTests.Bench
        var gateway: GatewayProcess { reloads.gateway }
        var certificates: DevCertificates { reloads.certificates }

        init(_ change: (GatewaySettings) -> GatewaySettings) async throws {
            reloads = try await EdgeTests.ReloadTests.Bench { change($0.setting("DEFAULT_DIALECT", "typed")) }
        }

        func reload(requiring requires: Bool) async throws {
            try reloads.set(["REQUIRE_APP_AUTH": "\(requires)"])
            try await reloads.reload(.command)
        }

        func ticket(_ tls: TLSChoice? = nil) async throws -> String {
            let answer = try await gateway.request(GatewayProcess.post("/ticket", ""), tls: tls)
            guard let ticket = answer.strings?["ticket"] else { throw EdgeTestError("no ticket: \(answer)") }
            return ticket
        }

        func operatorsTicket() async throws -> String {
            let output = try await GatewayProcess.run(
                ["ticket", "--uses", "2", "--socket", reloads.directory.file("control.sock")])
            return try #require(output.outputLines.first)
        }

        func refusal(of ticket: String) async throws -> ReceivedAnswer {
            try await gateway.refusal(Handshake().path("/?ticket=" + ticket))
        }

        /// Only admitted.
        func open(with ticket: String? = nil, tls: TLSChoice? = nil) async throws -> TestWebSocket {
            try await gateway.open(ticket.map { Handshake().path("/?ticket=" + $0) } ?? Handshake(), tls: tls)
        }

        func play(with ticket: String) async throws -> Player {
            let socket = try await open(with: ticket)
            return Player(session: try await TypedSession.connect(socket), socket: socket)
        }

        func expectResumed(_ player: Player, on socket: TestWebSocket) async throws {
            try await socket.send(text: player.session.message(after: 0))
            #expect(try await socket.nextTyped("resumed")["sessionId"] == player.session.id)
        }

        func expectNotResumed(_ player: Player, on socket: TestWebSocket) async throws {
            try await socket.send(text: player.session.message(after: 0))
            #expect(try await socket.nextTyped("error")["code"] == "invalid_resume")
        }
    }

    /// A client with a session.
    struct Player {
        let session: TypedSession
        let socket: TestWebSocket

        func nextTicket() async throws -> String {
            try #require(try await socket.nextTyped("ticket")["ticket"])
        }

        func expectEcho() async throws { _ = try await socket.typesUpToEcho() }
    }
}

extension TestWebSocket {
    /// An admitted client requests its target. Its ticket comes when it is kept; that there will be none is decided at
    /// once.
    fileprivate func expectSession(withTicket: Bool) async throws {
        try await connectTyped()
        if withTicket { _ = try await nextTyped("ticket") }
        #expect(try await typesUpToEcho().contains("ticket") == false)
    }

    /// Sends something, and awaits its echo from the target.
    ///
    /// - Returns: the types of the messages before it.
    fileprivate func typesUpToEcho() async throws -> [String] {
        try await send(text: #"{"type":"input","text":"look"}"#)
        var types: [String] = []
        while true {
            let message = try await nextMessage()
            if message.payload?.contains("look") == true { return types }
            types.append(message["type"] ?? message.text)
        }
    }
}
