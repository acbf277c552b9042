import EdgeTestKit
import Foundation
import PostgreSQL
import PostgreSQLTestKit
import SettingsTestKit
import Testing

extension EdgeTests {
    /// Sessions that are resumed through another gateway than their own: the real programs, with the database and
    /// mutual TLS between them.
    @Suite struct FleetResumeTests {
        private static let secret = String(repeating: "first-secret-", count: 3)

        private struct Play {
            let fleet: FleetBench
            let gateways: [GatewayProcess]
            let device: TestDevice
            let session: TypedSession
            let target: TargetConnection
            let files: FleetCertificates

            /// A new connection, admitted by a fresh assertion, that asks for the session.
            func attempt(at index: Int, token: String? = nil) async throws -> TestWebSocket {
                let socket = try await gateways[index].open(device.handshake(at: gateways[index]))
                try await socket.send(text: session.with(token: token ?? session.token).message(after: 1))
                return socket
            }
        }

        private func start(
            on server: PostgresServer? = nil, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> (Play, TestWebSocket) {
            let fleet = try await FleetBench(on: server, target: .scripted)
            let files = try FleetCertificates()
            var gateways: [GatewayProcess] = []
            for number in 0..<2 {
                let settings = change(try files.listening(fleet.settings, as: "gateway\(number)"))
                gateways.append(try await fleet.gateway { _ in settings })
            }
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            let socket = try await gateways[0].open(device.handshake(at: gateways[0]))
            let target = try await fleet.target.connection()
            let session = try await TypedSession.connect(socket)
            try await target.send("one")
            #expect(try await socket.nextTyped("data").payload == "one")
            return (
                Play(
                    fleet: fleet, gateways: gateways, device: device, session: session, target: target,
                    files: files), socket
            )
        }

        @Test func `a session goes on through another gateway, and its target notices nothing`() async throws {
            let (play, first) = try await start()
            await first.connection.reset()
            try await play.target.send("two")
            try await play.fleet.eventuallyCounts(1, "detached")
            let second = try await play.attempt(at: 1)
            let resumed = try await second.nextTyped("resumed")
            #expect(resumed["sessionId"] == play.session.id)
            #expect(try await second.nextTyped("data").payload == "two")
            try await play.target.send("three")
            #expect(try await second.nextTyped("data").payload == "three")
            try await second.send(text: #"{"type":"input","text":"look\r\n"}"#)
            _ = try await play.target.receive(upTo: "look\r\n")
            // And back to its own gateway, from the connection that is still there.
            let token = try #require(resumed["token"])
            let third = try await play.attempt(at: 0, token: token)
            _ = try await third.nextTyped("resumed")
            try await play.target.send("four")
            while try await third.nextTyped("data").payload != "four" {}
            #expect(play.fleet.target.connectionCount == 1)
        }

        @Test func `what is passed on and who is refused there can be measured`() async throws {
            let (play, first) = try await start { $0.setting("ADMIN_BIND", "127.0.0.1:0") }
            await first.connection.reset()
            try await play.fleet.eventuallyCounts(1, "detached")
            let handshake = try await play.device.handshake(at: play.gateways[1])
            let query = "/?dialect=typed&session=\(play.session.id)&token=\(play.session.token)&lastSeq=1"
            let second = try await play.gateways[1].open(handshake.path(query))
            _ = try await second.nextTyped("resumed")
            let switched = "portcullis_forwards_total{outcome=\"switched\"} 1"
            #expect(try await Self.metrics(of: play.gateways[1]).contains(switched))
            // No gateway speaks like this.
            let port = try play.fleet.portForGateways()
            let stranger = try await RawConnection.open(port: port)
            try await stranger.send("GET / HTTP/1.1\r\n\r\n")
            _ = try await stranger.receiveToEnd()
            let refused = "portcullis_gateway_connections_refused_total{reason=\"handshake_failed\"} 1"
            var isCounted = false
            for gateway in play.gateways where !isCounted {
                isCounted = try await Self.metrics(of: gateway).contains(refused)
            }
            #expect(isCounted)
        }

        private static func metrics(of gateway: GatewayProcess) async throws -> String {
            try await gateway.ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").text
        }

        @Test func `nobody resumes it with a wrong token or as another device`() async throws {
            let (play, first) = try await start()
            let wrong = String(play.session.token.reversed())
            for (index, token) in [(1, wrong), (1, String(repeating: "0", count: 64))] {
                let socket = try await play.attempt(at: index, token: token)
                #expect(try await socket.nextTyped("error")["code"] == "invalid_resume")
            }
            let stranger = try await play.fleet.apple.enrolledDevice(at: play.gateways[1])
            let socket = try await play.gateways[1].open(stranger.handshake(at: play.gateways[1]))
            try await socket.send(text: play.session.message(after: 1))
            #expect(try await socket.nextTyped("error")["code"] == "invalid_resume")
            try await play.target.send("still here")
            #expect(try await first.nextTyped("data").payload == "still here")
        }

        /// The gateways of this test admit everybody.
        @Test func `who has stolen a gateway's certificate begins no session`() async throws {
            let (play, first) = try await start { $0.setting("REQUIRE_APP_AUTH", "false") }
            let tls = TLSChoice(trustedCA: play.files.authorityPath, identity: play.files.identity("gateway1"))
            let nobodys = "session=00000000-0000-4000-8000-000000000000"
            let wrong = String(repeating: "0", count: 64)
            let queries = [
                "", "?dialect=typed", "?\(nobodys)&token=\(wrong)&lastSeq=0",
                "?dialect=typed&session=\(play.session.id)&token=\(wrong)&lastSeq=0",
            ]
            for query in queries {
                let connection = try await RawConnection.open(
                    port: play.fleet.portForGateways(), host: "localhost", tls: tls)
                // Version 1: a client at 192.0.2.1 with TLS, and the id 0a.
                let fields: [UInt8] = [1, 0, 6, 192, 0, 2, 1, 0, 7, 2, 0, 1, 1, 4, 0, 2] + Array("0a".utf8)
                try await connection.send(Array("PCUF".utf8) + [1, 0, 0, UInt8(fields.count)] + fields)
                let handshake = Handshake().path("/" + query)
                guard case .refused(let answer, _) = try await TestWebSocket.attempt(handshake, on: connection) else {
                    throw EdgeTestError("admitted with \(query)")
                }
                expectRefusal(answer, 401, "invalid_resume")
            }
            try await play.target.send("still here")
            #expect(try await first.nextTyped("data").payload == "still here")
            #expect(play.fleet.target.connectionCount == 1)
        }

        @Test func `when its gateway dies its client is told, and the session is gone`() async throws {
            let (play, first) = try await start()
            await first.connection.reset()
            try await play.fleet.eventuallyCounts(1, "detached")
            let second = try await play.attempt(at: 1)
            _ = try await second.nextTyped("resumed")
            try await play.gateways[0].killNow()
            #expect(try await second.closedByServer().code == 1012)
            try await play.gateways[1].eventually("the session is known to be lost") {
                let socket = try await play.attempt(at: 1)
                return try await socket.nextTyped("error")["code"] == "session_expired"
            }
        }

        @Test func `an upgrade of its gateway keeps it within reach of the others`() async throws {
            let (play, first) = try await start()
            let successor = try await Successor.start(replacing: play.gateways[0])
            #expect(successor.report.contains("1 sessions went to it"), "\(successor.report)")
            #expect(try await first.closedByServer().code == 1012)
            var socket: TestWebSocket?
            try await play.gateways[1].eventually("the other gateway finds the new process") {
                let attempt = try await play.attempt(at: 1)
                guard try await attempt.nextText().contains(#""type":"resumed""#) else { return false }
                socket = attempt
                return true
            }
            try await play.target.send("after")
            #expect(try await socket?.nextTyped("data").payload == "after")
        }

        /// Which gateway has it, and how many a client has, isn't on the disk.
        @Test func `after a crash of the database it is found again`() async throws {
            let server = try await PostgresServer.launch()
            let (play, first) = try await start(on: server)
            await first.connection.reset()
            try await play.fleet.eventuallyCounts(1, "detached")
            try await server.crash()
            try await server.start()
            try await play.fleet.eventuallyCounts(1, "detached")
            try await play.gateways[1].eventually("the session is found") {
                guard let socket = try? await play.attempt(at: 1) else { return false }
                return try await socket.nextText().contains(#""type":"resumed""#)
            }
        }

        /// All heartbeats are old then, and whoever comes back first sees only old ones.
        @Test func `after a pause of the database nobody is taken for dead`() async throws {
            let server = try await PostgresServer.launch()
            let (play, first) = try await start(on: server)
            await first.connection.reset()
            try await play.fleet.eventuallyCounts(1, "detached")
            let second = try await play.attempt(at: 1)
            let token = try #require(try await second.nextTyped("resumed")["token"])
            server.signal(SIGSTOP)
            // Longer than a gateway may be silent.
            try await Task.sleep(for: .seconds(7))
            try await play.target.send("during")
            #expect(try await second.nextTyped("data").payload == "during")
            server.signal(SIGCONT)
            try await play.fleet.eventuallyBeat(2)
            try await play.target.send("after")
            #expect(try await second.nextTyped("data").payload == "after")
            await second.connection.reset()
            try await play.gateways[1].eventually("the session is found") {
                guard let third = try? await play.attempt(at: 1, token: token) else { return false }
                let answer = try await third.nextText()
                #expect(!answer.contains("session_expired"), "\(answer)")
                return answer.contains(#""type":"resumed""#)
            }
        }

        /// The database takes its time over where the session is, and a reload replaces the client's secret meanwhile.
        @Test func `an upgrade that waits for the directory is decided by the settings of then`() async throws {
            let fleet = try await FleetBench(on: .launch())
            let (files, secrets) = (try FleetCertificates(), try SecretsFile([("old", Self.secret)]))
            let settings = secrets.demanded(by: try files.listening(fleet.settings, as: "gateway0"))
            let gateway = try await fleet.gateway { _ in settings.setting("REQUIRE_APP_AUTH", "false") }
            let (id, token) = (UUID().uuidString.lowercased(), String(repeating: "ab", count: 32))
            let handshake = Handshake().path("/?session=\(id)&token=\(token)&lastSeq=0")
                .offering("gmcp.mudstandards.org").adding("Authorization", "Bearer \(Self.secret)")
            let (holder, viewer) = (
                try fleet.server.session(database: fleet.database), try fleet.server.session(database: fleet.database)
            )
            // Until the reload is faster than the database's limit.
            let answer = try await Poll.until("an answer", within: .seconds(60)) { () async throws -> ReceivedAnswer? in
                try secrets.write([("old", Self.secret)])
                try await gateway.reload(gateway.settings)
                try holder.run("BEGIN; LOCK TABLE portcullis.session")
                async let answered = gateway.refusal(handshake)
                _ = try await Poll.until("the question", within: .seconds(60)) {
                    let waits =
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                        + " AND query LIKE '%find_session%'"
                    return try viewer.run(waits, []).only().integer(0) > 0 ? true : nil
                }
                try secrets.write([("new", Self.secret.uppercased())])
                try await gateway.reload(gateway.settings)
                try holder.run("COMMIT")
                let answer = try await answered
                return answer.status == 503 ? nil : answer
            }
            expectRefusal(answer, 401, "invalid_shared_secret")
        }

        @Test func `without the listener a session is resumed at its own gateway only`() async throws {
            let (play, first) = try await start { $0.removing("FLEET_BIND") }
            await first.connection.reset()
            try await play.fleet.eventuallyCounts(1, "detached")
            let second = try await play.attempt(at: 1)
            #expect(try await second.nextTyped("error")["code"] == "session_expired")
            let third = try await play.attempt(at: 0)
            _ = try await third.nextTyped("resumed")
        }
    }
}

/// An authority for the gateways of one fleet, and their certificates.
struct FleetCertificates {
    private let directory: TemporaryDirectory
    private let authority: TestAuthority

    init() throws {
        directory = try TemporaryDirectory()
        authority = try TestAuthority(name: "Fleet CA", now: .now)
        _ = try directory.write(authority.certificate, to: "ca.pem")
    }

    var authorityPath: String { directory.file("ca.pem") }

    /// What `listening` has made for this name.
    func identity(_ name: String) -> DevCertificates.Identity {
        DevCertificates.Identity(certificate: directory.file(name + ".pem"), key: directory.file(name + ".key"))
    }

    /// `FLEET_BIND`
    static func listening(on port: Int) -> String { "127.0.0.1:\(port),advertise=localhost" }

    func listening(_ settings: GatewaySettings, as name: String) throws -> GatewaySettings {
        let own = try authority.issue(name, now: .now, hosts: ["localhost", "gateway.portcullis.internal"])
        return settings.setting("CONTROL_SOCKET_PATH", directory.file(name + ".sock"))
            .setting("FLEET_BIND", Self.listening(on: 0))
            .setting("FLEET_CA_PATH", directory.file("ca.pem"))
            .setting("FLEET_TLS_CERT_PATH", try directory.write(own.certificate, to: name + ".pem"))
            .setting("FLEET_TLS_KEY_PATH", try directory.write(own.key, to: name + ".key"))
    }
}
