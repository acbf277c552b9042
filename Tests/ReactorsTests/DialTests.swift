import Glibc
import Testing
import WireText

@testable import Reactors

/// How dialling succeeds or fails.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct DialTests {
    /// A loopback port without a listener. It is bound, so no other process can listen there.
    private func deafPort(host: String = "127.0.0.1") throws -> PlainSocket { try PlainSocket.bound(host: host) }

    private func dial(
        _ addresses: [(String, UInt16)], _ options: DialOptions = .patient
    ) async -> (WatchedConnection, Heard) {
        await WatchedConnection.open { handler in
            .dial(
                addresses.map { ResolvedAddress(NumericAddress(host: $0.0, port: $0.1).storage) },
                options: options, on: TestReactor.shared, handler: handler)
        }
    }

    @Test func `a port without a listener refuses the dial`() async throws {
        let deaf = try deafPort()
        var (_, heard) = await WatchedConnection.dial(deaf.port)
        #expect(await heard.next() == .closed(.notConnected("connection refused")))
        deaf.close()
    }

    /// Neither reaches a name server: the first exceeds the length of a label, the second what libuv accepts at all.
    @Test(arguments: [64, 300])
    func `a name that can't exist isn't resolved`(length: Int) async throws {
        var (_, heard) = await WatchedConnection.dial(1, host: String(repeating: "a", count: length))
        guard case .closed(.notResolved(let text)) = await heard.next() else {
            Issue.record("resolved")
            return
        }
        #expect(!text.isEmpty)
    }

    @Test func `a name in the hosts file is dialled`() async throws {
        let server = try PlainServer()
        async let arrived = server.serve { $0.readAll() }
        var (connection, heard) = await WatchedConnection.dial(server.port, host: "localhost")
        #expect(await heard.next() == .connected)
        await connection.finish()
        #expect(await arrived == [])
        server.close()
    }

    @Test(
        arguments: Loopback.available([
            ["::1"], ["127.0.0.1"], ["::1", "127.0.0.1", "::1"], ["127.0.0.2", "127.0.0.3"],
        ]),
        Loopback.addresses)
    func `after an address that refuses, the next one of any family is tried`(refusing: [String], answering: String)
        async throws
    {
        let server = try PlainServer(host: answering)
        let deaf = try refusing.map { try deafPort(host: $0) }
        async let arrived = server.serve { $0.readAll() }
        var (connection, heard) = await dial(
            zip(refusing, deaf.map(\.port)).map { ($0, $1) } + [(answering, server.port)])
        #expect(await heard.next() == .connected)
        await connection.send([1, 2, 3])
        await connection.finish()
        #expect(await arrived == [1, 2, 3])
        #expect(await heard.next() == .finished)
        #expect(await heard.next() == .closed(nil))
        deaf.forEach { $0.close() }
        server.close()
    }

    @Test(.needsIPv6) func `if all addresses refuse, the last refusal is reported once`() async throws {
        let deaf = [try deafPort(host: "::1"), try deafPort(), try deafPort(host: "::1")]
        var (connection, heard) = await dial([
            ("::1", deaf[0].port), ("127.0.0.1", deaf[1].port), ("::1", deaf[2].port),
        ])
        #expect(await heard.next() == .closed(.notConnected("connection refused")))
        _ = await connection.order { $0.drop() }
        deaf.forEach { $0.close() }
    }

    @Test func `without an address nothing is dialled`() async throws {
        var (_, heard) = await dial([])
        #expect(await heard.next() == .closed(.notResolved("the name has no address")))
    }

    @Test func `a drop while dialling ends the dial without an answer`() async throws {
        let server = try PlainServer()
        for host in ["127.0.0.1", "localhost"] {
            var (connection, heard) = await WatchedConnection.open {
                let connection = TCPConnection.dial(
                    host: host, port: server.port, options: .patient, on: TestReactor.shared, handler: $0)
                connection.drop()
                return connection
            }
            #expect(await heard.next() == .closed(nil))
            #expect(await connection.order { $0.queuedBytes } == 0)
        }
        server.close()
    }

    // MARK: The filter

    @Test(arguments: Loopback.addresses)
    func `a connection to this machine is closed before its first byte if the options require it`(
        host: String
    ) async throws {
        let server = try PlainServer(host: host)
        async let arrived = server.serve { $0.readAll() }
        var options = DialOptions.patient
        options.refusesThisMachine = true
        options.prologue = { _, _ in [1, 2, 3] }
        var (connection, heard) = await WatchedConnection.open { [options] handler in
            let connection = TCPConnection.dial(
                host: host, port: server.port, options: options, on: TestReactor.shared, handler: handler)
            ([4] as [UInt8]).withUnsafeBytes(connection.send)
            return connection
        }
        #expect(await heard.next() == .closed(.notAllowed))
        await connection.drop()
        #expect(await arrived == [])
        server.close()
    }

    @Test func `another machine is dialled`() async throws {
        let server = try PlainServer(host: "127.0.0.2")
        async let arrived = server.serve { $0.readAll() }
        var options = DialOptions.patient
        options.refusesThisMachine = true
        // From 127.0.0.1: the system treats 127.0.0.2 as a different host.
        options.source = "127.0.0.1"
        var (connection, heard) = await WatchedConnection.dial(server.port, host: "127.0.0.2", options: options)
        #expect(await heard.next() == .connected)
        await connection.finish()
        #expect(await arrived == [])
        server.close()
    }

    @Test(
        arguments: Loopback.addresses + ["localhost", "::ffff:127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1"])
    func `an address that the filter refuses isn't dialled, however the host is written`(host: String) async throws {
        let server = try PlainServer(host: host == "::1" ? host : "127.0.0.1")
        let options = DialOptions(timeoutMilliseconds: Patience.milliseconds) {
            $0 != [127, 0, 0, 1] && $0.count != 16
        }
        var (_, heard) = await WatchedConnection.dial(server.port, host: host, options: options)
        #expect(await heard.next() == .closed(.notAllowed))
        #expect(!server.isDialled)
        server.close()
    }

    @Test func `only the allowed addresses of several are dialled, and their failure is reported`() async throws {
        let server = try PlainServer(host: "127.0.0.2")
        let forbidden = try PlainServer(host: "127.0.0.1")
        let deaf = try deafPort(host: "127.0.0.3")
        let options = DialOptions(timeoutMilliseconds: Patience.milliseconds) { $0 != [127, 0, 0, 1] }
        async let arrived = server.serve { $0.readAll() }
        var (connection, heard) = await dial(
            [("127.0.0.1", forbidden.port), ("127.0.0.2", server.port)], options)
        #expect(await heard.next() == .connected)
        await connection.finish()
        #expect(await arrived == [])
        (_, heard) = await dial([("127.0.0.1", forbidden.port), ("127.0.0.3", deaf.port)], options)
        #expect(await heard.next() == .closed(.notConnected("connection refused")))
        #expect(!forbidden.isDialled)
        for server in [server, forbidden] { server.close() }
        deaf.close()
    }

    // MARK: The prologue

    @Test(arguments: Loopback.addresses)
    func `the prologue names both ends and precedes data sent while dialling`(host: String) async throws {
        let server = try PlainServer(host: host)
        let deaf = try deafPort()
        async let arrived = server.serve { socket in (socket.peer, socket.readAll()) }
        var options = DialOptions.patient
        options.prologue = { local, remote in
            Array("\(local.address.text) \(local.port) \(remote.address.text) \(remote.port);".utf8)
        }
        var (connection, heard) = await WatchedConnection.open { [options] handler in
            let connection = TCPConnection.dial(
                [("127.0.0.1", deaf.port), (host, server.port)].map {
                    ResolvedAddress(NumericAddress(host: $0.0, port: $0.1).storage)
                }, options: options, on: TestReactor.shared, handler: handler)
            ([1, 2, 3] as [UInt8]).withUnsafeBytes(connection.send)
            return connection
        }
        #expect(await heard.next() == .connected)
        await connection.send([4])
        await connection.finish()
        let (peer, bytes) = try #require(await arrived)
        let us = try #require(peer)
        #expect(bytes == Array("\(us.address.text) \(us.port) \(host) \(server.port);".utf8) + [1, 2, 3, 4])
        deaf.close()
        server.close()
    }
}
