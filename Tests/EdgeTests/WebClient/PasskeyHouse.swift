import EdgeTestKit
import Foundation

/// A gateway with accounts whose page is at `https://localhost`, and the target behind it. Only tickets and passkeys
/// admit.
struct PasskeyHouse: Sendable {
    let target: TargetServer
    let gateway: GatewayProcess
    let address: String
    private let sockets: TemporaryDirectory

    init(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws {
        let (certificates, sockets) = (try await DevCertificates.shared(), try TemporaryDirectory())
        let (target, port) = (try await TargetServer.start(), try FrontProxy.freePort())
        address = "https://localhost:\(port)/"
        gateway = try await WebPage.gateway(target.port) {
            change(
                $0.tls(certificates).setting("REQUIRE_APP_AUTH", "true").setting("WS_PORT", port)
                    .setting("PUBLIC_ORIGIN", "https://localhost:\(port)").setting("PASSKEY_RP_ID", "localhost")
                    .setting("CONTROL_SOCKET_PATH", sockets.file("control.sock")))
        }
        (self.target, self.sockets) = (target, sockets)
    }

    /// One of the operator's.
    func ticket() async throws -> String {
        let output = try await GatewayProcess.run(["ticket", "--socket", sockets.file("control.sock")])
        guard let ticket = output.outputLines.first else { throw EdgeTestError("no ticket: \(output)") }
        return ticket
    }

    /// A command at the gateway's store.
    func operate(_ arguments: String...) async throws {
        let output = try await GatewayProcess.run(arguments, gateway.settings)
        guard output.ending == .exited(0) else { throw EdgeTestError("\(arguments): \(output)") }
    }

    func page() async throws -> BrowserPage {
        try await Chromium.start(trustsAnyCertificate: true).page()
    }

    /// A page that plays with a ticket, and has been sent the next one.
    ///
    /// - Parameter ticket: nil: one of the operator's.
    func play(on page: BrowserPage, _ ticket: String? = nil) async throws {
        let own = if let ticket { ticket } else { try await self.ticket() }
        try await page.open(address + "#ticket=" + own)
        try await WebPage.connected(page)
        try await page.wait(until: "sessionStorage.getItem('next') !== null")
    }

    /// Opens the page again as a visitor who has nothing but passkeys.
    func comeBack(on page: BrowserPage) async throws {
        _ = try await page.text(PasskeyPanel.forgetting)
        try await page.reload()
    }

    /// The player of a page makes a passkey with its authenticator, and comes back with it.
    func signIn(on page: BrowserPage, ticket: String? = nil) async throws {
        try await play(on: page, ticket)
        try await PasskeyPanel.makePasskey(on: page)
        try await comeBack(on: page)
        try await WebPage.connected(page)
    }
}

/// The part of the page that signs players in.
enum PasskeyPanel {
    static let status = "document.getElementById('passkey-status').textContent"
    static let isOpen = "document.getElementById('passkeys').open"
    static let own = "document.getElementById('own-passkeys')"
    static let isSignedIn = "sessionStorage.getItem('signedIn') !== null"

    static func isHidden(_ id: String) -> String { "document.getElementById('\(id)').hidden" }

    static func says(_ text: String, on page: BrowserPage) async throws {
        try await page.wait(until: "\(status) === \(WebPage.quoted(text))")
    }

    /// Signs out without the gateway's knowing it. The key stays. What still comes before the page is left isn't kept.
    static let forgetting = """
        new Promise(resolve => {
          addEventListener("pagehide", () => sessionStorage.clear());
          const opening = indexedDB.open("portcullis", 1);
          opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
          opening.onsuccess = () => {
            const change = opening.result.transaction("keys", "readwrite");
            change.objectStore("keys").delete("refresh");
            change.oncomplete = () => { opening.result.close(); resolve("done"); };
          };
        })
        """

    /// Whether the browser has a refresh token.
    static let keeps = """
        new Promise(resolve => {
          const opening = indexedDB.open("portcullis", 1);
          opening.onsuccess = () => {
            const asked = opening.result.transaction("keys").objectStore("keys").get("refresh");
            asked.onsuccess = () => { opening.result.close(); resolve(String(asked.result !== undefined)); };
          };
        })
        """

    static let made = "The passkey is made. From now on you can sign in with it, here and on your other devices."

    static func makePasskey(on page: BrowserPage) async throws {
        try await page.click("#make-passkey")
        try await says(made, on: page)
    }

    /// - Parameter name: as the list begins with it.
    static func remove(_ name: String, on page: BrowserPage) async throws {
        let entry = "[...\(own).children].find(item => item.textContent.startsWith(\(WebPage.quoted(name))))"
        _ = try await page.text("\(entry).querySelector('button').click(), 'done'")
    }

    /// Stops each further call of a function of `navigator.credentials` until ``goOn(on:)``, so that a test can change
    /// the authenticators in between.
    static func stop(_ name: String, on page: BrowserPage) async throws {
        _ = try await page.text(
            """
            (() => {
              const call = navigator.credentials.\(name).bind(navigator.credentials);
              navigator.credentials.\(name) = async options => {
                await new Promise(go => { window.goOn = go; });
                return call(options);
              };
              return "done";
            })()
            """)
    }

    static func goOn(on page: BrowserPage) async throws {
        _ = try await page.text("(window.goOn(), window.goOn = null, 'done')")
    }

    static func stopped(on page: BrowserPage) async throws { try await page.wait(until: "Boolean(window.goOn)") }
}
