import Foundation
import Testing

@testable import GatewayServer
@testable import Reactors

/// Listening sockets that a service manager has opened.
@Suite("Socket activation", .serialized) struct SocketActivationTests {
    /// Consecutive descriptors below the limit of open files: other tests of this process get the lowest free ones.
    private static let first: Int32 = {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int32(min(limit.rlim_cur, 65_536)) - 64
    }()

    private final class Sockets {
        let count: Int32
        private let files: [String]

        /// Each makes a descriptor.
        init(_ makes: [() throws -> Int32], files: [String] = []) throws {
            count = Int32(makes.count)
            self.files = files
            for (index, make) in makes.enumerated() {
                let made = try make()
                #expect(dup2(made, first + Int32(index)) >= 0)
                closeSocket(made)
            }
        }

        deinit {
            for index in 0..<count { closeSocket(first + index) }
            for file in files { unlink(file) }
        }
    }

    private func activated(_ count: Int32, names: String? = nil) throws(SocketFault) -> InheritedSockets {
        var environment = ["LISTEN_FDS": "\(count)", "LISTEN_PID": "\(getpid())"]
        environment["LISTEN_FDNAMES"] = names
        return try InheritedSockets.activated(environment, first: Self.first)
    }

    private func listening(_ host: String = "127.0.0.1") throws -> Int32 {
        let socket = try ListeningSocket(host: host, port: 0)
        let copy = dup(socket.descriptor)
        return copy
    }

    private func unix(_ path: String) throws -> Int32 { try LocalSocket.listen(path) }

    private func reason(_ count: Int32, names: String? = nil) -> String {
        do {
            _ = try activated(count, names: names)
            return "accepted"
        } catch { return "\(error)" }
    }

    @Test func `without its variables, or with those of another process, there are no sockets`() throws {
        #expect(try InheritedSockets.activated([:]).isEmpty)
        #expect(try InheritedSockets.activated(["LISTEN_FDS": "1", "LISTEN_PID": "1"]).isEmpty)
    }

    @Test(arguments: [nil, "edge:admin", "portcullis.socket:portcullis-admin.socket"])
    func `the edge and the internal listener are known by name or by order`(names: String?) throws {
        let path = NSTemporaryDirectory() + "portcullis-activation-\(getpid()).sock"
        let sockets = try Sockets([{ try listening() }, { try unix(path) }], files: [path])
        let found = try activated(sockets.count, names: names)
        #expect(found.edge.count == 1 && found.edge[0].name.hasPrefix("127.0.0.1:"))
        #expect(found.internalListener?.name == "unix:\(path)" && found.internalListener?.ownedPath == nil)
    }

    @Test func `several sockets may serve clients`() throws {
        let sockets = try Sockets([{ try listening() }, { try listening() }, { try listening("127.0.0.2") }])
        let found = try activated(sockets.count, names: "edge:edge:admin")
        #expect(found.edge.count == 2 && found.internalListener?.isLocal == true)
        try found.checkInternalListener(replacing: .unix(path: "/run/admin.sock"))
    }

    @Test func `other gateways may be served on one that is named fleet`() throws {
        let sockets = try Sockets([{ try listening() }, { try listening() }])
        let found = try activated(sockets.count, names: "edge:fleet")
        #expect(found.edge.count == 1 && found.fleet.count == 1 && found.internalListener == nil)
        #expect(found.fleet(at: "127.0.0.1", 0).count == 1)
    }

    @Test func `the variables are removed`() throws {
        let sockets = try Sockets([{ try listening() }])
        setenv("LISTEN_FDS", "1", 1)
        _ = try activated(sockets.count)
        #expect(getenv("LISTEN_FDS") == nil)
    }

    @Test func `a descriptor of another kind is refused, and said why`() throws {
        func kind(_ kind: Int32) -> () throws -> Int32 { { socket(AF_INET, kind, 0) } }
        let cases: [(make: () throws -> Int32, problem: String)] = [
            ({ open("/dev/null", O_RDONLY) }, "not a socket"), (kind(2), "not a stream socket"),
            (kind(1), "not listening"),
        ]
        for (make, problem) in cases {
            let sockets = try Sockets([make])
            #expect(reason(sockets.count).contains(problem), "\(problem)")
        }
        #expect(reason(1).contains("not open"))
    }

    @Test func `clients aren't served on a Unix socket, nor proxies beyond this machine`() throws {
        let path = NSTemporaryDirectory() + "portcullis-activation-\(getpid())-2.sock"
        let local = try Sockets([{ try unix(path) }], files: [path])
        #expect(reason(local.count, names: "edge").contains("must be TCP"))
        withExtendedLifetime(local) {}
    }

    @Test func `the internal listener is on an address of other machines only if ADMIN_BIND is`() throws {
        let sockets = try Sockets([{ try listening("0.0.0.0") }])
        let found = try activated(sockets.count, names: "admin")
        for address in [InternalAddress.loopback(host: "127.0.0.1", port: 0), .unix(path: "/run/admin.sock")] {
            do throws(GatewayError) {
                try found.checkInternalListener(replacing: address)
                Issue.record("accepted in place of \(address)")
            } catch { #expect("\(error)".contains("must be a Unix socket or on a loopback address")) }
        }
        try found.checkInternalListener(replacing: .network(host: "0.0.0.0", port: 0))
        withExtendedLifetime(sockets) {}
    }

    @Test func `names and numbers that make no sense are refused`() throws {
        let sockets = try Sockets([{ try listening() }, { try listening() }, { try listening() }])
        #expect(reason(3).contains("need names"))
        #expect(reason(3, names: "edge:admin").contains("2 names for 3 sockets"))
        #expect(reason(3, names: "edge:admin:ftp").contains("named ftp"))
        #expect(reason(3, names: "edge:admin:admin").contains("one internal listener"))
        #expect(reason(0).contains("LISTEN_FDS is 0") && reason(65).contains("LISTEN_FDS is 65"))
        withExtendedLifetime(sockets) {}
    }
}
