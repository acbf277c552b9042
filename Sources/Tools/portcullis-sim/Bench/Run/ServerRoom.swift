import Foundation

/// Starts the measured servers, each pinned to the measured core and listening on 127.0.0.1 with the same certificate.
struct ServerRoom {
    let settings: BenchSettings
    /// The echo target behind all servers.
    let target: Server

    init(_ settings: BenchSettings, targetThreads: Int = 1, targetCores: [Int]? = nil) throws {
        self.settings = settings
        let port = try LoopbackPort.free()
        target = try Server(
            "echo-\(port)", program: settings.tool,
            arguments: ["echo", "--port", "\(port)", "--threads", "\(targetThreads)"],
            port: port, cores: targetCores ?? settings.loadCore, folder: settings.folder)
    }

    func gateway(
        _ kind: GatewayInstance.Kind, program: String? = nil, reactors: Int = 1, cores: [Int]? = nil,
        extra: [String: String] = [:]
    ) throws -> Server {
        let port = try LoopbackPort.free()
        let program = program ?? settings.gateway
        let former = program == settings.earlier ? try Self.formerSettings(of: program) : [:]
        let environment = GatewayInstance(kind: kind, reactors: reactors)
            .environment(settings, port: port, targetPort: target.port).merging(former) { $1 }.merging(extra) { $1 }
        return try Server(
            "\(kind.rawValue)-\(port)", program: program, arguments: ["serve"],
            environment: environment,
            port: port, cores: cores ?? settings.measuredCore, folder: settings.folder)
    }

    /// Those of ``GatewayInstance/former`` that the program lists: another one refuses to start with them.
    private static func formerSettings(of program: String) throws -> [String: String] {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["settings"]
        process.standardOutput = output
        try process.run()
        let listed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return GatewayInstance.former.filter { listed.contains("`\($0.key)`") || listed.contains("#\($0.key)=") }
    }

    /// - Parameter extra: additional environment variables.
    func server(for subject: Subject, extra: [String: String] = [:]) throws -> Server {
        switch subject {
        case .portcullis: return try gateway(.open, extra: extra)
        case .portcullisTyped: return try gateway(.limited, extra: extra)
        case .earlier: return try gateway(.open, program: settings.earlier, extra: extra)
        case .floor, .floorAtOnce:
            return try peer(subject, settings.floor, extra: extra) {
                ["\($0)", "\(target.port)", certificate, key] + (subject == .floorAtOnce ? ["at-once"] : [])
            }
        case .haproxy:
            return try peer(subject, settings.peers[subject]) { port in
                let path = "\(settings.folder)/haproxy-\(port).cfg"
                try haproxyConfiguration(port).write(toFile: path, atomically: true, encoding: .utf8)
                return ["-db", "-f", path]
            }
        case .websocat:
            return try peer(subject, settings.peers[subject]) { port in
                [
                    "--binary", "--exit-on-eof", "--pkcs12-der", "\(settings.folder)/server.p12",
                    "--pkcs12-passwd",
                    "bench", "--server-protocol", "binary", "wss-listen:127.0.0.1:\(port)",
                    "tcp:127.0.0.1:\(target.port)",
                ]
            }
        case .websockify:
            return try peer(subject, settings.peers[subject]) { port in
                [
                    "--cert", certificate, "--key", key, "--ssl-only", "127.0.0.1:\(port)", "127.0.0.1:\(target.port)",
                ]
            }
        }
    }

    private var certificate: String { "\(settings.certificates)/server.crt" }
    private var key: String { "\(settings.certificates)/server.key" }

    private func peer(
        _ subject: Subject, _ program: String?, extra: [String: String] = [:], arguments: (UInt16) throws -> [String]
    ) throws -> Server {
        guard let program else { throw SimOutput.failure("\(subject.rawValue) is not here.") }
        let port = try LoopbackPort.free()
        return try Server(
            "\(subject.rawValue)-\(port)", program: program, arguments: try arguments(port), environment: extra,
            port: port, cores: settings.measuredCore, folder: settings.folder)
    }

    private func haproxyConfiguration(_ port: UInt16) -> String {
        """
        global
            nbthread 1
            maxconn 9500
        defaults
            mode tcp
            timeout connect 5s
            timeout client 1h
            timeout server 1h
        frontend tls
            bind 127.0.0.1:\(port) ssl crt \(settings.folder)/server.pem
            default_backend target
        backend target
            server echo 127.0.0.1:\(target.port)

        """
    }
}
