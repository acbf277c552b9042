import Foundation
import Glibc

/// nginx or Caddy in front of an HTTP API, with the example of `config/` as its configuration. Only what an operator
/// has to change is changed.
package final class FrontProxy: Sendable {
    package enum Kind: String, CaseIterable, Sendable, CustomStringConvertible {
        case nginx, caddy

        package var description: String { rawValue }
    }

    /// Whether devices sign their requests.
    package enum Signing: Sendable {
        case off
        /// With the digests of their bodies.
        case digests
        /// Of requests below /signed/ nginx asks with the bodies, by its JavaScript module.
        case bodies
    }

    /// The proxy's own credential for the API.
    package static let providerKey = "sk-provider-key-of-these-tests"

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

    /// nginx's master would leave its worker behind if it were killed.
    deinit {
        child.signal(SIGTERM)
    }

    /// As clients see it.
    package var origin: String { "https://localhost:\(port)" }
    package var output: ChildOutput { child.output.current }

    /// - Parameters:
    ///   - socketPath: the gateway's `ADMIN_BIND`.
    ///   - apiPort: of an HTTPS server with the test certificate for localhost.
    ///   - gatewayPort: of the gateway, without TLS: its paths are served on the same origin. nil: they aren't.
    ///   - signing: `.bodies` of nginx alone.
    ///   - port: that clients connect to.
    package static func start(
        _ kind: Kind, asking socketPath: String, apiPort: Int, gatewayPort: Int? = nil, signing: Signing = .off,
        port: Int? = nil
    ) async throws -> FrontProxy {
        let (directory, certificates) = (try TemporaryDirectory(), try await DevCertificates.shared())
        let port = try port ?? freePort()
        let gateway = try directory.write(try gatewayPart(of: kind, gatewayPort, signing), to: "gateway.conf")
        let program = try ServerProgram.path(kind.rawValue)
        let example = try String(contentsOfFile: example(of: kind), encoding: .utf8)
        let child: ChildProcess
        switch kind {
        case .nginx:
            let server = try replace(
                in: example,
                [
                    ("unix:/run/portcullis/admin.sock", "unix:\(socketPath)"),
                    ("listen 443 ssl", "listen 127.0.0.1:\(port) ssl"),
                    ("server_name api.example.com", "server_name localhost"),
                    ("/etc/nginx/tls/api.example.com.crt", certificates.server.certificate),
                    ("/etc/nginx/tls/api.example.com.key", certificates.server.key),
                    ("$api_origin https://api.example.com;", "$api_origin https://localhost:\(port);"),
                    ("$provider_host api.provider.example;", "$provider_host localhost;"),
                    ("proxy_pass https://api.provider.example;", "proxy_pass https://127.0.0.1:\(apiPort);"),
                    ("include /etc/portcullis/provider-key.conf", "include \(directory.file("provider-key.conf"))"),
                    ("#include /etc/nginx/portcullis-gateway.conf", "include \(gateway)"),
                    (
                        "#include /etc/nginx/portcullis-signed.conf",
                        (signing == .bodies ? "" : "#") + "include \(directory.file("signed.conf"))"
                    ),
                    ("/etc/ssl/certs/ca-certificates.crt", certificates.serverCA),
                ])
            if signing == .bodies {
                _ = try directory.write(
                    signedPart(directory, certificates, apiPort: apiPort), to: "signed.conf")
            }
            _ = try directory.write("set $provider_key \"\(providerKey)\";\n", to: "provider-key.conf")
            _ = try directory.write(server, to: "portcullis.conf")
            let module = signing == .bodies ? "load_module \(try ServerProgram.nginxJavaScript);" : ""
            let configuration = try directory.write(module + Self.nginx(in: directory), to: "nginx.conf")
            child = try ChildProcess(program, ["-e", "stderr", "-p", directory.path, "-c", configuration])
        case .caddy:
            let site = try replace(
                in: example,
                [
                    (
                        "https://api.example.com {",
                        "{\n\tadmin off\n\tauto_https off\n}\nhttps://localhost:\(port) {\n"
                            + "\ttls \(certificates.server.certificate) \(certificates.server.key)"
                    ),
                    ("unix//run/portcullis/admin.sock", "unix/\(socketPath)"),
                    ("#import /etc/caddy/portcullis-gateway.caddy", "import \(gateway)"),
                    ("https://api.provider.example {", "https://localhost:\(apiPort) {"),
                ])
            let configuration = try directory.write(site, to: "Caddyfile")
            child = try ChildProcess(
                program, ["run", "--config", configuration, "--adapter", "caddyfile"],
                environment: ChildProcess.plainEnvironment.merging([
                    "HOME": directory.path, "PROVIDER_KEY": providerKey, "SSL_CERT_FILE": certificates.serverCA,
                ]) { $1 })
        }
        let proxy = FrontProxy(port: port, child: child, directory: directory, certificates: certificates)
        try await proxy.awaitListening()
        return proxy
    }

    package func connect() async throws -> RawConnection {
        try await RawConnection.open(
            port: port, host: "localhost", tls: TLSChoice(trustedCA: certificates.serverCA))
    }

    // MARK: Support

    private static func example(of kind: Kind) -> String {
        ServerProgram.repository + "/config/" + (kind == .nginx ? "nginx.conf.example" : "Caddyfile.example")
    }

    /// The example with the gateway's own paths, for one base URL; only a comment without a port (Caddy imports no
    /// empty file).
    private static func gatewayPart(of kind: Kind, _ port: Int?, _ signing: Signing) throws -> String {
        guard let port else { return "# None.\n" }
        let name = kind == .nginx ? "nginx-gateway.conf.example" : "Caddyfile-gateway.example"
        let example = try String(contentsOfFile: ServerProgram.repository + "/config/" + name, encoding: .utf8)
        let paths = signing == .off ? [] : [("#signed ", "")]
        return try replace(in: example, [("127.0.0.1:6200", "127.0.0.1:\(port)")] + paths)
    }

    /// The example that asks with bodies, and its script.
    private static func signedPart(
        _ directory: TemporaryDirectory, _ certificates: DevCertificates, apiPort: Int
    ) throws -> String {
        let folder = ServerProgram.repository + "/config/"
        let script = try directory.write(
            try String(contentsOfFile: folder + "nginx-signed.js.example", encoding: .utf8), to: "signed.js")
        return try replace(
            in: try String(contentsOfFile: folder + "nginx-signed.conf.example", encoding: .utf8),
            [
                ("js_import signed from /etc/nginx/portcullis-signed.js", "js_import signed from \(script)"),
                ("proxy_pass https://api.provider.example;", "proxy_pass https://127.0.0.1:\(apiPort);"),
                ("/etc/ssl/certs/ca-certificates.crt", certificates.serverCA),
            ])
    }

    /// Every text must be there: otherwise the example has changed, and this isn't a test of it.
    static func replace(in example: String, _ replacements: [(String, String)]) throws -> String {
        try replacements.reduce(example) { text, pair in
            guard text.contains(pair.0) else { throw EdgeTestError("the example has no \(pair.0)") }
            return text.replacingOccurrences(of: pair.0, with: pair.1)
        }
    }

    private static func nginx(in directory: TemporaryDirectory) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(directory.file($0));"
        }
        return """
            \(getuid() == 0 ? "user root;" : "")
            daemon off;
            worker_processes 1;
            pid \(directory.file("nginx.pid"));
            error_log stderr notice;
            events {}
            http {
                access_log off;
                \(temporary.joined(separator: "\n    "))
                include \(directory.file("portcullis.conf"));
            }

            """
    }

    /// Of the loopback interface. Nobody has it at this moment.
    package static func freePort() throws -> Int {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        guard isBound else { throw EdgeTestError("no free port") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// Both say so when they have begun to listen.
    private func awaitListening() async throws {
        try await child.output.wait(for: "the proxy's first log lines") { output in
            if output.ending != nil { throw EdgeTestError("the proxy did not start: \(output)") }
            let isReady = output.errorLines.contains {
                $0.contains("start worker process ") || $0.contains("serving initial configuration")
            }
            return isReady ? true : nil
        }
    }
}
