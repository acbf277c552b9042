import Admission
import EdgeTestKit
import FoundationEssentials
import KeyStore
import Logging
import Relay
import Testing

@testable import GatewayServer

/// The sessions of a method that the sources don't mention end when its proof is taken back, and when it ends.
@Suite(.timeLimit(.minutes(5)))
struct BadgeRevocationTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func handshake(_ badge: String) -> Handshake {
        Handshake().adding("X-Badge", badge).offering(FleetBench.gmcp)
    }

    /// Sessions of both, begun.
    private func sessions(at gateway: FleetBench.Gateway) async throws -> (alice: TestWebSocket, bob: TestWebSocket) {
        let alice = try await gateway.open(handshake("alice:open sesame"))
        let bob = try await gateway.open(handshake("bob:open sesame"))
        for socket in [alice, bob] { _ = try GMCPSession(try await socket.message()) }
        return (alice, bob)
    }

    private func revocations(of names: String...) throws -> StoreRevocations {
        StoreRevocations(keys: Set(try names.map { try #require(BadgeProof.key(of: $0)) }))
    }

    /// Revocations that are looked up once.
    private struct Source: RevocationSource {
        let revocations: StoreRevocations

        func ifChanged() -> StoreRevocations? { revocations }
    }

    @Test func `a revocation closes the sessions of the badge and no other ones`() async throws {
        let bench = try await FleetBench(methods: [BadgeMethod(desk: BadgeDesk())])
        let gateway = try await bench.gateway("a")
        let (alice, bob) = try await sessions(at: gateway)
        let (server, logger) = (gateway.server, logger)
        let watcher = RevocationWatcher(Source(revocations: try revocations(of: "alice")), logger: logger) {
            await server.close(RevokedCredentials($0), logger)
        }
        await watcher.lookOnce()
        #expect(try await alice.closedByServer() == (try CloseFrame(parsing: .close(1008, "device_blocked"))))
        try await bob.send(WebSocketFrame(WebSocketFrame.Opcode.ping, Array("here".utf8)))
        #expect(try await bob.pong() == Array("here".utf8))
    }

    @Test func `the end of the badge closes its sessions, whatever access tokens may do`() async throws {
        let bench = try await FleetBench(methods: [BadgeMethod(desk: BadgeDesk())])
        let gateway = try await bench.gateway("a")
        #expect(gateway.server.gate.mayExpire(unlessOutlived: true))
        let (alice, bob) = try await sessions(at: gateway)
        await gateway.server.closeExpired(at: BadgeProof.end - 1, unlessOutlived: true)
        for socket in [alice, bob] {
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.ping, Array("here".utf8)))
            #expect(try await socket.pong() == Array("here".utf8))
        }
        await gateway.server.closeExpired(at: BadgeProof.end, unlessOutlived: true)
        for socket in [alice, bob] {
            #expect(try await socket.closedByServer() == (try CloseFrame(parsing: .close(1008, "session_expired"))))
        }
    }

    @Test func `without a method whose proofs end, no session is looked at for its end`() throws {
        let gate = try BadgeBench().gate
        #expect(gate.mayExpire(unlessOutlived: true))
        let own = gate.changed { $0.methods.removeFirst() }
        #expect(!own.mayExpire(unlessOutlived: true) && own.mayExpire(unlessOutlived: false), "access tokens end")
    }
}

extension TestWebSocket {
    /// The payload of the next pong; messages before it are skipped.
    fileprivate func pong() async throws -> [UInt8] {
        while true {
            let frame = try await nextFrame()
            switch frame.opcode {
            case WebSocketFrame.Opcode.pong: return frame.payload
            case WebSocketFrame.Opcode.close: throw EdgeTestError("instead of a pong: \(frame)")
            default: continue
            }
        }
    }
}
