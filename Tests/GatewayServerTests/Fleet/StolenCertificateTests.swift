import EdgeTestKit
import FleetWire
import Foundation
import Reactors
import Relay
import StateCoding
import Testing
import WireText

@testable import Admission
@testable import GatewayServer

/// Somebody with a gateway's certificate and key, who may say anything about a client. The gateways of these tests
/// admit anybody, so that nothing but the session is missing.
@Suite(.timeLimit(.minutes(5)))
struct StolenCertificateTests {
    enum Claim: CaseIterable, Sendable {
        /// The client has nothing but the session's token.
        case nothing
        case principal
    }

    private static let zeros = String(repeating: "0", count: 64)
    private static let unknown = "session=00000000-0000-4000-8000-000000000000&token=\(zeros)"
    private static let dialects =
        ["", "&dialect=raw", "&dialect=terminal", "&dialect=gmcp", "&dialect=json"]
        + ["&dialect=typed", "&dialect=legacy"]

    private func preface(_ claim: Claim, _ bench: FleetBench) throws -> [UInt8] {
        let client = SocketAddress(IPAddress(ipv4: (192, 0, 2, 1)), port: 7)
        var preface = RelayPreface(client: client, isTLS: true, requestID: "0a")
        switch claim {
        case .nothing: break
        case .principal:
            let gate = GateSettings(
                drain: DrainSwitch(), leases: SessionLeases(maximum: nil), methods: [AnonymousMethod(isAllowed: true)])
            preface.principal = try StateEncoder.bytes(of: #require(Gate(gate).carrier.carry(.anonymous)))
        }
        return try #require(preface.encoded())
    }

    private func attempt(_ handshake: Handshake, _ claim: Claim, at gateway: String, _ bench: FleetBench) async throws
        -> TestWebSocket.Outcome
    {
        let (host, port) = ("localhost", try bench.port(of: gateway))
        let stolen = DevCertificates.Identity(
            certificate: bench.tls.certificatePath, key: bench.tls.privateKeyPath)
        let connection = try await RawConnection.open(
            port: Int(port), host: host, tls: TLSChoice(trustedCA: bench.tls.clientCAPath, identity: stolen))
        try await connection.send(preface(claim, bench))
        return try await TestWebSocket.attempt(handshake, on: connection)
    }

    @Test(arguments: Claim.allCases)
    func `can't begin a session, whatever the upgrade names`(claim: Claim) async throws {
        let bench = try await FleetBench()
        let a = try await bench.gateway("a")
        let owner = try await a.open(Handshake().offering(FleetBench.gmcp))
        let session = try GMCPSession(try await owner.message())
        let wrong = "session=\(session.id)&token=\(Self.zeros)"
        let queries = Self.dialects.flatMap { dialect in
            ["?", "?\(Self.unknown)&lastSeq=0", "?\(wrong)&lastSeq=0"].map { $0 + dialect }
        }
        for query in queries + ["?ticket=x", "?target=", "?session=\(session.id)", "?\(wrong)&lastSeq=-1"] {
            for path in ["/", "/mud/other"] {
                let handshake = Handshake().path(path + query)
                for handshake in [handshake, handshake.offering(FleetBench.gmcp), handshake.offering("telnet")] {
                    guard case .refused(let answer, _) = try await attempt(handshake, claim, at: "a", bench) else {
                        throw EdgeTestError("admitted: \(path)\(query)")
                    }
                    #expect([401, 404].contains(answer.status), "\(path)\(query)")
                    let code = answer.status == 401 ? "invalid_resume" : "not_found"
                    #expect(answer["x-refusal-code"] == code)
                }
            }
        }
        #expect(bench.target.connectionCount == 1)
        #expect(await a.server.sessionCount() == 1)
    }

    /// So much is left to the thief: see docs/THREAT-MODEL.md.
    @Test func `can resume a session whose token it has, and is told when that has ended`() async throws {
        let claim = Claim.principal
        let bench = try await FleetBench()
        let a = try await bench.gateway("a")
        let owner = try await a.open(Handshake().offering(FleetBench.gmcp))
        let session = try GMCPSession(try await owner.message())
        guard case .open(let socket) = try await attempt(session.handshake(after: 0), claim, at: "a", bench) else {
            throw EdgeTestError("refused")
        }
        let resumed = try GMCPSession(try await socket.message())
        #expect(resumed.id == session.id)
        try await socket.close(1000)
        while await a.server.sessionCount() > 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        guard case .refused(let answer, _) = try await attempt(resumed.handshake(after: 0), claim, at: "a", bench)
        else { throw EdgeTestError("admitted") }
        #expect(answer["x-refusal-code"] == "invalid_resume")
        #expect(bench.target.connectionCount == 1)
    }

    /// The session of these tests didn't begin with a ticket: its client would have to show what it has shown before.
    @Test func `can't resume a session by its token without a claim of whose it is`() async throws {
        let bench = try await FleetBench()
        let a = try await bench.gateway("a")
        let owner = try await a.open(Handshake().offering(FleetBench.gmcp))
        let session = try GMCPSession(try await owner.message())
        guard case .refused(let answer, _) = try await attempt(session.handshake(after: 0), .nothing, at: "a", bench)
        else { throw EdgeTestError("admitted") }
        #expect(answer["x-refusal-code"] == "invalid_resume" && answer["x-session"] == nil)
        #expect(await a.server.sessionCount() == 1)
    }
}
