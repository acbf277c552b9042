import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Players stay signed in on the page.
    @Suite struct WebClientRefreshTests {
        private static let day = 86_400

        /// A player who has signed in with a passkey, and hasn't it any more.
        private func signedIn(at house: PasskeyHouse, with browser: Chromium) async throws -> BrowserPage {
            let page = try await browser.page()
            let authenticator = try await page.addAuthenticator(.platform)
            try await house.play(on: page)
            try await PasskeyPanel.makePasskey(on: page)
            try await house.comeBack(on: page)
            try await WebPage.connected(page)
            try await page.remove(authenticator)
            return page
        }

        /// Opens the page again with nothing but what the browser keeps: the tab's own is cleared when nothing else can
        /// come in between.
        private func wake(_ page: BrowserPage) async throws {
            _ = try await page.text("addEventListener('pagehide', () => sessionStorage.clear()), 'done'")
            try await page.reload()
        }

        /// What the page has asked for since it was loaded, in order.
        private static let requests = """
            performance.getEntriesByType("resource").map(entry => new URL(entry.name).pathname)
              .filter(path => path.startsWith("/api/") || path === "/ticket" || path === "/health").join(" ")
            """

        @Test func `a reload needs two round trips and no passkey`() async throws {
            let house = try await PasskeyHouse()
            let page = try await signedIn(at: house, with: .start(trustsAnyCertificate: true))
            for _ in 1...2 {
                try await wake(page)
                try await WebPage.connected(page)
                #expect(try await page.text(Self.requests) == "/api/auth/token/validate /ticket")
            }
            #expect(page.complaints == [])
        }

        @Test func `a visitor who isn't signed in causes no request for it`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            try await page.open(house.address)
            try await page.wait(until: "\(WebPage.status).includes('no admission') && \(PasskeyPanel.isOpen)")
            let requests = try await page.text(Self.requests).split(separator: " ")
            #expect(!requests.contains("/api/auth/token/validate") && !requests.contains("/ticket"))
            #expect(requests.first == "/health")
            #expect(page.complaints == [])
        }

        @Test func `a restart of the gateway needs no passkey`() async throws {
            let house = try await PasskeyHouse()
            let page = try await signedIn(at: house, with: .start(trustsAnyCertificate: true))
            try await house.gateway.killNow()
            let restarted = try await GatewayProcess.start(house.gateway.settings, in: house.gateway.directory)
            try await wake(page)
            try await WebPage.connected(page)
            #expect(page.complaints == [])
            withExtendedLifetime(restarted) {}
        }

        /// It is killed: what it keeps is on the disk before it is used.
        @Test func `a restart of the browser with its profile needs no passkey`() async throws {
            let house = try await PasskeyHouse()
            let browser = try await Chromium.start(trustsAnyCertificate: true)
            _ = try await signedIn(at: house, with: browser)
            try await browser.killNow()
            let page = try await Chromium.start(trustsAnyCertificate: true, after: browser).page()
            try await page.open(house.address)
            try await WebPage.connected(page)
            #expect(page.complaints == [])
        }

        /// The gateway has used the token up; the page never saw the answer.
        @Test func `a page that has lost an answer goes on`() async throws {
            let house = try await PasskeyHouse()
            let page = try await signedIn(at: house, with: .start(trustsAnyCertificate: true))
            _ = try await page.text(
                """
                (() => {
                  const ask = window.fetch.bind(window);
                  sessionStorage.removeItem("signedIn");
                  window.lost = 0;
                  window.fetch = async (path, options) => {
                    const answer = await ask(path, options);
                    if (!String(path).endsWith("/token/validate") || window.lost === 2) return answer;
                    window.lost++;
                    throw new TypeError("lost");
                  };
                  return "done";
                })()
                """)
            try await page.click("#passkeys summary")
            try await page.wait(until: "window.lost === 2 && \(PasskeyPanel.own).children.length === 1")
            try await wake(page)
            try await WebPage.connected(page)
            #expect(page.complaints == [])
        }

        @Test func `tabs that wake at once don't end the sign-in, and a sign-out is one of all`() async throws {
            let house = try await PasskeyHouse()
            let browser = try await Chromium.start(trustsAnyCertificate: true)
            let first = try await signedIn(at: house, with: browser)
            let second = try await browser.newPage()
            try await second.open(house.address)
            try await WebPage.connected(second)
            // Each drops its access token, and opens its panel, which needs one.
            let wake = """
                (() => {
                  const panel = document.getElementById("passkeys");
                  panel.open = false;
                  window.wake = () => { sessionStorage.removeItem("signedIn"); panel.open = true; };
                  window.signal ??= new BroadcastChannel("test");
                  window.signal.onmessage = window.wake;
                  return "done";
                })()
                """
            for _ in 1...4 {
                for page in [first, second] {
                    _ = try await page.text(wake)
                }
                _ = try await first.text("(window.signal.postMessage('wake'), window.wake(), 'done')")
                for page in [first, second] {
                    try await page.wait(until: "document.getElementById('passkeys').open && \(PasskeyPanel.isSignedIn)")
                }
            }
            try await first.wait(until: "!\(PasskeyPanel.isHidden("sign-out"))")
            try await first.click("#sign-out")
            try await PasskeyPanel.says("You are signed out.", on: second)
            #expect(first.complaints == [] && second.complaints == [])
        }

        @Test(arguments: ["sign-out", "sign-out-everywhere"])
        func `a sign-out ends the session and the sign-in`(button: String) async throws {
            let house = try await PasskeyHouse()
            let page = try await signedIn(at: house, with: .start(trustsAnyCertificate: true))
            try await page.click("#passkeys summary")
            try await page.wait(until: "!\(PasskeyPanel.isHidden(button))")
            try await page.click("#\(button)")
            try await page.wait(until: "\(PasskeyPanel.status).startsWith('You are signed out in ')")
            try await page.wait(until: "\(WebPage.status).includes('Disconnected')")
            try await wake(page)
            try await page.wait(until: "\(WebPage.status).includes('no admission') && \(PasskeyPanel.isOpen)")
            #expect(try await page.text("String(\(PasskeyPanel.isHidden("sign-in")))") == "false")
            #expect(page.complaints == [])
        }

        @Test(.enabled(if: SteppedClock.isAvailable, "needs a C compiler, and a gateway without a sanitizer"))
        func `a player stays signed in for 30 days after each use, and no longer`() async throws {
            let house = try await PasskeyHouse()
            let page = try await signedIn(at: house, with: .start(trustsAnyCertificate: true))
            try await house.gateway.killNow()
            let clock = try await SteppedClock()
            let later = try await GatewayProcess.start(
                house.gateway.settings, in: house.gateway.directory, clock: clock)
            for days in [29, 58] {
                try clock.step(to: days * Self.day)
                try await wake(page)
                try await WebPage.connected(page)
            }
            try clock.step(to: (58 + 30) * Self.day + 3_600)
            try await wake(page)
            try await PasskeyPanel.says("Your sign-in has ended. Sign in again.", on: page)
            try await page.wait(until: "!\(PasskeyPanel.isHidden("sign-in"))")
            #expect(page.complaints == [])
            withExtendedLifetime(later) {}
        }
    }
}
