import EdgeTestKit
import Foundation
import Testing

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
            #expect(answer.text.contains("<title>Portcullis</title>") && !answer.text.contains("{{"))
            try await Edge.expectEcho(edge.gateway.open(Handshake().offering("telnet")))
        }

        /// The policy is the same whatever the texts are: nothing of them can become a script or a style.
        @Test func `the operator's texts are in the page, and only text`() async throws {
            let plain = try await Edge.start { $0.setting("ENABLE_WEB_CLIENT", "true") }
            let hostile = #"</title><script>alert(1)</script> "Ä & Ö" {{no-ticket}}"#
            let edge = try await Edge.start {
                $0.setting("ENABLE_WEB_CLIENT", "true").setting("WEB_CLIENT_TITLE", "'\(hostile)'")
                    .setting("WEB_CLIENT_NO_TICKET", "'<img src=x onerror=alert(2)>'")
            }
            let (answer, other) = (try await edge.gateway.get("/"), try await plain.gateway.get("/"))
            let title = "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &quot;Ä &amp; Ö&quot; {{no-ticket}}"
            #expect(answer.text.contains("<title>\(title)") && answer.text.contains("<h1>\(title)"))
            #expect(answer.text.contains(">&lt;img src=x onerror=alert(2)&gt;</p>"))
            #expect(answer.text.components(separatedBy: "<script").count == 2)
            #expect(answer["content-security-policy"] == other["content-security-policy"])
            #expect(answer["content-security-policy"]?.contains("unsafe") == false)
        }

        @Test func `without the setting there is no page`() async throws {
            let edge = try await Edge.start()
            expectRefusal(try await edge.gateway.get("/"), 426, "upgrade_required")
        }
    }
}
