import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Players stay signed in on the page.
    @Suite(.enabled(if: Chromium.program != nil, "no Chromium is installed, so the page isn't tried in a browser"))
    struct WebClientRefreshTests {
        /// Seconds.
        private static let (minute, day) = (60, 86_400)

        /// A player who has signed in with a passkey, and hasn't it any more.
        private func signedIn(at house: PasskeyHouse, with browser: Chromium) async throws -> BrowserPage {
            let page = try await browser.page()
            let authenticator = try await page.addAuthenticator(.platform)
            try await house.signIn(on: page)
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

        /// Expired are the access token, and the ticket that the session was sent last.
        private static let asleep = """
            sessionStorage.setItem("signedIn", JSON.stringify({ token: "x", expires: 0 }));
            sessionStorage.setItem("next", JSON.stringify({ ticket: "x", expires: 0 }));
            """

        @Test func `a page that wakes comes back for its session with two round trips`() async throws {
            let house = try await PasskeyHouse()
            let page = try await signedIn(at: house, with: .start(trustsAnyCertificate: true))
            // The network is back, as far as the page knows.
            _ = try await page.text(
                """
                (() => {
                  \(Self.asleep)
                  performance.clearResourceTimings();
                  dispatchEvent(new Event("online"));
                  return "done";
                })()
                """)
            // Until then it shows itself connected, as it was.
            try await page.wait(until: "(\(Self.requests)).includes('/ticket')")
            try await WebPage.connected(page)
            #expect(try await page.text(Self.requests) == "/api/auth/token/validate /ticket")
            try await house.target.connection(1).send("You were away.")
            try await WebPage.shown("You were away.", on: page)
            #expect(house.target.connectionCount == 2)
            #expect(page.complaints == [])
        }

        @Test func `a visitor who isn't signed in causes no request for it`() async throws {
            let house = try await PasskeyHouse()
            let page = try await house.page()
            try await page.open(house.address)
            try await page.wait(until: "\(WebPage.status).includes('no admission') && \(PasskeyPanel.isOpen)")
            // The browser lists a request only when its body has come.
            try await page.wait(until: "(\(Self.requests)).includes('/health')")
            let requests = try await page.text(Self.requests).split(separator: " ")
            #expect(!requests.contains("/api/auth/token/validate") && !requests.contains("/ticket"))
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

        /// It is killed: what it keeps has left the process before it is used.
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
                  window.shown = [];
                  window.fetch = async (path, options) => {
                    const answer = await ask(path, options);
                    if (!String(path).endsWith("/token/validate")) return answer;
                    window.shown.push(JSON.parse(options.body).refreshToken);
                    if (window.shown.length === 1) throw new TypeError("lost");
                    return window.shown.length === 2 ? new Response('{"accessToken":"') : answer;
                  };
                  return "done";
                })()
                """)
            try await page.click("#passkeys summary")
            try await page.wait(until: "window.shown.length === 3 && \(PasskeyPanel.own).children.length === 1")
            #expect(try await page.text("String(new Set(window.shown).size)") == "1")
            try await wake(page)
            try await WebPage.connected(page)
            #expect(page.complaints == [])
        }

        /// What the gateway, a proxy or the network answers to a use of the token, and what the page says then.
        private static let failures = [
            ("{ status: 503, code: 'temporarily_unavailable' }", "The gateway refused this: temporarily_unavailable."),
            ("{ status: 429, code: 'rate_limited' }", "That was too often. Wait a minute, and try again."),
            ("{ status: 403, code: 'device_blocked' }", "This account is closed, or your network is blocked."),
            ("{ status: 401 }", "The gateway refused this: 401."), ("null", "The gateway does not answer."),
        ]

        @Test func `only a token that isn't good any more signs out`() async throws {
            let house = try await PasskeyHouse()
            let page = try await signedIn(at: house, with: .start(trustsAnyCertificate: true))
            _ = try await page.text(
                """
                (() => {
                  const ask = window.fetch.bind(window), panel = document.getElementById("passkeys");
                  window.fetch = async (path, options) => {
                    if (!String(path).endsWith("/token/validate")) return ask(path, options);
                    if (window.failure === null) throw new TypeError("offline");
                    const { status, code } = window.failure;
                    return new Response(JSON.stringify({ code }), { status });
                  };
                  window.fail = failure => {
                    \(Self.asleep)
                    document.getElementById("passkey-status").textContent = "";
                    window.failure = failure;
                    panel.open = false;
                    panel.open = true;
                  };
                  return "done";
                })()
                """)
            for (failure, said) in Self.failures {
                _ = try await page.text("(window.fail(\(failure)), 'done')")
                try await PasskeyPanel.says(said, on: page)
                #expect(try await page.text(PasskeyPanel.keeps) == "true", "\(failure)")
                #expect(try await page.text("String(\(PasskeyPanel.isHidden("sign-in")))") == "true", "\(failure)")
            }
            try await wake(page)
            try await WebPage.connected(page)
            #expect(page.complaints == [])
        }

        @Test func `where its sign-in has ended, the page says so, and offers another one`() async throws {
            let house = try await PasskeyHouse()
            let page = try await signedIn(at: house, with: .start(trustsAnyCertificate: true))
            try await house.operate("accounts", "sign-out", "--all")
            try await page.wait(until: "\(WebPage.status) === 'Disconnected: the sign-in or the ticket has ended.'")
            try await PasskeyPanel.says("Your sign-in has ended. Sign in again.", on: page)
            try await page.wait(until: "\(PasskeyPanel.isOpen) && !\(PasskeyPanel.isHidden("sign-in"))")
            #expect(try await page.text(PasskeyPanel.keeps) == "false")
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
                  if (!window.shown) {
                    const ask = window.fetch;
                    window.shown = [];
                    window.fetch = (path, options) => {
                      if (String(path).endsWith("/token/validate")) shown.push(JSON.parse(options.body).refreshToken);
                      return ask(path, options);
                    };
                  }
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
            // The gate repeats a successor, so without a lock both could show the same token unnoticed.
            var shown: [[Substring]] = []
            for page in [first, second] { shown.append(try await page.text("shown.join(' ')").split(separator: " ")) }
            #expect(shown.allSatisfy { $0.count >= 4 } && Set(shown.joined()).count == shown.joined().count)
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
            #expect(try await page.text(PasskeyPanel.keeps) == "false")
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
            // The 30 days begin with each use. The test has ten minutes.
            var now = 0
            for _ in 1...2 {
                now += 30 * Self.day - 10 * Self.minute
                try clock.step(to: now)
                try await wake(page)
                try await WebPage.connected(page)
            }
            try clock.step(to: now + 30 * Self.day + Self.minute)
            try await wake(page)
            try await PasskeyPanel.says("Your sign-in has ended. Sign in again.", on: page)
            try await page.wait(until: "!\(PasskeyPanel.isHidden("sign-in"))")
            #expect(page.complaints == [])
            withExtendedLifetime(later) {}
        }
    }
}
