import Foundation
import PortcullisClient
import Synchronization

/// Loses answers of the real gate after they have arrived: what was asked for is done, and the client doesn't hear of
/// it.
final class LostAnswers: Sendable {
    private struct State: Sendable {
        var left = 0
        var lost: [Int] = []
    }

    private struct Link: Transport {
        let transport: any Transport
        let answers: LostAnswers

        func send(_ request: GateRequest) async throws -> GateResponse {
            let response = try await transport.send(request)
            guard !answers.isLost(response, to: request) else { throw NetworkProblem.connectionLost }
            return response
        }

        func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel {
            try await transport.openWebSocket(request)
        }
    }

    private let path: String
    private let state = Mutex(State())

    /// - Parameter path: of the requests whose answers are lost.
    init(to path: String) { self.path = path }

    /// The statuses of what was lost.
    var lost: [Int] { state.withLock { $0.lost } }

    /// The next answers are lost.
    func lose(_ count: Int) { state.withLock { $0.left += count } }

    func behind(_ transport: any Transport) -> any Transport { Link(transport: transport, answers: self) }

    private func isLost(_ response: GateResponse, to request: GateRequest) -> Bool {
        state.withLock { state in
            guard request.url.hasSuffix(path), state.left > 0 else { return false }
            state.left -= 1
            state.lost.append(response.status)
            return true
        }
    }
}
