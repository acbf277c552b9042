import EdgeTestKit
import Foundation
import Testing

/// A gateway with accounts behind TLS, and the devices that prove themselves to it.
struct AccountEdge {
    let edge: Edge
    let apple: SimulatedApple
    let certificates: DevCertificates

    var gateway: GatewayProcess { edge.gateway }

    static func start(
        _ manner: TargetServer.Manner = .echo, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
    ) async throws -> AccountEdge {
        let (apple, certificates) = (try SimulatedApple(), try await DevCertificates.shared())
        let edge = try await Edge.start(manner) { settings in
            change(
                settings.appAttest(apple).accounts(certificates).setting("FAILED_UPGRADES_PER_MINUTE", 100_000))
        }
        return AccountEdge(edge: edge, apple: apple, certificates: certificates)
    }

    /// A player whose account began with an attested device.
    func player() async throws -> Player {
        var player = try Player(at: gateway)
        try await player.signUp(showing: .assertion(apple.enrolledDevice(at: gateway)))
        return player
    }

    func signedIn() async throws -> Player {
        var player = try await player()
        try await player.signIn()
        return player
    }

    /// Anyone could make the account.
    func stranger() async throws -> Player {
        var player = try Player(at: gateway)
        try await player.signUp(showing: .nothing)
        try await player.signIn()
        return player
    }
}

extension Edge {
    /// The session ends as that of a client whose credential was taken back.
    static func expectBlocked(
        _ socket: TestWebSocket, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let close = try await socket.closedByServer()
        #expect(close.code == 1008 && close.reason == "device_blocked", "\(close)", sourceLocation: sourceLocation)
    }
}

/// Checks that something was done.
func expectSuccess(_ answer: ReceivedAnswer, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(answer.status == 200, "\(answer)", sourceLocation: sourceLocation)
    #expect(answer["cache-control"] == "no-store", "\(answer)", sourceLocation: sourceLocation)
}

/// The members of a JSON answer.
func members(_ answer: ReceivedAnswer) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(answer.body))
    return try #require(object as? [String: Any], "\(answer)")
}
