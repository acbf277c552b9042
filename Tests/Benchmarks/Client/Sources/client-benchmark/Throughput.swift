import Foundation
import PortcullisClient

/// How fast events are read while the service floods a session.
struct Throughput {
    static let bytes = 10_000_000

    struct Result {
        /// In seconds, of each round.
        var wall: [Double] = []
        var cpu: [Double] = []
    }

    let rounds: Int

    func measure(_ client: GateClient, ticket: String) async throws -> Result {
        let connection = client.connect(ConnectionOptions(.ticket(ticket)))
        var events = connection.makeAsyncIterator()
        // The first round is no measurement: it compares the text.
        var text = Data()
        try await flood(connection, &events) { text += $0 }
        guard text.elementsEqual(Texts.flood(Self.bytes)) else { throw Failure("the text isn't the service's") }
        text = Data()

        var result = Result()
        for round in 1...rounds {
            var count = 0
            let (wall, cpu) = (Machine.now, Machine.cpuTime)
            try await flood(connection, &events) { count += $0.count }
            result.wall.append(Machine.now - wall)
            result.cpu.append(Machine.cpuTime - cpu)
            ClientBenchmark.note(
                "round \(round): \(result.wall.last ?? 0) s, of which \(result.cpu.last ?? 0) s of CPU")
        }
        await connection.close()
        while await events.next() != nil {}
        return result
    }

    /// Asks for the flood, and reads events until all of it has come.
    private func flood(
        _ connection: GatedConnection, _ events: inout GatedConnection.AsyncIterator, _ take: (Data) -> Void
    ) async throws {
        try await connection.send("flood \(Self.bytes)")
        var missing = Self.bytes
        while missing > 0 {
            guard let event = await events.next() else { throw Failure("the session has ended") }
            switch event {
            case .output(let output):
                take(output.bytes)
                missing -= output.bytes.count
            case .gap: throw Failure("output was lost")
            case .state(.ended(let end)): throw Failure("the session has ended: \(end)")
            default: break
            }
        }
        guard missing == 0 else { throw Failure("\(-missing) bytes too many") }
    }
}
