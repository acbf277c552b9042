import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Clients that can't present credentials again, and resume after their tickets have expired: with the session's
    /// token alone.
    @Suite struct ResumeByTokenTests {
        private typealias Bench = TicketProofTests.Bench

        @Test func `a client that came by ticket resumes with its token alone`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true").removing("MTLS_CLIENT_CRL_PATH") }
            let mine = TLSChoice(identity: bench.certificates.client)
            let player = try await bench.play(with: bench.ticket(mine))
            await player.socket.connection.reset()
            var session = player.session
            for _ in 0..<3 {
                let socket = try await bench.gateway.open(session.handshake(after: 0))
                let resumed = try await socket.nextTyped("resumed")
                #expect(resumed["sessionId"] == session.id && resumed["token"] != session.token)
                // The missed output is sent again, and it gets tickets as before.
                var ticket: String?
                while ticket == nil { ticket = try await socket.nextMessage()["ticket"] }
                #expect(ticket?.utf8.count == 43)
                try await Player(session: session, socket: socket).expectEcho()
                session = session.with(token: try #require(resumed["token"]))
                await socket.connection.reset()
            }
        }

        private typealias Player = TicketProofTests.Player

        @Test func `the token opens only its own session`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true").removing("MTLS_CLIENT_CRL_PATH") }
            let mine = TLSChoice(identity: bench.certificates.client)
            let player = try await bench.play(with: bench.ticket(mine))
            let other = try await bench.play(with: bench.ticket(mine))
            let wrong = [
                TypedSession(id: player.session.id, token: String(repeating: "0", count: 64)),
                TypedSession(id: player.session.id, token: other.session.token),
                TypedSession(id: "00000000-0000-4000-8000-000000000000", token: player.session.token),
            ]
            for session in wrong {
                expectRefusal(try await bench.gateway.refusal(session.handshake(after: 0)), 401, "invalid_resume")
            }
            // It doesn't lead to a ticket by itself.
            let answer = try await bench.gateway.request(
                GatewayProcess.post("/ticket?session=\(player.session.id)&token=\(player.session.token)", ""))
            #expect(answer.status == 401)
            try await player.expectEcho()
        }

        @Test func `a session that began with a certificate requires it again`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true").removing("MTLS_CLIENT_CRL_PATH") }
            let mine = TLSChoice(identity: bench.certificates.client)
            let socket = try await bench.open(tls: mine)
            let session = try await TypedSession.connect(socket)
            expectRefusal(try await bench.gateway.refusal(session.handshake(after: 0)), 401, "invalid_resume")
            let back = try await bench.gateway.open(session.handshake(after: 0), tls: mine)
            _ = try await back.nextTyped("resumed")
        }

        @Test func `the token of a revoked certificate is refused`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true") }
            let mine = TLSChoice(identity: bench.certificates.client)
            let player = try await bench.play(with: bench.ticket(mine))
            await player.socket.connection.reset()
            try bench.reloads.put(bench.certificates.revokingCRL, at: "list.crl")
            try await bench.reloads.reload(.command)
            let refusal = try await bench.gateway.refusal(player.session.handshake(after: 0))
            #expect([401, 403].contains(refusal.status))
        }

        @Test func `an upgrade that names a session it can't have is closed`() async throws {
            let edge = try await Edge.start(.scripted)
            let nobodys = TypedSession(
                id: "00000000-0000-4000-8000-000000000000", token: String(repeating: "0", count: 64))
            let socket = try await edge.gateway.open(nobodys.handshake(after: 0))
            #expect(try await socket.nextTyped("error")["code"] == "session_expired")
            let close = try await socket.closedByServer()
            #expect(close.code == 1008 && close.reason == "session_expired")
            #expect(edge.target.connectionCount == 0)
        }
    }
}

extension TypedSession {
    /// An upgrade that names the session.
    func handshake(after lastSeq: Int) -> Handshake {
        Handshake().path("/?dialect=typed&session=\(id)&token=\(token)&lastSeq=\(lastSeq)")
    }
}
