import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// How many connections strangers may have on the internal listener, and the group of its Unix socket.
    @Suite struct InternalAccessTests {
        private static let maximumPerAddress = 64
        private static let token = "token-of-thirty-two-letters-or-more"
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private func start(
            _ address: String, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> GatewayProcess {
            let path = try directory.write(Self.token, to: "admin.token")
            return try await Edge.start {
                change(
                    $0.setting("ADMIN_BIND", address).setting("ADMIN_TOKEN_PATH", path))
            }.gateway
        }

        private func serve(_ connection: RawConnection) async throws -> ReceivedAnswer {
            let field = "Authorization: Bearer \(Self.token)\r\n"
            try await connection.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\(field)\r\n")
            return try await connection.answer()
        }

        @Test func `a connection above the limit of its address is closed, and one that ends makes room`()
            async throws
        {
            let gateway = try await start("0.0.0.0:0,tls=off")
            let port = try await gateway.internalPort()
            var held: [RawConnection] = []
            for _ in 0..<Self.maximumPerAddress {
                held.append(try await RawConnection.open(port: port))
                #expect(try await serve(held[held.count - 1]).status == 200)
            }
            for _ in 0..<2 {
                let above = try await RawConnection.open(port: port)
                #expect(try await above.receiveToEnd().isEmpty)
            }
            let metrics = try await serve(held[0]).text
            #expect(metrics.contains("internal_connections_refused_total{reason=\"per_address\"} 2\n"), "\(metrics)")
            // The client without the token is sent away, and so leaves room.
            try await held[1].send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await held[1].lastAnswer().status == 401)
            await held[1].close()
            let deadline = ContinuousClock.now.advanced(by: .seconds(20))
            while ContinuousClock.now < deadline {
                let next = try await RawConnection.open(port: port)
                let field = "Authorization: Bearer \(Self.token)\r\n"
                next.post(Array("GET /livez HTTP/1.1\r\nHost: x\r\n\(field)\r\n".utf8))
                if try await next.answerOrEnd()?.status == 200 { return }
            }
            Issue.record("no room")
        }

        @Test func `programs of this machine share the limit of all connections alone`() async throws {
            let gateway = try await start("127.0.0.1:0")
            let port = try await gateway.internalPort()
            var connections: [RawConnection] = []
            for _ in 0...Self.maximumPerAddress {
                connections.append(try await RawConnection.open(port: port))
                #expect(try await serve(connections[connections.count - 1]).status == 200)
            }
            withExtendedLifetime(connections) {}
        }

        @Test func `a client that ends its output after the request gets its answer and the end`() async throws {
            let gateway = try await start("127.0.0.1:0")
            let connection = try await RawConnection.open(port: gateway.internalPort())
            let field = "Authorization: Bearer \(Self.token)\r\n"
            try await connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\(field)\r\n")
            try await connection.finishSending()
            #expect(try await connection.lastAnswer().status == 200)
        }

        @Test(.enabled(if: Group.another != nil, "needs root, or a user with a second group"))
        func `the Unix socket belongs to the group of the setting`() async throws {
            let group = try #require(Group.another)
            let path = directory.file("admin.sock")
            let gateway = try await start("unix:\(path),group=\(group.name)")
            try await gateway.errorLine("answering internal requests on unix:")
            let found = try FileManager.default.attributesOfItem(atPath: path)
            #expect(found[.groupOwnerAccountID] as? Int == group.number)
            #expect(found[.posixPermissions] as? Int == 0o660)
            #expect(try await serve(RawConnection.open(socketPath: path)).status == 200)
        }
    }

    /// A group that this process may give files to, and that isn't its own.
    private enum Group {
        static let another: (name: String, number: Int)? = {
            let count = getgroups(0, nil)
            var groups = [gid_t](repeating: 0, count: Int(max(count, 0)))
            getgroups(count, &groups)
            // Root may use any.
            if geteuid() == 0 { groups += [65_534, 1] }
            return groups.first { $0 != getegid() && getgrgid($0) != nil }.map { number in
                (String(cString: getgrgid(number).pointee.gr_name), Int(number))
            }
        }()
    }
}
