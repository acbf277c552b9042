import Foundation
import RelayCore
import Testing
import WireText

@testable import Settings

@Suite struct TargetExposureTests {
    /// The first lines of `/proc/net/tcp` and `tcp6` of a running machine: listeners, then a connection.
    private static let tcp = """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:0FA0 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 21377 1 0000000000000000 100 0 0 10 0
           1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18022 1 0000000000000000 100 0 0 10 0
           2: 0502000A:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18022 1 0000000000000000 100 0 0 10 0
           3: 0502000A:0FA1 0202000A:D2F0 01 00000000:00000000 02:000A2E9A 00000000     0        0 40961 4 0000000000000000 20 4 30 10 -1

        """
    private static let tcp6 = """
          sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid
           0: 00000000000000000000000000000000:0FA1 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000
           1: 00000000000000000000000001000000:0FA2 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000
           2: 0000000000000000FFFF00000100007F:0FA3 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000
           3: B80D0120000000000000000001000000:0FA4 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000
        """

    private func sockets(_ text: String, pieces: Int = .max) -> Set<SocketAddress> {
        var (table, rest) = (KernelSocketTable(), Array(text.utf8)[...])
        while !rest.isEmpty {
            table.feed(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
        }
        table.finish()
        return table.listening
    }

    private func socket(_ address: String, _ port: UInt16) throws -> SocketAddress {
        SocketAddress(try #require(IPAddress(text: address)), port: port)
    }

    @Test func `the kernel's tables name the sockets that listen`() throws {
        #expect(
            try sockets(Self.tcp) == [socket("127.0.0.1", 4000), socket("0.0.0.0", 22), socket("10.0.2.5", 8080)])
        #expect(
            try sockets(Self.tcp6)
                == [socket("::", 4001), socket("::1", 4002), socket("127.0.0.1", 4003), socket("2001:db8::1", 4004)])
    }

    @Test func `a table shows where the connections begin`() {
        for (text, hasConnections) in [("", false), (Self.tcp6, false), (Self.tcp, true)] {
            var table = KernelSocketTable()
            table.feed(Array(text.utf8)[...])
            table.finish()
            #expect(table.hasConnections == hasConnections)
        }
    }

    @Test func `a table is the same in pieces of any size`() {
        let whole = sockets(Self.tcp + Self.tcp6)
        #expect(whole.count == 7)
        for size in 1...300 { #expect(sockets(Self.tcp + Self.tcp6, pieces: size) == whole, "\(size)") }
        let bytes = Array((Self.tcp + Self.tcp6).utf8)
        for cut in bytes.indices {
            var table = KernelSocketTable()
            table.feed(bytes[..<cut])
            table.feed(bytes[cut...])
            table.finish()
            #expect(table.listening == whole, "\(cut)")
        }
    }

    @Test(arguments: [
        "", "0:", "0: 0100007F:0FA0 00000000:0000 01", "0 0100007F:0FA0 00000000:0000 0A",
        "0: 0100007F 00000000:0000 0A",
        "0: 0100007:0FA0 00000000:0000 0A", "0: 0100007F:FA0 00000000:0000 0A", "0: 0100007G:0FA0 00000000:0000 0A",
        "0: 0100007F:0FA0:0 00000000:0000 0A", "0: 0100007F:0FA0 00000000:0000 0AA",
    ])
    func `a line that isn't understood is skipped`(line: String) throws {
        let good = "0: 0100007F:0FA0 00000000:0000 0A"
        #expect(try sockets("\(line)\n\(good)\n\(line)") == [socket("127.0.0.1", 4000)])
    }

    @Test func `a line may have so many bytes and no more`() throws {
        let line = "0: 0100007F:0FA0 00000000:0000 0A "
        let padding = KernelSocketTable.maximumLineBytes - line.utf8.count
        for (extra, count) in [(0, 1), (1, 0)] {
            let long = line + String(repeating: "x", count: padding + extra)
            #expect(sockets(long).count == count)
            #expect(sockets(long + "\n1: 00000000:0016 00000000:0000 0A").count == count + 1)
        }
    }

    // MARK: Warnings

    private func warnings(_ endpoint: String, _ listening: [SocketAddress]) throws -> [String] {
        let machine = MachineSockets(
            listening: Set(listening), addresses: [try #require(IPAddress(text: "192.0.2.7"))], names: ["mud-host"])
        let target = TargetExposure.Target(setting: "TN_HOST", endpoint: try TargetEndpoint(endpoint))
        return TargetExposure(machine: machine).warnings(of: [target, target]).map(\.description)
    }

    @Test(arguments: [
        "127.0.0.1:4000", "127.9.9.9:4000", "[::1]:4000", "[::ffff:127.0.0.1]:4000", "localhost:4000",
        "mud.localhost:4000",
        "192.0.2.7:4000", "mud-host:4000",
    ])
    func `a target on this machine that listens beyond loopback is warned of once`(target: String) throws {
        for open in ["0.0.0.0", "::", "192.0.2.7", "10.1.1.1", "fe80::1"] {
            let found = try warnings(target, [socket("127.0.0.1", 4000), socket(open, 4000)])
            #expect(found.count == 1 && found[0].contains(" \(open) "), "\(found)")
            #expect(found[0].hasPrefix("TN_HOST: ") && found[0].contains("docs/RUNNING.md#close-the-muds-own-port"))
        }
        #expect(try warnings(target, []) == [])
        #expect(try warnings(target, [socket("127.0.0.1", 4000), socket("::1", 4000)]) == [])
        #expect(try warnings(target, [socket("0.0.0.0", 4001)]) == [])
    }

    @Test(arguments: ["192.0.2.8:4000", "mud.example.org:4000", "[2001:db8::9]:4000"])
    func `a target on another machine is none of ours`(target: String) throws {
        #expect(try warnings(target, [socket("0.0.0.0", 4000)]) == [])
    }

    /// It would be connected to itself, or the two couldn't run side by side.
    @Test(arguments: [
        ("127.0.0.1:6200", "127.0.0.1", true), ("127.0.0.1:6200", "0.0.0.0", true), ("127.0.0.1:6200", "::", true),
        ("localhost:6200", "127.0.0.1", true), ("192.0.2.7:6200", "192.0.2.7", true), ("[::1]:6200", "::", true),
        ("[::1]:6200", "0.0.0.0", false), ("127.0.0.1:6200", "192.0.2.7", false), ("127.0.0.1:4000", "::", false),
        ("192.0.2.8:6200", "::", false), ("mud.example.org:6200", "::", false),
    ])
    func `a target that is the gateway itself is warned of once`(target: String, host: String, isOwn: Bool) throws {
        let hosts = try SettingGrammar.addresses(host)
        let machine = MachineSockets(
            // As it is while the gateway runs.
            listening: [try socket("0.0.0.0", 6200)], addresses: [try #require(IPAddress(text: "192.0.2.7"))], names: []
        )
        let named = TargetExposure.Target(setting: "TN_HOST", endpoint: try TargetEndpoint(target))
        let found = TargetExposure(machine: machine, own: OwnListener(hosts: hosts, port: 6200))
            .warnings(of: [named, named]).map(\.description).filter { $0.contains("WS_PORT") }
        #expect(found.count == (isOwn ? 1 : 0), "\(found)")
        #expect(found.allSatisfy { $0.hasPrefix("TN_HOST: leads to port 6200 of this machine, which is WS_PORT") })
        let free = TargetExposure(machine: machine, own: OwnListener(hosts: hosts, port: 0))
        #expect(!free.warnings(of: [named]).contains { $0.text.contains("WS_PORT") })
    }

    @Test func `a warning names a few of the addresses`() throws {
        let open = try (1...9).map { try socket("10.0.0.\($0)", 4000) }
        #expect(
            try warnings("localhost:4000", open) == [
                "TN_HOST: leads to port 4000 of this machine, which listens on 10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4 too: unless a"
                    + " firewall closes it, clients can bypass the gate. See docs/RUNNING.md#close-the-muds-own-port."
            ])
    }

    /// A socket of the test itself, as the kernel shows it.
    @Test(arguments: [("127.0.0.1", false), ("0.0.0.0", true)])
    func `this machine's sockets are seen`(address: String, isOpen: Bool) throws {
        let descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = inet_addr(address)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isListening)
        let port = UInt16(bigEndian: name.sin_port)
        let machine = MachineSockets.current()
        #expect(try machine.listening.contains(socket(address, port)))
        #expect(machine.has(try #require(TargetHost("127.0.0.1"))))
        let target = TargetExposure.Target(setting: "MUD_ROUTES", endpoint: try TargetEndpoint("127.0.0.1:\(port)"))
        #expect(TargetExposure(machine: machine).warnings(of: [target]).count == (isOpen ? 1 : 0))
    }
}
