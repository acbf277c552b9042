import Foundation

/// The real HAProxy in front of gateways, with the example of `config/` as its configuration. Only what an operator has
/// to change is changed.
package final class HAProxyProcess: Sendable {
    /// Where it connects from.
    package static let source = "127.0.0.200"

    package let port: Int
    private let child: ChildProcess
    private let directory: TemporaryDirectory
    private let certificates: DevCertificates

    private init(port: Int, child: ChildProcess, directory: TemporaryDirectory, certificates: DevCertificates) {
        self.port = port
        self.child = child
        self.directory = directory
        self.certificates = certificates
    }

    deinit { child.signal(SIGKILL) }

    /// Its servers are `gateway1`, `gateway2` and so on.
    package static func start(before gateways: [GatewayProcess]) async throws -> HAProxyProcess {
        let (directory, certificates) = (try TemporaryDirectory(), try await DevCertificates.shared())
        let port = try FrontProxy.freePort()
        let text = try configuration(
            port: port, gateways: gateways.map(\.port), certificates, socket: directory.file("admin.sock"))
        let path = try directory.write(text, to: "haproxy.cfg")
        try await ChildProcess.check(try ServerProgram.path("haproxy"), ["-c", "-f", path])
        let child = try ChildProcess(try ServerProgram.path("haproxy"), ["-db", "-f", path], directory: directory.path)
        let proxy = HAProxyProcess(port: port, child: child, directory: directory, certificates: certificates)
        try await proxy.awaitListening()
        return proxy
    }

    private static func configuration(
        port: Int, gateways: [Int], _ certificates: DevCertificates, socket: String
    ) throws -> String {
        let example = try String(
            contentsOfFile: ServerProgram.repository + "/config/haproxy.cfg.example", encoding: .utf8)
        let servers = gateways.enumerated().map { "    server gateway\($0 + 1) 127.0.0.1:\($1)\n" }.joined()
        return try FrontProxy.replace(
            in: example,
            [
                ("    user haproxy\n    group haproxy\n", ""),
                ("/run/haproxy/admin.sock", socket), ("bind :443", "bind 127.0.0.1:\(port)"),
                ("mud.example.com", "localhost"), ("source 10.0.0.5", "source \(source)"),
                ("/etc/ssl/certs/ca-certificates.crt", certificates.serverCA),
                ("    server gateway1 10.0.0.11:443\n", servers), ("    server gateway2 10.0.0.12:443\n", ""),
            ])
    }

    /// With TLS to a gateway.
    package func connect(as identity: DevCertificates.Identity? = nil) async throws -> RawConnection {
        try await RawConnection.open(
            port: port, tls: TLSChoice(trustedCA: certificates.serverCA, identity: identity))
    }

    package func open(as identity: DevCertificates.Identity? = nil) async throws -> TestWebSocket {
        switch try await TestWebSocket.attempt(Handshake(), on: connect(as: identity)) {
        case .open(let socket): return socket
        case .refused(let answer, _): throw EdgeTestError("refused: \(answer)")
        }
    }

    /// Waits until its health checks have taken the gateway out.
    ///
    /// - Parameter number: from 1.
    package func takesOut(_ number: Int) async throws {
        try await child.output.wait(for: "gateway\(number) is taken out") { output in
            output.errorText.contains("Server gateways/gateway\(number) is DOWN") ? true : nil
        }
    }

    private func awaitListening() async throws {
        let end = ContinuousClock.now + .seconds(20)
        while (try? await RawConnection.open(port: port)) == nil {
            guard child.output.current.ending == nil, ContinuousClock.now < end else {
                throw EdgeTestError("HAProxy did not start: \(child.output.current)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
