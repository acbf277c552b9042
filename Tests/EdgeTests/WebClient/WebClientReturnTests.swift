import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The page when its connection, its session or its gateway is lost: what it comes back to, and what it says.
    @Suite(.enabled(if: Chromium.program != nil, "no Chromium is installed, so the page isn't tried in a browser"))
    struct WebClientReturnTests {
        @Test func `the session continues after a lost connection`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await WebPage.gateway(target.port) { $0.setting("OUTPUT_BUFFER_BYTES", 1024) }
            let relay = try await BreakableRelay.start(to: gateway.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(relay.port)/")
            try await WebPage.connected(page)
            let mud = try await target.connection()
            // A password is requested, and the colour is red: both states must be the same afterwards.
            try await mud.send(Array("before \u{1B}[31mred".utf8) + [255, 251, 1])
            try await WebPage.shown("before red", on: page)
            try await page.wait(until: WebPage.isHiding)

            for round in 0..<2 {
                await relay.cut()
                try await mud.send("[\(round)]")
                relay.mend()
                try await WebPage.shown("[\(round)]", on: page)
                try await WebPage.connected(page)
                try await page.wait(until: WebPage.isHiding)
            }
            #expect(try await page.text("\(WebPage.log).textContent") == "before red[0][1]")
            try await page.prefer(dark: true)
            #expect(try await page.text(WebPage.colours) == "rgb(224, 104, 107)")
            try await page.submit("sesame")
            _ = try await mud.receive(upTo: "sesame\r\n")

            // More than the buffer keeps.
            await relay.cut()
            try await mud.send(String(repeating: "lost ", count: 1_000) + "found")
            relay.mend()
            try await WebPage.shown("bytes of what was said meanwhile are lost.", on: page)
            try await WebPage.shown("found", on: page)
            #expect(target.connectionCount == 1)
            #expect(page.complaints == [])
        }

        @Test func `text typed without a connection stays in its line`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await WebPage.gateway(target.port)
            let relay = try await BreakableRelay.start(to: gateway.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(relay.port)/")
            try await WebPage.connected(page)
            let mud = try await target.connection()
            await relay.cut()
            try await page.wait(until: "\(WebPage.status) !== 'Connected'")
            try await page.submit("north")
            try await WebPage.shown("Not connected: this has not been sent.", on: page)
            #expect(try await page.text("\(WebPage.line).value") == "north")
            relay.mend()
            try await WebPage.connected(page)
            try await page.press(.enter)
            #expect(try await mud.receive(upTo: "north\r\n") == Array("north\r\n".utf8))
            #expect(page.complaints == [])
        }

        /// The page isn't told that its network drops what it sends. It notices that no answer comes, and sends it
        /// again.
        @Test func `text typed into a dead connection arrives over the next one`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await WebPage.gateway(target.port)
            let relay = try await BreakableRelay.start(to: gateway.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(relay.port)/")
            try await WebPage.connected(page)
            let mud = try await target.connection()
            try await relay.silence()
            try await page.submit("north")
            try await page.submit("east")
            try await page.wait(until: "\(WebPage.status) !== 'Connected'")
            try await WebPage.connected(page)
            try await page.submit("south")
            let input = "north\r\neast\r\nsouth\r\n"
            #expect(try await mud.receive(upTo: "south\r\n") == Array(input.utf8))
            #expect(target.connectionCount == 1)
            #expect(page.complaints == [])
        }

        /// Chromium fires `online` by itself only if it noticed that the network was lost.
        @Test func `the session moves to a new connection when the network returns`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await WebPage.gateway(target.port)
            let relay = try await BreakableRelay.start(to: gateway.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(relay.port)/")
            try await WebPage.connected(page)
            let mud = try await target.connection()
            try await relay.silence()
            _ = try await page.text("dispatchEvent(new Event('online')), 'done'")
            try await WebPage.connected(page)
            try await page.submit("north")
            #expect(try await mud.receive(upTo: "north\r\n") == Array("north\r\n".utf8))
            #expect(target.connectionCount == 1)
            #expect(page.complaints == [])
        }

        @Test func `after a restart of the gateway a new session begins`() async throws {
            let mud = try await DemoMudProcess.start()
            let first = try await WebPage.gateway(mud.port) {
                $0.setting("SHUTDOWN_GRACE_MS", 0)
            }
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(first.port)/")
            try await WebPage.connected(page)
            try await WebPage.shown("By what name are you known?", on: page)
            try await first.stop()
            try await WebPage.shown("The gateway is restarting. The session is over.", on: page)
            let second = try await WebPage.gateway(mud.port) { $0.setting("WS_PORT", first.port) }
            try await WebPage.connected(page)
            try await page.wait(until: "\(WebPage.log).textContent.split('By what name are you known?').length === 3")
            #expect(second.port == first.port)
            #expect(page.complaints == [])
        }

        /// Its first ticket is used, so only the one that its session was given admits it.
        @Test(arguments: [true, false])
        func `with its next ticket the page comes back to a gateway that was restarted`(isKilled: Bool) async throws {
            let target = try await TargetServer.start()
            let (directory, sockets) = (try TemporaryDirectory(), try TemporaryDirectory())
            func start(_ port: Int) async throws -> GatewayProcess {
                try await WebPage.gateway(target.port, in: directory) {
                    $0.setting("REQUIRE_APP_AUTH", "true").setting("WS_PORT", port)
                        .setting("CONTROL_SOCKET_PATH", sockets.file("control.sock"))
                }
            }
            var gateway = try await start(0)
            let output = try await GatewayProcess.run(["ticket", "--socket", sockets.file("control.sock")])
            let page = try await Chromium.start().page()
            let address = "http://127.0.0.1:\(gateway.port)/"
            try await page.open(address + "#ticket=" + (try #require(output.outputLines.first)))
            try await WebPage.connected(page)
            for round in 0..<2 {
                try await target.connection(round).send("Welcome to round \(round).")
                try await WebPage.shown("Welcome to round \(round).", on: page)
                try await page.wait(until: "sessionStorage.getItem('next') !== null")
                if isKilled { try await gateway.killNow() } else { try await gateway.stop() }
                try await page.wait(until: "\(WebPage.status) !== 'Connected'")
                gateway = try await start(gateway.port)
                try await WebPage.connected(page)
                let said = isKilled ? "A new session begins." : "The gateway is restarting. The session is over."
                try await page.wait(
                    until: "\(WebPage.log).textContent.split(\(WebPage.quoted(said))).length === \(round + 2)")
            }
            try await target.connection(2).send("Welcome back.")
            try await WebPage.shown("Welcome back.", on: page)
            #expect(target.connectionCount == 3)
            #expect(page.complaints == [])
        }

        @Test func `a client that was revoked meanwhile doesn't come back, and is told what to do`() async throws {
            let target = try await TargetServer.start()
            let apple = try SimulatedApple()
            let directory = try TemporaryDirectory()
            func start(_ port: Int) async throws -> GatewayProcess {
                try await WebPage.gateway(target.port, in: directory) {
                    $0.appAttest(apple).setting("WS_PORT", port)
                        .setting("WEB_CLIENT_NO_TICKET", "Ask in the app, or see https://play.example.org/how.")
                }
            }
            let first = try await start(0)
            let device = try await apple.enrolledDevice(at: first)
            let ticket = try #require(try await first.ticket(for: device))
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(first.port)/#ticket=\(ticket)")
            try await WebPage.connected(page)
            #expect(try await page.text("String(document.getElementById('no-ticket').hidden)") == "true")
            try await page.wait(until: "sessionStorage.getItem('next') !== null")
            try await first.killNow()
            #expect(try await first.keys("revoke", device.keyID).ending == .exited(0))
            let second = try await start(first.port)
            try await page.wait(until: "\(WebPage.status).includes('no admission')")
            try await page.wait(until: "document.getElementById('no-ticket').hidden === false")
            let link = "document.querySelector('#no-ticket a')"
            #expect(try await page.text("\(link).href") == "https://play.example.org/how")
            #expect(
                try await page.text("document.getElementById('no-ticket').textContent")
                    == "Ask in the app, or see https://play.example.org/how.")
            #expect(second.port == first.port)
            #expect(page.complaints == [])
        }

        /// It can't be resumed any more, and would count as one of the client's sessions.
        @Test func `closing the page leaves no session behind`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await WebPage.gateway(target.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await WebPage.connected(page)
            let mud = try await target.connection()
            try await page.reload()
            try await WebPage.connected(page)
            try await WebPage.shown("Its session before that is over.", on: page)
            _ = try await mud.receiveToEnd()
            #expect(target.connectionCount == 2)
        }

        /// A session's own ticket is the most likely to work; if it fails, the one from the page's address is tried.
        @Test func `an operator's ticket is used again if the newest one is refused`() async throws {
            let mud = try await DemoMudProcess.start()
            let directory = try TemporaryDirectory()
            let path = directory.file("control.sock")
            let gateway = try await WebPage.gateway(mud.port) {
                $0.setting("REQUIRE_APP_AUTH", "true").setting("CONTROL_SOCKET_PATH", path)
            }
            let output = try await GatewayProcess.run(["ticket", "--socket", path, "--uses", "3"])
            let ticket = try #require(output.outputLines.first)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/#ticket=\(ticket)")
            try await WebPage.connected(page)
            try await WebPage.shown("By what name are you known?", on: page)
            for _ in 0..<2 {
                // The gateway doesn't know this one.
                _ = try await page.text(
                    "sessionStorage.setItem('next', JSON.stringify({ticket: 'x', expires: Date.now() + 9e5})), 'done'")
                try await page.reload()
                try await WebPage.connected(page)
            }
            #expect(page.complaints == [])
        }

        @Test func `after the target has closed the button connects again`() async throws {
            let mud = try await DemoMudProcess.start()
            let gateway = try await WebPage.gateway(mud.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await WebPage.connected(page)
            try await WebPage.shown("By what name are you known?", on: page)
            try await page.submit("Carla")
            try await page.wait(until: WebPage.isHiding)
            try await page.submit("sesame")
            try await WebPage.shown("Welcome, Carla", on: page)
            try await page.submit("quit")
            try await page.wait(until: "\(WebPage.status) === 'Disconnected: MUD connection closed'")
            try await page.click("#reconnect")
            try await WebPage.connected(page)
            #expect(page.complaints == [])
        }

        @Test func `a ticket admits once and the next one keeps the tab connected`() async throws {
            let mud = try await DemoMudProcess.start()
            let apple = try SimulatedApple()
            let certificates = try await DevCertificates.shared()
            let gateway = try await WebPage.gateway(mud.port) { $0.appAttest(apple).tls(certificates) }
            let address = "https://localhost:\(gateway.port)/"
            let device = try await apple.enrolledDevice(at: gateway)
            let ticket = try #require(try await gateway.ticket(for: device))

            let page = try await Chromium.start(trustsAnyCertificate: true).page()
            try await page.open(address + "#ticket=" + ticket)
            try await WebPage.connected(page)
            #expect(try await page.text("location.href") == address, "no ticket stays in the address bar")
            try await WebPage.shown("By what name are you known?", on: page)

            try await page.reload()
            try await WebPage.connected(page)
            try await WebPage.shown("By what name are you known?", on: page)
            try await page.submit("quit!")
            try await WebPage.shown("A name has 2 to", on: page)

            // The first ticket is spent, and a new tab has no other.
            let stranger = try await Chromium.start(trustsAnyCertificate: true).page()
            try await stranger.open(address + "#ticket=" + ticket)
            try await stranger.wait(until: "\(WebPage.status).includes('no admission')")
            #expect(page.complaints == [])
        }
    }
}
