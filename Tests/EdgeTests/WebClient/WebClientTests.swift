import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The gateway's own page in a real browser: `GET /`, the typed dialect, tickets.
    ///
    /// With `PORTCULLIS_SCREENSHOT` the first test writes a picture of the page there.
    @Suite(.enabled(if: Chromium.program != nil, "no Chromium is installed, so the page isn't tried in a browser"))
    struct WebClientTests {
        @Test func `the demo MUD can be played in the browser`() async throws {
            let mud = try await DemoMudProcess.start()
            let gateway = try await WebPage.gateway(mud.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await WebPage.connected(page)

            // Colours: the title is bold and cyan.
            try await WebPage.shown("Portcullis demo MUD", on: page)
            let title =
                "[...\(WebPage.log).querySelectorAll('span')].find(s => s.textContent === 'Portcullis demo MUD')"
            for (isDark, colour) in [(false, "rgb(19, 120, 138)"), (true, "rgb(139, 224, 230)")] {
                try await page.prefer(dark: isDark)
                #expect(try await page.text("getComputedStyle(\(title)).color") == colour)
            }
            #expect(try await page.text("getComputedStyle(\(title)).fontWeight") == "700")

            // Typed text is visible; a password isn't, and isn't kept.
            try await WebPage.shown("By what name are you known?", on: page)
            try await page.submit("Anna")
            try await WebPage.shown("known? Anna", on: page)
            try await page.wait(until: WebPage.isHiding)
            try await page.submit("drawbridge")
            try await WebPage.shown("Welcome, Anna", on: page)
            try await page.wait(until: "!\(WebPage.isHiding)")
            #expect(try await page.text("document.documentElement.innerHTML").contains("drawbridge") == false)
            try await page.press(.up)
            #expect(try await page.text("\(WebPage.line).value") == "Anna")
            try await page.press(.down)
            #expect(try await page.text("\(WebPage.line).value") == "")

            // GMCP: the last value of each package.
            let values = "document.getElementById('values').textContent"
            try await page.click("#gmcp summary")
            try await page.wait(until: "\(values).includes('The Gatehouse')")
            try await page.submit("north")
            try await page.wait(until: "\(values).includes('The Courtyard') && !\(values).includes('The Gatehouse')")
            #expect(try await page.text(values).contains("\"mv\": 19"))

            try await page.submit("say <b>Is anybody here?</b> ✓")
            try await WebPage.shown("You say, “<b>Is anybody here?</b> ✓”", on: page)
            try await takePicture(of: page)
            #expect(page.complaints == [])
        }

        private func takePicture(of page: BrowserPage) async throws {
            guard let path = ProcessInfo.processInfo.environment["PORTCULLIS_SCREENSHOT"], !path.isEmpty else { return }
            try await page.prefer(dark: true)
            let sent = page.sentMessages.count
            try await page.resize(width: 1000, height: 640)
            _ = try await page.sentMessage(containing: "naws", after: sent)
            for (line, answer) in [("look", "Cobblestones"), ("east", "The Well Garden"), ("who", "Anna, in")] {
                try await page.submit(line)
                try await WebPage.shown(answer, on: page)
            }
            try await page.saveScreenshot(to: path)
        }

        /// A MUD that asks only once for the size wraps by the first answer: nothing makes the log narrower but its
        /// reader.
        @Test func `the MUD gets the window size and its changes`() async throws {
            let mud = try await DemoMudProcess.start()
            let gateway = try await WebPage.gateway(mud.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await WebPage.connected(page)
            let first = try size(in: try await page.sentMessage(containing: "connect"))
            try await WebPage.shown("By what name are you known?", on: page)
            try await page.submit("Bert")
            try await page.wait(until: WebPage.isHiding)
            try await page.submit("sesame")
            try await WebPage.shown("Welcome, Bert", on: page)
            #expect(page.sentMessages.contains { $0.contains("naws") } == false, "\(page.sentMessages)")
            try await page.click("#gmcp summary")
            let opened = try size(in: try await page.sentMessage(containing: "naws"))
            #expect(opened.columns < first.columns, "the GMCP panel has opened beside the log")
            var sent = page.sentMessages.count
            try await page.click("#gmcp summary")
            let closed = try size(in: try await page.sentMessage(containing: "naws", after: sent))
            #expect(closed == first, "\(page.sentMessages)")

            sent = page.sentMessages.count
            try await page.resize(width: 1200, height: 900)
            let second = try size(in: try await page.sentMessage(containing: "naws", after: sent))
            #expect(second.columns > first.columns && second.rows > first.rows)
            let cell = try await page.number("document.getElementById('ruler').getBoundingClientRect().width / 10")
            let width = try await page.number("\(WebPage.log).clientWidth")
            #expect(Double(second.columns) * cell <= width && Double(second.columns + 4) * cell > width)
            try await page.submit("who")
            try await WebPage.shown("\(second.columns)×\(second.rows)", on: page)
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
            let gateway = try await WebPage.gateway(target.port)
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            let mud = try await target.connection()
            // IAC WILL GMCP
            try await mud.send([255, 251, 201])
            try await WebPage.connected(page)
            let room =
                #"Room.<i>Info</i> {"name":"<img src=x onerror=alert(1)>","exits":["</pre><script>alert(2)</script>"]}"#
            try await mud.send([255, 250, 201] + Array(room.utf8) + [255, 240])
            let markup = "<img src=x onerror=\"alert(3)\"><script>alert(4)</script>"
            for byte in Array("\u{1B}[1;31m\(markup)\u{1B}[38;5;208mé🏰\u{1B}[0m\u{1B}]0;a title\u{7} end\r\n".utf8) {
                try await mud.send([byte])
            }
            try await WebPage.shown("\(markup)é🏰 end", on: page)
            try await page.click("#gmcp summary")
            try await page.wait(until: "document.getElementById('values').textContent.includes('<img src=x')")
            #expect(
                try await page.number("document.querySelectorAll('img, i, b, script:not([type=module])').length") == 0)
            try await page.prefer(dark: true)
            #expect(try await page.text(WebPage.colours) == "rgb(255, 141, 141)|rgb(255, 135, 0)")
            #expect(try await page.text("document.title") == "Portcullis")
            #expect(page.complaints == [])
        }

        /// The page names no host and selects its dialect itself: neither the targets nor the default dialect matter to
        /// it.
        @Test func `the page connects whatever the default dialect and the targets are`() async throws {
            let target = try await TargetServer.start()
            let gateway = try await WebPage.gateway(target.port) {
                $0.setting("DEFAULT_DIALECT", "raw").setting("TARGET_MODE", "allowlist")
                    .setting("TARGET_ALLOWLIST", "a.example:1")
            }
            let page = try await Chromium.start().page()
            try await page.open("http://127.0.0.1:\(gateway.port)/")
            try await WebPage.connected(page)
            try await target.connection().send("Who goes there?")
            try await WebPage.shown("Who goes there?", on: page)
            #expect(target.connectionCount == 1)
            #expect(page.complaints == [])
        }
    }
}
