import COpenSSL
import Testing

@testable import Reactors

/// The key exchange computations that a target can cause are bounded like those that clients can cause.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct TargetKeyExchangeTests {
    @Test(arguments: ["X25519", "P-256", "P-384"])
    func `a target with a cheap group is connected`(group: String) async throws {
        let server = try PlainServer()
        async let peer = server.serve { TLSPeer.accept($0, .init(version: TLS1_3_VERSION, group: group)) != nil }
        var (connection, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        #expect(await heard.next() == .connected)
        #expect(await peer == true)
        await connection.order { $0.drop() }
        server.close()
    }

    @Test(arguments: ["ffdhe2048", "ffdhe8192", "P-521", "X448"])
    func `a target with only expensive groups isn't connected`(group: String) async throws {
        let server = try PlainServer()
        async let peer = server.serve { TLSPeer.accept($0, .init(version: TLS1_3_VERSION, group: group)) == nil }
        var (_, heard) = await WatchedTarget.dial(server.port, tls: try .test())
        guard case .closed(.notSecured(.failed)) = await heard.next() else {
            Issue.record("\(group) was taken")
            return
        }
        #expect(await peer == true)
        server.close()
    }
}
