import EdgeTestKit
import Testing

/// A gateway without TLS, and the devices that prove themselves to it: for tests with many requests, or many starts.
struct RefreshEdge {
    let edge: Edge
    let apple: SimulatedApple

    var gateway: GatewayProcess { edge.gateway }

    static func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> RefreshEdge {
        let apple = try SimulatedApple()
        let edge = try await Edge.start { change(Self.settings($0, apple)) }
        return RefreshEdge(edge: edge, apple: apple)
    }

    static func settings(_ base: GatewaySettings, _ apple: SimulatedApple) -> GatewaySettings {
        base.appAttest(apple).plainAccounts().setting("FAILED_UPGRADES_PER_MINUTE", 100_000)
    }

    /// A player whose account began with an attested device.
    func signedIn() async throws -> Player { try await Player.signedIn(apple, at: gateway) }
}

extension Player {
    static func signedIn(_ apple: SimulatedApple, at gateway: GatewayProcess) async throws -> Player {
        var player = try Player(at: gateway)
        try await player.signUp(showing: .assertion(apple.enrolledDevice(at: gateway)))
        try await player.signIn()
        return player
    }

    /// Nothing that the player has had is good any more.
    func expectSignedOut(_ answers: [ReceivedAnswer] = []) async throws {
        var player = self
        for token in [refreshToken] + answers.map({ $0.field("refreshToken") }) {
            guard let token else { continue }
            expectRefusal(try await tryRefresh(token), 401, "invalid_token")
        }
        for token in [token] + answers.map({ $0.field("accessToken") }) {
            guard let token else { continue }
            player.token = token
            expectRefusal(try await player.ask("GET", "/api/auth/devices"), 401, "invalid_token")
        }
    }
}

/// Makes requests at the same time.
///
/// - Returns: the answers, in the order of their arrival.
func together(
    _ requests: [@Sendable () async throws -> ReceivedAnswer]
) async throws -> [ReceivedAnswer] {
    try await withThrowingTaskGroup(of: ReceivedAnswer.self) { group in
        for request in requests { group.addTask { try await request() } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}
