import EdgeTestKit
import Foundation

/// The web client's page: where its parts are, and what tests wait for.
enum WebPage {
    static let log = "document.getElementById('log')"
    static let line = "document.getElementById('line')"
    static let secret = "document.getElementById('secret')"
    static let status = "document.getElementById('status').textContent"
    /// The MUD suppresses echo, so what is typed is hidden.
    static let isHiding = "(\(line).hidden && !\(secret).hidden)"
    /// Of the pieces of text that aren't plain, as they are shown.
    static let colours = "[...\(log).querySelectorAll('span')].map(span => getComputedStyle(span).color).join('|')"
    /// Pixels of the log below what is seen of it.
    static let behind = "(\(log).scrollHeight - \(log).scrollTop - \(log).clientHeight)"

    static func gateway(
        _ targetPort: Int, in directory: TemporaryDirectory? = nil,
        _ change: (GatewaySettings) -> GatewaySettings = { $0 }
    ) async throws -> GatewayProcess {
        let settings = GatewaySettings(targetPort: targetPort).setting("ENABLE_WEB_CLIENT", "true")
        return try await GatewayProcess.start(change(settings), in: directory)
    }

    static func shown(_ text: String, on page: BrowserPage) async throws {
        try await page.wait(until: "\(log).textContent.includes(\(quoted(text)))")
    }

    static func connected(_ page: BrowserPage) async throws {
        try await page.wait(until: "\(status) === 'Connected'")
    }

    static func quoted(_ text: String) -> String {
        // A JSON string is a JavaScript string.
        String(decoding: (try? JSONEncoder().encode(text)) ?? Data("\"\"".utf8), as: UTF8.self)
    }

    /// A page that is connected to `target`, and the target's end of it.
    static func playing(
        _ target: TargetServer, at gateway: GatewayProcess
    ) async throws -> (page: BrowserPage, mud: TargetConnection) {
        let page = try await Chromium.start().page()
        try await page.open("http://127.0.0.1:\(gateway.port)/")
        try await connected(page)
        return (page, try await target.connection())
    }
}
