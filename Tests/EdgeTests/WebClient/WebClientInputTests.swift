import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// What is typed or pasted into the page, and where it goes.
    @Suite(.enabled(if: Chromium.program != nil, "no Chromium is installed, so the page isn't tried in a browser"))
    struct WebClientInputTests {
        private let target: TargetServer
        private let gateway: GatewayProcess

        init() async throws {
            target = try await TargetServer.start()
            gateway = try await WebPage.gateway(target.port)
        }

        private func value(_ page: BrowserPage) async throws -> String { try await page.text("\(WebPage.line).value") }

        @Test func `pasted lines stay lines, each of them a command`() async throws {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            try await page.type("north\nsay one  two\r\nlook")
            #expect(try await value(page) == "north\nsay one  two\nlook")
            try await page.press(.enter)
            let sent = "north\r\nsay one  two\r\nlook\r\n"
            #expect(try await mud.receive(upTo: "look\r\n") == Array(sent.utf8))
            let rows = "[...\(WebPage.log).querySelectorAll('.typed')].map(span => span.textContent).join('|')"
            try await page.wait(until: "\(rows) === 'north|say one  two|look'")
            // They are one entry of the history.
            try await page.press(.up)
            #expect(try await value(page) == "north\nsay one  two\nlook")
            #expect(page.complaints == [])
        }

        @Test func `a long line is sent whole, and one that is too long stays and is told`() async throws {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            for length in [4_001, 60_000] {
                try await page.submit(String(repeating: "x", count: length))
                #expect(try await mud.receive(upTo: "\r\n").count == length + 2)
            }
            // Bytes count, since the gateway counts them: 20,001 of these have 60,003.
            for line in [String(repeating: "y", count: 60_001), String(repeating: "€", count: 20_001)] {
                try await page.submit(line)
                try await WebPage.shown("A line of \(line.utf8.count) bytes is longer than 60000", on: page)
                #expect(try await value(page) == line)
                _ = try await page.text("\(WebPage.line).value = ''")
            }
            try await page.submit("end")
            #expect(try await mud.receive(upTo: "end\r\n") == Array("end\r\n".utf8))
            #expect(page.complaints == [])
        }

        @Test func `more lines than the gateway may owe an answer for are refused as a whole`() async throws {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            func lines(_ count: Int) -> String { (1...count).map { "line \($0)" }.joined(separator: "\n") }
            try await page.submit(lines(201))
            try await WebPage.shown("More than 200 lines at once: this has not been sent.", on: page)
            #expect(try await value(page) == lines(201))
            _ = try await page.text("\(WebPage.line).value = ''")
            try await page.submit(lines(200))
            let sent = lines(200).split(separator: "\n").map { "\($0)\r\n" }.joined()
            #expect(try await mud.receive(upTo: "line 200\r\n") == Array(sent.utf8))
            #expect(page.complaints == [])
        }

        @Test func `a key that is typed while the log has the focus goes to the input`() async throws {
            let (page, _) = try await WebPage.playing(target, at: gateway)
            _ = try await page.text("\(WebPage.log).focus(), 'done'")
            #expect(try await page.text("document.activeElement.id") == "log")
            try await page.pressKeys("say hi")
            #expect(try await value(page) == "say hi")
            #expect(try await page.text("document.activeElement.id") == "line")
            // What is pasted there does, too; a command of the browser's doesn't.
            _ = try await page.text(
                """
                (() => {
                  const clipboardData = new DataTransfer();
                  clipboardData.setData("text/plain", " there");
                  \(WebPage.log).focus();
                  \(WebPage.log).dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
                  \(WebPage.log).focus();
                  \(WebPage.log).dispatchEvent(new KeyboardEvent("keydown", { key: "c", ctrlKey: true, bubbles: true }));
                  return document.activeElement.id;
                })()
                """)
            #expect(try await value(page) == "say hi there")
            #expect(try await page.text("document.activeElement.id") == "log")
            #expect(page.complaints == [])
        }

        /// IAC WILL ECHO, and never WONT.
        @Test func `where a MUD suppresses echo for good one can see what one types`() async throws {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            try await mud.send([255, 251, 1])
            try await page.wait(until: WebPage.isHiding)
            _ = try await mud.receive(upTo: [255, 253, 1])
            let type = "\(WebPage.secret).type"
            #expect(try await page.text(type) == "password")
            #expect(try await page.text("document.activeElement.id") == "secret")
            try await page.click("#reveal")
            #expect(try await page.text(type) == "text")
            try await page.submit("xyzzy")
            _ = try await mud.receive(upTo: "xyzzy\r\n")
            // It is still kept nowhere: it may have been a password all the same.
            try await page.press(.up)
            #expect(try await page.text("\(WebPage.secret).value") == "")
            #expect(try await page.text("document.documentElement.innerHTML").contains("xyzzy") == false)
            try await page.type("half a pass")
            // IAC WONT ECHO
            try await mud.send([255, 252, 1])
            try await page.wait(until: "!\(WebPage.isHiding)")
            #expect(try await value(page) == "")
            try await mud.send([255, 251, 1])
            try await page.wait(until: WebPage.isHiding)
            #expect(try await page.text(type) == "password")
            #expect(page.complaints == [])
        }

        /// What is typed ahead of the prompt for a password is its beginning.
        @Test func `text that is being typed when a password is asked for is hidden`() async throws {
            let (page, mud) = try await WebPage.playing(target, at: gateway)
            try await page.type("ses")
            try await mud.send([255, 251, 1])
            try await page.wait(until: WebPage.isHiding)
            try await page.submit("ame")
            _ = try await mud.receive(upTo: "sesame\r\n")
            #expect(try await page.text("\(WebPage.log).textContent") == "")
            #expect(page.complaints == [])
        }
    }
}
