import Testing

@testable import Reactors

/// Lookups with an unresponsive name server. The tests are serialized, because each uses the process's only thread pool
/// and budget.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(10)))
struct NameLookupTests {
    /// All threads for lookups are taken.
    @Test func `an address and the end of a waiting dial don't wait for a name lookup`() async throws {
        let servers = try Loopback.addresses.map { try PlainServer(host: $0) }
        let pool = await OccupiedThreadPool(by: TestReactor.shared)
        for (server, host) in zip(servers, Loopback.addresses) {
            for chooser in [HostChooser.operators, .client(["numeric"])] {
                var (connection, heard) = await dial(server.port, host, for: chooser)
                #expect(await heard.next() == .connected)
                await connection.drop()
            }
        }
        let port = servers[0].port
        let (gone, _) = await dial(port, "localhost", for: .client(["a"]))
        var (_, heard) = await dial(port, "localhost", for: .client(["a", "b"]))
        #expect(await heard.next() == .closed(.notResolved("a name that this client chose is still being looked up")))
        await gone.drop()
        await gone.turns()
        var (again, afterwards) = await dial(port, "localhost", for: .client(["a"]))
        pool.release()
        #expect(await afterwards.next() == .connected)
        await again.drop()
        servers.forEach { $0.close() }
    }

    @Test func `lookups of clients' names don't block those of operators' names`() async throws {
        let server = try PlainServer()
        let pool = await OccupiedThreadPool(by: TestReactor.second)
        var waiting: [WatchedConnection] = []
        for client in 0..<LookupThreads.forClients {
            waiting.append(await dial(server.port, "localhost", for: .client(["\(client)"])).0)
        }
        var (_, heard) = await dial(server.port, "localhost", for: .client(["more"]))
        #expect(await heard.next() == .closed(.notResolved("too many names that clients chose are being looked up")))
        var (connection, operators) = await dial(server.port, "localhost", for: .operators)
        pool.release()
        #expect(await operators.next() == .connected)
        await connection.drop()
        for client in waiting { await client.drop() }
        server.close()
    }

    private func dial(
        _ port: UInt16, _ host: String, for chooser: HostChooser
    ) async -> (WatchedConnection, Heard) {
        var options = DialOptions.patient
        options.chooser = chooser
        return await WatchedConnection.dial(port, host: host, options: options)
    }
}
