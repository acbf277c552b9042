import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The console in a real browser.
    ///
    /// With `PORTCULLIS_CONSOLE_SCREENSHOT` the first test writes pictures of the page to that path, with `-wide.png`
    /// and `-phone.png` behind it.
    @Suite(.enabled(if: Chromium.program != nil, "no Chromium is installed, so the page isn't tried in a browser"))
    struct ConsolePageTests {
        private static let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        private static let status = "document.getElementById('status').textContent"

        private func rows(_ table: String) -> String { "document.getElementById('\(table)').tBodies[0].rows" }

        @Test func `sessions are listed, and a device is revoked and restored`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("ADMIN_BIND", "127.0.0.1:0").setting("ADMIN_CONSOLE", "on")
            }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let other = try await apple.enrolledDevice(at: edge.gateway)
            // What the page shows isn't markup, whoever wrote it.
            let hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
            expectDone(try await edge.gateway.keys("revoke", other.keyID, "--reason", hostile))
            expectRefusal(try await edge.gateway.refusal(other.handshake(at: edge.gateway)), 403, "key_revoked")
            let socket = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await Edge.expectEcho(socket)

            let page = try await Chromium.start().page()
            try await page.resize(width: 1280, height: 1000)
            try await page.open("http://127.0.0.1:\(edge.gateway.internalPort())/console")
            try await page.wait(until: "\(rows("sessions")).length === 1 && \(rows("devices")).length === 2")
            try await page.wait(until: "document.getElementById('refusals').textContent.includes('key_revoked')")
            #expect(try await page.text("\(rows("devices"))[0].parentElement.textContent").contains(hostile))
            try await takePicture(of: page, "-wide.png")

            let button = "button[aria-label=\"Revoke device \(device.keyID)\"]"
            try await page.press(button, confirming: "yes")
            try await page.wait(until: "\(Self.status) === 'Device revoked'")
            try await page.wait(until: "document.querySelectorAll('#devices td.bad').length === 2")
            #expect(try await socket.closedByServer().reason == "device_blocked")
            try await page.press("button[aria-label=\"Restore device \(device.keyID)\"]", confirming: "yes")
            try await page.wait(until: "\(Self.status) === 'Device restored'")
            let again = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await Edge.expectEcho(again)

            // A phone.
            try await page.wait(until: "\(rows("sessions")).length === 1")
            try await page.resize(width: 360, height: 740)
            #expect(try await page.number(Self.overflow) <= 0)
            try await takePicture(of: page, "-phone.png")
            try await page.preferDark()
            try await takePicture(of: page, "-dark.png")
            #expect(page.complaints == [])
            try await Edge.expectEcho(again)
        }

        @Test func `development tokens are listed, and one is revoked`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("ADMIN_BIND", "127.0.0.1:0").setting("ADMIN_CONSOLE", "on")
                    .setting("ALLOW_DEV_TOKENS", "true").setting("PUBLIC_ORIGIN", "http://localhost")
            }
            let issued = try await edge.gateway.issueDevelopmentToken("--route", "live")
            _ = try await edge.gateway.issueDevelopmentToken()
            let page = try await Chromium.start().page()
            try await page.resize(width: 1280, height: 1000)
            try await page.open("http://127.0.0.1:\(edge.gateway.internalPort())/console")
            try await page.wait(until: "\(rows("tokens")).length === 2")
            let row = try await page.text("\(rows("tokens"))[0].textContent")
            for word in [issued.id, "edge tests", "valid", "0/10", "live", "never"] {
                #expect(row.contains(word), "\(row)")
            }
            try await page.press("button[aria-label=\"Revoke token \(issued.id)\"]", confirming: "yes")
            try await page.wait(until: "\(Self.status) === 'Token revoked'")
            try await page.wait(until: "\(rows("tokens"))[0].textContent.includes('revoked')")
            try await page.wait(until: "document.querySelectorAll('#tokens button').length === 1")
            #expect(try await edge.gateway.developmentTokens("list").outputLines[0].contains("revoked"))
            try await page.resize(width: 360, height: 740)
            #expect(try await page.number(Self.overflow) <= 0)
            #expect(page.complaints == [])
        }

        @Test func `everything has a name, and the keyboard reaches it`() async throws {
            let edge = try await Edge.start { $0.setting("ADMIN_BIND", "127.0.0.1:0").setting("ADMIN_CONSOLE", "on") }
            let socket = try await edge.gateway.open(Handshake())
            try await Edge.expectEcho(socket)
            let page = try await Chromium.start().page()
            try await page.resize(width: 360, height: 740)
            try await page.open("http://127.0.0.1:\(edge.gateway.internalPort())/console")
            try await page.wait(until: "\(rows("sessions")).length === 1")
            let nodes = try await page.accessibilityNodes()
            for role in ["banner", "main", "heading", "status", "table", "columnheader", "row", "contentinfo"] {
                #expect(nodes.contains { $0.role == role }, "\(role)")
            }
            let controls = nodes.filter { ["button", "textbox", "combobox", "link"].contains($0.role) }
            #expect(controls.count >= 10 && controls.allSatisfy { !$0.name.isEmpty }, "\(controls)")
            #expect(controls.contains { $0.name.hasPrefix("Close session ") })

            // Cancelling a question closes nothing, and focus comes back.
            try await page.press("#sessions td button", confirming: "no")
            try await page.wait(until: "!document.getElementById('confirm').open")
            #expect(
                try await page.text("document.activeElement.getAttribute('aria-label')").hasPrefix("Close session "))
            try await Edge.expectEcho(socket, "still here")
            #expect(try await page.text("getComputedStyle(document.activeElement).outlineStyle") == "solid")
            #expect(page.complaints == [])
        }

        private func takePicture(of page: BrowserPage, _ name: String) async throws {
            let path = ProcessInfo.processInfo.environment["PORTCULLIS_CONSOLE_SCREENSHOT"] ?? ""
            if !path.isEmpty { try await page.saveScreenshot(to: path + name) }
        }
    }
}

extension BrowserPage {
    /// Presses a button by the keyboard, and answers its question by the keyboard: the answers are Cancel and Yes, in
    /// this order.
    fileprivate func press(_ selector: String, confirming answer: String) async throws {
        _ = try await text("(document.querySelector('\(selector)').focus(), 'focused')")
        try await press(.enter)
        try await wait(until: "document.getElementById('confirm').open")
        _ = try await text("(document.querySelector('#confirm button[value=\(answer)]').focus(), 'focused')")
        try await press(.enter)
    }
}
