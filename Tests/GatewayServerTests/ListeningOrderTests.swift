import EdgeTestKit
import Glibc
import Logging
import Settings
import SettingsTestKit
import Testing

@testable import GatewayServer
@testable import Reactors

@Suite("The order in which a gateway listens")
struct ListeningOrderTests {
    /// Who waits for `/health` to say 200 does so because the internal listener is what he needs next. The client has
    /// connected before there is a gateway, and there are many reactors to set up: one that served it too early would
    /// nearly always be seen.
    @Test func `a client is answered only when the internal listener and the control socket are open`() async throws {
        let bench = try ConfigurationBench()
        let files = [bench.folder + "/admin.sock", bench.folder + "/control.sock"]
        let settings = bench.least([
            "WS_PORT": "0", "REACTOR_THREADS": "16", "ADMIN_BIND": "unix:" + files[0], "CONTROL_SOCKET_PATH": files[1],
        ])
        let listening = try ListeningSocket(host: "127.0.0.1", port: 0)
        var sockets = InheritedSockets()
        try sockets.add(dup(listening.descriptor), for: .edge, ownsFile: false)
        let client = try SegmentSocket(port: Int(listening.port))
        #expect(client.send(Array("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)[...]))
        async let seen = onOwnThread {
            let answer = String(decoding: client.receive(), as: UTF8.self)
            return (answer, files.map { LocalSocket.connect($0).map { close($0) } != nil })
        }
        let source = ConfigurationSource(environment: settings, environmentFile: nil)
        let gateway = try Gateway(
            source.load(now: bench.now), from: source, sockets: sockets,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let (answer, areOpen) = try await seen
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && areOpen == [true, true], "\(answer) \(areOpen)")
        withExtendedLifetime(gateway) {}
    }
}
