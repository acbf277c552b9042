import EdgeTestKit
import Foundation
import PortcullisClient

/// Counts what a client holds for its connections: open sockets, and sleeps. The sockets and the clock are real.
final class Holdings: Sendable {
    struct Counts: Sendable, Equatable {
        var sockets = 0
        var sleeps = 0
        /// So far, the ended ones included.
        var allSockets = 0
    }

    private struct Link: Transport {
        let transport: any Transport
        let holdings: Holdings

        func send(_ request: GateRequest) async throws -> GateResponse { try await transport.send(request) }

        func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel {
            CountedSocket(try await transport.openWebSocket(request), holdings)
        }
    }

    private final class CountedSocket: WebSocketChannel {
        private let socket: any WebSocketChannel
        private let holdings: Holdings

        init(_ socket: any WebSocketChannel, _ holdings: Holdings) {
            (self.socket, self.holdings) = (socket, holdings)
            holdings.counts.update { counts in
                counts.sockets += 1
                counts.allSockets += 1
            }
        }

        deinit { holdings.counts.update { $0.sockets -= 1 } }

        func receive() async throws -> WebSocketMessage { try await socket.receive() }
        func send(_ message: WebSocketMessage) async throws { try await socket.send(message) }
        func ping() async throws { try await socket.ping() }
        func close(code: UInt16, reason: String) { socket.close(code: code, reason: reason) }
    }

    private struct CountedClock: ClientClock {
        let holdings: Holdings

        var now: Double { SystemClock().now }
        var date: Date { SystemClock().date }

        func sleep(seconds: Double) async throws {
            holdings.counts.update { $0.sleeps += 1 }
            defer { holdings.counts.update { $0.sleeps -= 1 } }
            try await SystemClock().sleep(seconds: seconds)
        }
    }

    let counts = Awaited(Counts())

    var clock: any ClientClock { CountedClock(holdings: self) }

    func counting(_ transport: any Transport) -> any Transport { Link(transport: transport, holdings: self) }
}
