import Foundation

/// The real Prometheus, which scrapes one gateway and evaluates the alerts that the project ships. Scrapes, evaluations
/// and the times of the rules are shortened, so that a test needn't wait for minutes.
package final class PrometheusProcess: Sendable {
    private let port: Int
    private let child: ChildProcess
    private let directory: TemporaryDirectory

    private init(port: Int, child: ChildProcess, directory: TemporaryDirectory) {
        self.port = port
        self.child = child
        self.directory = directory
    }

    deinit { child.signal(SIGKILL) }

    /// - Parameters:
    ///   - target: the internal listener's port.
    ///   - token: `ADMIN_TOKEN_PATH`; nil shows none.
    ///   - tls: the authority that it trusts and the certificate that it presents; nil scrapes without TLS.
    package static func start(
        scraping target: Int, token: String?, tls: TLSChoice? = nil
    ) async throws -> PrometheusProcess {
        let directory = try TemporaryDirectory()
        try directory.write(quickened(try String(contentsOfFile: alertsPath, encoding: .utf8)), to: "alerts.yml")
        try directory.write(configuration(target, token, tls, in: directory), to: "prometheus.yml")
        _ = try await ChildProcess.check(
            ServerProgram.path("promtool"), ["check", "config", directory.file("prometheus.yml")])
        let port = try FrontProxy.freePort()
        let child = try ChildProcess(
            ServerProgram.path("prometheus"),
            [
                "--config.file=\(directory.file("prometheus.yml"))", "--storage.tsdb.path=\(directory.file("data"))",
                "--web.listen-address=127.0.0.1:\(port)",
            ], directory: directory.path)
        let prometheus = PrometheusProcess(port: port, child: child, directory: directory)
        try await child.output.wait(for: "Prometheus", within: .seconds(60)) { output in
            if output.ending != nil { throw EdgeTestError("Prometheus did not start: \(output)") }
            return output.errorText.contains("Server is ready to receive web requests") ? true : nil
        }
        return prometheus
    }

    package static var alertsPath: String { ServerProgram.repository + "/config/prometheus-alerts.yml" }

    /// Rates over ten seconds instead of minutes, and no time for which a condition has to hold.
    private static func quickened(_ rules: String) -> String {
        rules.replacing(/\[\d+m\]/, with: "[10s]").replacing(/for: \w+/, with: "for: 0s")
    }

    private static func configuration(
        _ target: Int, _ token: String?, _ tls: TLSChoice?, in directory: TemporaryDirectory
    ) -> String {
        let authorization = token.map { "    authorization: {credentials: \($0)}\n" } ?? ""
        var secured = ""
        if let tls, let identity = tls.identity, let authority = tls.trustedCA {
            secured = """
                    scheme: https
                    tls_config: {ca_file: \(authority), cert_file: \(identity.certificate), key_file: \(identity.key)}

                """
        }
        return """
            global: {scrape_interval: 250ms, scrape_timeout: 200ms, evaluation_interval: 250ms}
            rule_files: [\(directory.file("alerts.yml"))]
            scrape_configs:
              - job_name: portcullis
                static_configs: [{targets: ["127.0.0.1:\(target)"]}]
            \(authorization)\(secured)
            """
    }

    /// The names of all alerts that are firing.
    package func firing() async throws -> Set<String> {
        struct Answer: Decodable {
            struct Alerts: Decodable { let alerts: [Alert] }
            struct Alert: Decodable {
                let labels: [String: String]
                let state: String
            }
            let data: Alerts
        }
        let answer = try JSONDecoder().decode(Answer.self, from: Data(try await get("/api/v1/alerts").body))
        return Set(answer.data.alerts.filter { $0.state == "firing" }.compactMap { $0.labels["alertname"] })
    }

    /// Asks until the alert is in this state, and meanwhile keeps the fault up.
    package func wait(
        until alert: String, isFiring: Bool = true, within limit: Duration = .seconds(60),
        _ fault: () async throws -> Void = {}
    ) async throws {
        do {
            try await Poll.untilTrue("\(isFiring ? "" : "the end of ")\(alert)", within: limit) {
                try await fault()
                return try await firing().contains(alert) == isFiring
            }
        } catch {
            let firing = try await firing().sorted()
            throw EdgeTestError("\(error); firing: \(firing). \(try await get("/api/v1/targets").text)")
        }
    }

    /// The current value of an expression; nil if there is none.
    package func value(of expression: String) async throws -> Double? {
        struct Answer: Decodable {
            struct Result: Decodable { let result: [Sample] }
            struct Sample: Decodable { let value: [Value] }
            enum Value: Decodable {
                case time, text(String)
                init(from decoder: any Decoder) throws {
                    let container = try decoder.singleValueContainer()
                    self = (try? container.decode(String.self)).map { .text($0) } ?? .time
                }
            }
            let data: Result
        }
        let query = expression.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let answer = try await get("/api/v1/query?query=\(query)")
        let sample = try JSONDecoder().decode(Answer.self, from: Data(answer.body)).data.result.first
        guard case .text(let text) = sample?.value.last else { return nil }
        return Double(text)
    }

    private func get(_ path: String) async throws -> ReceivedAnswer {
        let connection = try await RawConnection.open(port: port)
        try await connection.send("GET \(path) HTTP/1.0\r\nHost: localhost\r\n\r\n")
        let answer = try await connection.lastAnswer()
        guard answer.status == 200 else { throw EdgeTestError("\(path): \(answer)") }
        return answer
    }
}

/// Programs of Debian packages that aren't installed as services.
package enum ServerProgram {
    /// Installed, or unpacked by `scripts/test`.
    package static func path(_ name: String) throws -> String {
        let folders =
            (ChildProcess.plainEnvironment["PATH"] ?? "").split(separator: ":").map(String.init)
            + ["/usr/sbin", repository + "/.build/servers/usr/sbin", repository + "/.build/servers/usr/bin"]
        guard let path = folders.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile(atPath:))
        else { throw EdgeTestError("\(name) isn't there: scripts/test gets it") }
        return path
    }

    /// nginx's JavaScript module: installed, or unpacked by `scripts/test`.
    package static var nginxJavaScript: String {
        get throws {
            let name = "/usr/lib/nginx/modules/ngx_http_js_module.so"
            let places = [name, repository + "/.build/servers" + name]
            guard let path = places.first(where: FileManager.default.fileExists(atPath:)) else {
                throw EdgeTestError("nginx's JavaScript module isn't there: scripts/test gets it")
            }
            return path
        }
    }

    package static var repository: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().path
    }
}
