import Glibc
import Testing
import WireText

@testable import Reactors

/// Listening sockets are bound exactly to the requested addresses.
struct ListeningSocketTests {
    private static let places = [
        ("127.0.0.1", "/proc/net/tcp", "0100007F"), ("0.0.0.0", "/proc/net/tcp", "00000000"),
        ("::1", "/proc/net/tcp6", "00000000000000000000000001000000"),
        ("::", "/proc/net/tcp6", "00000000000000000000000000000000"),
    ]

    @Test(arguments: Loopback.hasIPv6 ? places : Array(places.prefix(2)))
    func `a socket listens on the given address and on no other`(
        host: String, table: String, address: String
    ) throws {
        let socket = try ListeningSocket(host: host, port: 0)
        #expect(socket.port != 0)
        #expect(try Self.address(of: socket.descriptor, in: table) == "\(address):\(Self.hexadecimal(socket.port))")
    }

    @Test(.needsIPv6, arguments: ["::", "0::0"])
    func `a socket on :: takes IPv6 and IPv4, and shows an IPv4 client by its IPv4 address`(host: String) throws {
        let socket = try ListeningSocket(host: host, port: 0)
        for client in ["127.0.0.1", "::1"] {
            let connected = try PlainSocket.connected(host: client, port: socket.port)
            var peers: [String] = []
            acceptConnections(on: socket.descriptor) { descriptor, peer in
                peers.append(peer.address.text)
                close(descriptor)
            }
            #expect(peers == [client])
            connected.close()
        }
    }

    @Test(.needsIPv6) func `a socket on one IPv6 address takes no IPv4`() throws {
        var socket = try ListeningSocket(host: "::1", port: 0)
        // Another test may listen on this port over IPv4.
        for _ in 0..<20 where !isFree(socket.port) { socket = try ListeningSocket(host: "::1", port: 0) }
        let port = socket.port
        #expect(throws: PlainSocketError(ECONNREFUSED)) {
            try PlainSocket.connected(host: "127.0.0.1", port: port).close()
        }
        try PlainSocket.connected(host: "::1", port: port).close()
    }

    private func isFree(_ port: UInt16) -> Bool {
        (try? ListeningSocket(host: "127.0.0.1", port: port)) != nil
    }

    @Test func `several reactors may listen on one port`() throws {
        let first = try ListeningSocket(host: "127.0.0.1", port: 0)
        let second = try ListeningSocket(host: "127.0.0.1", port: first.port, isFirst: false)
        #expect(second.port == first.port)
        #expect(second.descriptor != first.descriptor)
    }

    @Test func `an address in use is refused by name`() throws {
        let server = try PlainServer()
        #expect(
            throws: ReactorError.bindFailed(address: "127.0.0.1:\(server.port)", reason: "Address already in use")
        ) { try listen(host: "127.0.0.1", port: server.port) }
        server.close()
        guard Loopback.hasIPv6 else { return }
        let six = try PlainServer(host: "::1")
        #expect(throws: ReactorError.bindFailed(address: "[::1]:\(six.port)", reason: "Address already in use")) {
            try listen(host: "::1", port: six.port)
        }
        six.close()
    }

    @Test(arguments: Loopback.addresses.map { ($0, $0.contains(":") ? "[\($0)]" : $0) })
    func `an address of a running gateway is refused although its sockets allow sharing`(
        host: String, name: String
    ) throws {
        let ours = try ListeningSocket(host: host, port: 0)
        #expect(throws: ReactorError.bindFailed(address: "\(name):\(ours.port)", reason: "Address already in use")) {
            try listen(host: host, port: ours.port)
        }
    }

    /// A leftover connection, open on one side or in TIME_WAIT, is not a listener.
    @Test func `a closed listener's address can be used again at once`() throws {
        var port: UInt16 = 0
        do {
            let listener = try ListeningSocket(host: "127.0.0.1", port: 0)
            port = listener.port
            let client = try PlainSocket.connected(host: "127.0.0.1", port: port)
            acceptConnections(on: listener.descriptor) { descriptor, _ in close(descriptor) }
            client.close()
        }
        let lasting = try ListeningSocket(host: "127.0.0.1", port: port)
        let client = try PlainSocket.connected(host: "127.0.0.1", port: port)
        var accepted: Int32 = -1
        acceptConnections(on: lasting.descriptor) { descriptor, _ in accepted = descriptor }
        close(lasting.take())
        try listen(host: "127.0.0.1", port: port)
        close(accepted)
        client.close()
    }

    @Test(arguments: ["localhost", "", "127.0.0.1 ", "256.0.0.1", "::g"])
    func `text that is no numeric address is refused`(host: String) {
        #expect(throws: ReactorError.self) { try listen(host: host, port: 0) }
    }

    @Test func `an address of another machine is refused`() {
        #expect(throws: ReactorError.self) { try listen(host: "192.0.2.1", port: 0) }
    }

    @Test func `a released socket is closed`() throws {
        let port = try ListeningSocket(host: "127.0.0.1", port: 0).port
        try PlainSocket.bound(host: "127.0.0.1", port: port).close()
    }

    @Test func `accepted sockets have a peer address, close-on-exec, no delay and keep-alive`() throws {
        let listener = try ListeningSocket(host: "127.0.0.1", port: 0)
        let client = try PlainSocket.connected(host: "127.0.0.1", port: listener.port)
        var accepted: [(Int32, SocketAddress)] = []
        acceptConnections(on: listener.descriptor) { accepted.append(($0, $1)) }
        try #require(accepted.count == 1)
        let (descriptor, peer) = accepted[0]
        let socket = PlainSocket(adopting: descriptor)
        #expect(peer.address.text == "127.0.0.1")
        #expect(peer.port == client.port)
        #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(socket.option(Int32(IPPROTO_TCP), TCP_NODELAY) == 1)
        #expect(socket.option(SOL_SOCKET, SO_KEEPALIVE) == 1)
        #expect(socket.option(Int32(IPPROTO_TCP), TCP_KEEPIDLE) == 60)
        client.close()
        socket.close()
    }

    @Test func `at most 64 connections are accepted at once`() throws {
        let listener = try ListeningSocket(host: "127.0.0.1", port: 0)
        let clients = try (0..<65).map { _ in try PlainSocket.connected(host: "127.0.0.1", port: listener.port) }
        var counts: [Int] = []
        for _ in 0..<3 {
            var count = 0
            acceptConnections(on: listener.descriptor) { descriptor, _ in
                count += 1
                close(descriptor)
            }
            counts.append(count)
        }
        #expect(counts == [64, 1, 0])
        clients.forEach { $0.close() }
    }

    private func listen(host: String, port: UInt16) throws(ReactorError) {
        _ = try ListeningSocket(host: host, port: port)
    }

    private static func hexadecimal(_ port: UInt16) -> String {
        let number = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - number.count) + number
    }

    /// The address on which this socket listens, in the notation of the kernel's table. A read can miss a line if the
    /// table changes meanwhile, for instance because of other tests; it is therefore retried.
    private static func address(of descriptor: Int32, in path: String) throws -> String? {
        var status = stat()
        try #require(fstat(descriptor, &status) == 0)
        for _ in 0..<1_000 {
            if let found = try listener(inode: String(status.st_ino), in: path) { return found }
        }
        return nil
    }

    private static func listener(inode: String, in path: String) throws -> String? {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 1_024)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let fields = text.split(separator: " ")
            // The state is the fourth field (0A means LISTEN), the inode the tenth.
            if fields.count > 9, fields[3] == "0A", fields[9] == inode { return String(fields[1]) }
        }
        return nil
    }
}
