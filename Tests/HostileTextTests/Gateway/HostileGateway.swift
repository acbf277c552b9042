import EdgeTestKit
import Foundation

/// The real program, whose CPU time is measured from outside: whatever its threads do about a request counts.
struct HostileGateway: Sendable {
    let process: GatewayProcess
    let internalPort: Int
    private let target: TargetServer
    private let apple: SimulatedApple

    /// With everything switched on that reads requests, and rates that don't matter here.
    static func start() async throws -> HostileGateway {
        let apple = try SimulatedApple()
        let target = try await TargetServer.start(.echo)
        let settings = GatewaySettings(targetPort: target.port).appAttest(apple)
            .setting("ADMIN_BIND", "127.0.0.1:0").setting("ADMIN_CONSOLE", "on")
            .setting("REQUIRE_APP_AUTH", "false").setting("ALLOW_DEV_TOKENS", "true")
            .setting("MUD_ROUTES", "live=127.0.0.1:\(target.port)")
            .setting("TRUSTED_PROXY_CIDRS", "127.0.0.0/8").setting("ENABLE_WEB_CLIENT", "true")
            .setting("CHALLENGES_PER_MINUTE", 1_000_000).setting("FAILED_UPGRADES_PER_MINUTE", 1_000_000)
            .setting("REACTOR_THREADS", 1).setting("PUBLIC_ORIGIN", "https://gate.example")
            .setting("PASSKEY_RP_ID", "gate.example").setting("ACCOUNT_SIGN_UP", "open")
            .setting("SIGN_UPS_PER_HOUR", 10_000)
        let process = try await GatewayProcess.start(settings)
        return HostileGateway(
            process: process, internalPort: try await process.internalPort(), target: target, apple: apple)
    }

    /// The CPU milliseconds for one request, to the end of its answer. A connection that ends without one is an answer,
    /// too.
    func cost(of request: [UInt8], to listener: Listener) async throws -> Double {
        let connection =
            try await listener == .edge ? process.connect() : RawConnection.open(port: internalPort)
        let before = try time()
        try? await connection.send(request)
        _ = try await connection.answerOrEnd()
        return try time() - before
    }

    /// The same for one message of an open WebSocket, to the answer to the ping that follows it or to the connection's
    /// end.
    func cost(ofMessage message: WebSocketFrame, on socket: TestWebSocket) async throws -> Double {
        let before = try time()
        try await socket.send(message)
        try await socket.send(.ping())
        var frame: WebSocketFrame
        repeat {
            frame = try await socket.nextFrame(within: .seconds(120))
        } while frame.opcode != WebSocketFrame.Opcode.pong && frame.opcode != WebSocketFrame.Opcode.close
        return try time() - before
    }

    enum Listener: Sendable { case edge, internalListener }

    private func time() throws -> Double {
        guard let time = CPUTime.ofProcess(process.processID) else { throw EdgeTestError("the gateway has ended") }
        return time
    }
}
