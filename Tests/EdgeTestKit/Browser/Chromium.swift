import Foundation

/// The machine's Chromium, headless, with a temporary profile of its own.
package final class Chromium: Sendable {
    private static let names = ["chromium", "chromium-browser", "google-chrome"]

    private let child: ChildProcess
    private let directory: TemporaryDirectory
    private let port: Int

    private init(child: ChildProcess, directory: TemporaryDirectory, port: Int) {
        self.child = child
        self.directory = directory
        self.port = port
    }

    deinit {
        child.signal(SIGKILL)
    }

    package static var program: String? {
        names.lazy.compactMap { try? ChildProcess.executable($0) }.first
    }

    /// - Parameter trustsAnyCertificate: accepts every certificate, including the test CA's, which no browser trusts.
    /// - Parameter earlier: a browser that has ended, whose profile this one goes on with.
    package static func start(
        trustsAnyCertificate: Bool = false, after earlier: Chromium? = nil
    ) async throws -> Chromium {
        guard let program else { throw EdgeTestError("no Chromium is installed") }
        let directory = try earlier?.directory ?? TemporaryDirectory()
        var arguments = [
            // Chromium's own sandbox needs privileges that root in a container doesn't have; the pages are our own.
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--window-size=1000,640",
            "--user-data-dir=\(directory.file("profile"))", "--remote-debugging-port=0",
        ]
        if trustsAnyCertificate { arguments.append("--ignore-certificate-errors") }
        var environment = ChildProcess.plainEnvironment
        environment["HOME"] = directory.path
        let child = try ChildProcess(
            program, arguments + ["about:blank"], environment: environment, directory: directory.path)
        do {
            let port = try await child.output.wait(for: "Chromium's port", within: .seconds(60)) { output in
                if output.ending != nil { throw EdgeTestError("Chromium did not start: \(output)") }
                return debuggingPort(output.errorLines)
            }
            return Chromium(child: child, directory: directory, port: port)
        } catch {
            child.signal(SIGKILL)
            throw error
        }
    }

    /// Kills its main process; the others follow.
    package func killNow() async throws {
        child.signal(SIGKILL)
        try await child.ended()
    }

    /// `DevTools listening on ws://127.0.0.1:PORT/devtools/browser/…`
    private static func debuggingPort(_ lines: [String]) -> Int? {
        let prefix = "DevTools listening on ws://127.0.0.1:"
        return lines.first { $0.hasPrefix(prefix) }.flatMap { Int($0.dropFirst(prefix.count).prefix { $0.isNumber }) }
    }

    /// The page that the browser started with.
    package func page() async throws -> BrowserPage {
        let connection = try await RawConnection.open(port: port)
        try await connection.send("GET /json/list HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let targets = try JSONSerialization.jsonObject(with: Data(try await connection.answer().body))
        guard let page = (targets as? [[String: Any]])?.first(where: { $0["type"] as? String == "page" }) else {
            throw EdgeTestError("no page among \(targets)")
        }
        return try await attach(page)
    }

    /// A further tab.
    package func newPage() async throws -> BrowserPage {
        let connection = try await RawConnection.open(port: port)
        try await connection.send("PUT /json/new?about:blank HTTP/1.1\r\nHost: localhost\r\n\r\n")
        let target = try JSONSerialization.jsonObject(with: Data(try await connection.answer().body))
        guard let page = target as? [String: Any] else { throw EdgeTestError("no tab: \(target)") }
        return try await attach(page)
    }

    private func attach(_ page: [String: Any]) async throws -> BrowserPage {
        guard let address = (page["webSocketDebuggerUrl"] as? String).flatMap(URL.init(string:)) else {
            throw EdgeTestError("no debugger of \(page)")
        }
        let handshake = Handshake().path(address.path)
        guard case .open(let socket) = try await TestWebSocket.attempt(handshake, on: .open(port: port)) else {
            throw EdgeTestError("Chromium refused a debugger")
        }
        return try await BrowserPage(DevTools(socket), of: self)
    }
}
