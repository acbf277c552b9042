import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The gateway's own page in a real browser: `GET /`, the typed dialect, tickets.
    ///
    /// With `PORTCULLIS_SCREENSHOT` the first test writes a picture of the page there.
    @Suite(.enabled(if: Chromium.program != nil, "no Chromium is installed, so the page isn't tried in a browser"))
    struct WebClientTests {
        private static let log = "document.getElementById('log')"
        private static let line = "document.getElementById('line')"
        private static let status = "document.getElementById('status').textContent"

        private func gateway(
            _ targetPort: Int, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> GatewayProcess {
            let settings = GatewaySettings(targetPort: targetPort).setting("ENABLE_WEB_CLIENT", "true")
            return try await GatewayProcess.start(change(settings))
        }

        private func shown(_ text: String, on page: BrowserPage) async throws {
            try await page.wait(until: "\(Self.log).textContent.includes(\(quoted(text)))")
        }

        private func connected(_ page: BrowserPage) async throws {
            try await page.wait(until: "\(Self.status) === 'Connected'")
        }

        private func quoted(_ text: String) -> String {
            // A JSON string is a JavaScript string.
            String(decoding: (try? JSONEncoder().encode(text)) ?? Data("\"\"".utf8), as: UTF8.self)
        }

        @Test func `the demo MUD can be played in the browser`() async throws {
            let mud = try await DemoMudProcess.start()
            let gateway = try await gateway(mud.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await connected(page)

            // Colours: the title is bold and cyan.
            try await shown("Portcullis demo MUD", on: page)
            let title = "[...\(Self.log).querySelectorAll('span')].find(s => s.textContent === 'Portcullis demo MUD')"
            #expect(try await page.text("\(title).style.color") == "var(--c14)")
            #expect(try await page.text("\(title).style.fontWeight") == "bold")

            // Typed text is visible; a password isn't, and isn't kept.
            try await shown("By what name are you known?", on: page)
            try await page.submit("Anna")
            try await shown("known? Anna", on: page)
            try await page.wait(until: "\(Self.line).type === 'password'")
            try await page.submit("drawbridge")
            try await shown("Welcome, Anna", on: page)
            try await page.wait(until: "\(Self.line).type === 'text'")
            #expect(try await page.text("document.documentElement.innerHTML").contains("drawbridge") == false)
            try await page.press(.up)
            #expect(try await page.text("\(Self.line).value") == "Anna")
            try await page.press(.down)
            #expect(try await page.text("\(Self.line).value") == "")

            // GMCP: the last value of each package.
            let values = "document.getElementById('values').textContent"
            try await page.wait(until: "\(values).includes('The Gatehouse')")
            try await page.submit("north")
            try await page.wait(until: "\(values).includes('The Courtyard') && !\(values).includes('The Gatehouse')")
            #expect(try await page.text(values).contains("\"mv\": 19"))

            try await page.submit("say <b>Is anybody here?</b> ✓")
            try await shown("You say, “<b>Is anybody here?</b> ✓”", on: page)
            try await takePicture(of: page)
            #expect(page.complaints == [])
        }

        private func takePicture(of page: BrowserPage) async throws {
            guard let path = ProcessInfo.processInfo.environment["PORTCULLIS_SCREENSHOT"], !path.isEmpty else { return }
            try await page.preferDark()
            let sent = page.sentMessages.count
            try await page.resize(width: 1000, height: 640)
            _ = try await page.sentMessage(containing: "naws", after: sent)
            for (line, answer) in [("look", "Cobblestones"), ("east", "The Well Garden"), ("who", "Anna, in")] {
                try await page.submit(line)
                try await shown(answer, on: page)
            }
            try await page.saveScreenshot(to: path)
        }

        @Test func `the MUD gets the window size and its changes`() async throws {
            let mud = try await DemoMudProcess.start()
            let gateway = try await gateway(mud.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await connected(page)
            let first = try size(in: try await page.sentMessage(containing: "connect"))
            try await shown("By what name are you known?", on: page)
            try await page.submit("Bert")
            try await page.wait(until: "\(Self.line).type === 'password'")
            try await page.submit("sesame")
            try await shown("Welcome, Bert", on: page)
            let opened = try size(in: try await page.sentMessage(containing: "naws"))
            #expect(opened.columns < first.columns, "the GMCP panel has opened beside the log")

            let sent = page.sentMessages.count
            try await page.resize(width: 1200, height: 900)
            let second = try size(in: try await page.sentMessage(containing: "naws", after: sent))
            #expect(second.columns > opened.columns && second.rows > opened.rows)
            let cell = try await page.number("document.getElementById('ruler').getBoundingClientRect().width / 10")
            let width = try await page.number("\(Self.log).clientWidth")
            #expect(Double(second.columns) * cell <= width && Double(second.columns + 4) * cell > width)
            try await page.submit("who")
            try await shown("\(second.columns)×\(second.rows)", on: page)
            #expect(page.complaints == [])
        }

        /// `width` and `height` of one of the page's messages.
        private func size(in message: String) throws -> (columns: Int, rows: Int) {
            let fields = try JSONSerialization.jsonObject(with: Data(message.utf8)) as? [String: Any]
            return (
                columns: try #require(fields?["width"] as? Int), rows: try #require(fields?["height"] as? Int)
            )
        }

        /// Split sequences and characters, and markup in every place where the page shows the target's output.
        @Test func `output of the target is shown and never interpreted`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await gateway(target.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            let mud = try await target.connection()
            // IAC WILL GMCP
            try await mud.send([255, 251, 201])
            try await connected(page)
            let room =
                #"Room.<i>Info</i> {"name":"<img src=x onerror=alert(1)>","exits":["</pre><script>alert(2)</script>"]}"#
            try await mud.send([255, 250, 201] + Array(room.utf8) + [255, 240])
            let markup = "<img src=x onerror=\"alert(3)\"><script>alert(4)</script>"
            for byte in Array("\u{1B}[1;31m\(markup)\u{1B}[38;5;208mé🏰\u{1B}[0m\u{1B}]0;a title\u{7} end\r\n".utf8) {
                try await mud.send([byte])
            }
            try await shown("\(markup)é🏰 end", on: page)
            try await page.wait(until: "document.getElementById('values').textContent.includes('<img src=x')")
            #expect(
                try await page.number("document.querySelectorAll('img, i, b, script:not([type=module])').length") == 0)
            let colours = "[...\(Self.log).querySelectorAll('span')].map(span => span.style.color).join('|')"
            #expect(try await page.text(colours) == "var(--c9)|rgb(255, 135, 0)|")
            #expect(try await page.text("document.title") == "Portcullis")
            #expect(page.complaints == [])
        }

        @Test func `a ticket admits once and the next one keeps the tab connected`() async throws {
            let mud = try await DemoMudProcess.start()
            let apple = try SimulatedApple()
            let certificates = try await DevCertificates.shared()
            let gateway = try await gateway(mud.port) { $0.appAttest(apple).tls(certificates) }
            let address = "https://localhost:\(gateway.port)/"
            let device = try await apple.enrolledDevice(at: gateway)
            let ticket = try #require(try await gateway.ticket(for: device))

            let page = try await Chromium.start(trustsAnyCertificate: true).page()
            try await page.open(address + "#ticket=" + ticket)
            try await connected(page)
            #expect(try await page.text("location.href") == address, "no ticket stays in the address bar")
            try await shown("By what name are you known?", on: page)

            try await page.reload()
            try await connected(page)
            try await shown("By what name are you known?", on: page)
            try await page.submit("quit!")
            try await shown("A name has 2 to", on: page)

            // The first ticket is spent, and a new tab has no other.
            let stranger = try await Chromium.start(trustsAnyCertificate: true).page()
            try await stranger.open(address + "#ticket=" + ticket)
            try await stranger.wait(until: "\(Self.status).includes('no admission')")
            #expect(page.complaints == [])
        }

        /// The page names no host and selects its dialect itself: neither the targets nor the default dialect matter to it.
        @Test func `the page connects whatever the default dialect and the targets are`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await gateway(target.port) {
                $0.setting("DEFAULT_DIALECT", "raw").setting("TARGET_MODE", "allowlist")
                    .setting("TARGET_ALLOWLIST", "a.example:1")
            }
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await connected(page)
            try await target.connection().send("Who goes there?")
            try await shown("Who goes there?", on: page)
            #expect(target.connectionCount == 1)
            #expect(page.complaints == [])
        }

        @Test func `the session continues after a lost connection`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await gateway(target.port) { $0.setting("OUTPUT_BUFFER_BYTES", 1024) }
            let relay = try await BreakableRelay.start(to: gateway.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(relay.port)/")
            try await connected(page)
            let mud = try await target.connection()
            // A password is requested, and the colour is red: both states must be the same afterwards.
            try await mud.send(Array("before \u{1B}[31mred".utf8) + [255, 251, 1])
            try await shown("before red", on: page)
            try await page.wait(until: "\(Self.line).type === 'password'")

            for round in 0..<2 {
                await relay.cut()
                try await mud.send("[\(round)]")
                relay.mend()
                try await shown("[\(round)]", on: page)
                try await connected(page)
                try await page.wait(until: "\(Self.line).type === 'password'")
            }
            #expect(try await page.text("\(Self.log).textContent") == "before red[0][1]")
            let colours = "[...\(Self.log).querySelectorAll('span')].map(span => span.style.color).join('|')"
            #expect(try await page.text(colours) == "|var(--c1)")
            try await page.submit("sesame")
            _ = try await mud.receive(upTo: "sesame\r\n")

            // More than the buffer keeps.
            await relay.cut()
            try await mud.send(String(repeating: "lost ", count: 1_000) + "found")
            relay.mend()
            try await shown("bytes of what was said meanwhile are lost.", on: page)
            try await shown("found", on: page)
            #expect(target.connectionCount == 1)
            #expect(page.complaints == [])
        }

        @Test func `text typed without a connection stays in its line`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await gateway(target.port)
            let relay = try await BreakableRelay.start(to: gateway.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(relay.port)/")
            try await connected(page)
            let mud = try await target.connection()
            await relay.cut()
            try await page.wait(until: "\(Self.status) !== 'Connected'")
            try await page.submit("north")
            try await shown("Not connected: this has not been sent.", on: page)
            #expect(try await page.text("\(Self.line).value") == "north")
            relay.mend()
            try await connected(page)
            try await page.press(.enter)
            #expect(try await mud.receive(upTo: "north\r\n") == Array("north\r\n".utf8))
            #expect(page.complaints == [])
        }

        /// The page isn't told that its network drops what it sends. It notices that no answer comes, and sends it again.
        @Test func `text typed into a dead connection arrives over the next one`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await gateway(target.port)
            let relay = try await BreakableRelay.start(to: gateway.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(relay.port)/")
            try await connected(page)
            let mud = try await target.connection()
            try await relay.silence()
            try await page.submit("north")
            try await page.submit("east")
            try await page.wait(until: "\(Self.status) !== 'Connected'")
            try await connected(page)
            try await page.submit("south")
            let input = "north\r\neast\r\nsouth\r\n"
            #expect(try await mud.receive(upTo: "south\r\n") == Array(input.utf8))
            #expect(target.connectionCount == 1)
            #expect(page.complaints == [])
        }

        /// Chromium fires `online` by itself only if it noticed that the network was lost.
        @Test func `the session moves to a new connection when the network returns`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await gateway(target.port)
            let relay = try await BreakableRelay.start(to: gateway.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(relay.port)/")
            try await connected(page)
            let mud = try await target.connection()
            try await relay.silence()
            _ = try await page.text("dispatchEvent(new Event('online')), 'done'")
            try await connected(page)
            try await page.submit("north")
            #expect(try await mud.receive(upTo: "north\r\n") == Array("north\r\n".utf8))
            #expect(target.connectionCount == 1)
            #expect(page.complaints == [])
        }

        @Test func `after a restart of the gateway a new session begins`() async throws {
            let mud = try await DemoMudProcess.start()
            let first = try await gateway(mud.port) {
                $0.setting("DRAIN_RECONNECT_MS", 100).setting("SHUTDOWN_GRACE_MS", 0)
            }
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(first.port)/")
            try await connected(page)
            try await shown("By what name are you known?", on: page)
            try await first.stop()
            try await shown("The gateway is restarting. The session is over.", on: page)
            let second = try await gateway(mud.port) { $0.setting("WS_PORT", first.port) }
            try await connected(page)
            try await page.wait(until: "\(Self.log).textContent.split('By what name are you known?').length === 3")
            #expect(second.port == first.port)
            #expect(page.complaints == [])
        }

        /// It can't be resumed any more, and would count as one of the client's sessions.
        @Test func `closing the page leaves no session behind`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await gateway(target.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await connected(page)
            let mud = try await target.connection()
            try await page.reload()
            try await connected(page)
            try await shown("Its session before that is over.", on: page)
            _ = try await mud.receiveToEnd()
            #expect(target.connectionCount == 2)
        }

        /// A session's own ticket is the most likely to work; if it fails, the one from the page's address is tried.
        @Test func `an operator's ticket is used again if the newest one is refused`() async throws {
            let mud = try await DemoMudProcess.start()
            let directory = try TemporaryDirectory()
            let path = directory.file("control.sock")
            let gateway = try await gateway(mud.port) {
                $0.setting("REQUIRE_APP_AUTH", "true").setting("CONTROL_SOCKET_PATH", path)
            }
            let output = try await GatewayProcess.run(["ticket", "--socket", path, "--uses", "3"])
            let ticket = try #require(output.outputLines.first)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/#ticket=\(ticket)")
            try await connected(page)
            try await shown("By what name are you known?", on: page)
            for _ in 0..<2 {
                // The gateway doesn't know this one.
                _ = try await page.text(
                    "sessionStorage.setItem('next', JSON.stringify({ticket: 'x', expires: Date.now() + 9e5})), 'done'")
                try await page.reload()
                try await connected(page)
            }
            #expect(page.complaints == [])
        }

        @Test func `after the target has closed the button connects again`() async throws {
            let mud = try await DemoMudProcess.start()
            let gateway = try await gateway(mud.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await connected(page)
            try await shown("By what name are you known?", on: page)
            try await page.submit("Carla")
            try await page.wait(until: "\(Self.line).type === 'password'")
            try await page.submit("sesame")
            try await shown("Welcome, Carla", on: page)
            try await page.submit("quit")
            try await page.wait(until: "\(Self.status) === 'Disconnected: MUD connection closed'")
            try await page.click("#reconnect")
            try await connected(page)
            #expect(page.complaints == [])
        }
    }
}

extension EdgeTests {
    /// The page without a browser.
    @Suite struct WebClientPageTests {
        @Test func `the page is served with its content security policy if enabled`() async throws {
            let edge = try await Edge.start { $0.setting("ENABLE_WEB_CLIENT", "true") }
            let answer = try await edge.gateway.get("/")
            #expect(answer.status == 200)
            #expect(answer["content-type"] == "text/html; charset=utf-8")
            #expect(answer["content-security-policy"]?.hasPrefix("default-src 'none'; script-src 'sha256-") == true)
            #expect(answer["x-content-type-options"] == "nosniff")
            #expect(answer["referrer-policy"] == "no-referrer")
            #expect(answer.text.contains("<title>Portcullis</title>"))
            try await Edge.expectEcho(edge.gateway.open(Handshake().offering("telnet")))
        }

        @Test func `without the setting there is no page`() async throws {
            let edge = try await Edge.start()
            expectRefusal(try await edge.gateway.get("/"), 426, "upgrade_required")
        }
    }
}
