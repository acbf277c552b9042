import Reactors

/// The policy and the header of a page that is compiled into the program: the web client's and the console's.
///
/// It allows only the page's own scripts and style sheet, by their hashes: no other source, no inline handler, no
/// framing, no conversion of strings to markup. After editing a page, put its new hashes where its policy is made; a
/// test shows them.
package struct PagePolicy: Sendable {
    package let contentSecurityPolicy: String

    /// - Parameters:
    ///   - scriptHashes: SHA-256 of the content of each of the page's `script` elements, in base64.
    ///   - styleHash: the same of its `style` element.
    init(scriptHashes: String..., styleHash: String) {
        contentSecurityPolicy = [
            "default-src 'none'",
            "script-src " + scriptHashes.map { "'sha256-\($0)'" }.joined(separator: " "),
            "style-src 'sha256-\(styleHash)'",
            // The gateway that served the page, WebSockets included.
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ].joined(separator: "; ")
    }

    func answer(_ page: [UInt8]) -> HTTPAnswer {
        HTTPAnswer(
            status: 200,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Security-Policy", contentSecurityPolicy),
                // For browsers that don't know `frame-ancestors`.
                ("X-Frame-Options", "DENY"),
                // The page's address must not be sent to other sites, since it may contain a ticket.
                ("Referrer-Policy", "no-referrer"),
                ("Cross-Origin-Opener-Policy", "same-origin"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
                // A page and the policy with its hashes belong together: another version of the gateway has different
                // ones.
                ("Cache-Control", "no-store"),
            ],
            body: page)
    }
}
