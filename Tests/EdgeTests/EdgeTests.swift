import EdgeTestKit
import Foundation
import Testing

/// Everything that drives the real binary. Each test starts processes, so only a few suites run at once.
@Suite(.lanes, .timeLimit(patience))
enum EdgeTests {}

/// For a test. A race of a million assertions takes an hour.
private let patience: TimeLimitTrait.Duration =
    ProcessInfo.processInfo.environment["PORTCULLIS_ASSERTIONS"] == nil ? .minutes(15) : .minutes(300)

/// A gateway and the target behind it.
struct Edge: Sendable {
    let target: TargetServer
    let gateway: GatewayProcess

    /// - Parameter change: the settings that differ from the defaults of `GatewaySettings`.
    static func start(
        _ manner: TargetServer.Manner = .echo, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
    ) async throws -> Edge {
        let target = try await TargetServer.start(manner)
        let settings = change(GatewaySettings(targetPort: target.port))
        return Edge(target: target, gateway: try await GatewayProcess.start(settings))
    }

    /// Shows that a session works from end to end.
    static func expectEcho(_ socket: TestWebSocket, _ text: String = "look") async throws {
        try await socket.send(text: text)
        #expect(try await socket.receiveText(text.utf8.count) == text)
    }

    func expectHealthy() async throws {
        let health = try await gateway.get("/health")
        #expect(health.status == 200)
        #expect(health.field("status") == "healthy")
    }
}

/// Checks a refusal in full: its status, its stable code, and that it carries an error text and a request id.
func expectRefusal(
    _ answer: ReceivedAnswer, _ status: Int, _ code: String, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(answer.status == status, "\(answer)", sourceLocation: sourceLocation)
    #expect(answer.code == code, "\(answer)", sourceLocation: sourceLocation)
    #expect(answer.errorText?.isEmpty == false, "\(answer)", sourceLocation: sourceLocation)
    #expect(answer.requestID?.isEmpty == false, "\(answer)", sourceLocation: sourceLocation)
}
