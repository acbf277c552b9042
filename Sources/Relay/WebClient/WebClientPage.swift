package import Reactors

/// The web client, served at `/` where `ENABLE_WEB_CLIENT` is on: one page that is compiled into the program.
///
/// Its policy allows only the page's own script and style sheet, by their hashes: no other source, no inline handler, no framing, no
/// conversion of strings to markup. After editing the page, put the new hashes here; a test shows them.
package enum WebClientPage {
    private static let scriptHash = "HuWZ9536yYtOZFl9YvCgtjMT2kFjmBHJBIr1JxvuxEE="
    private static let styleHash = "JJFIgZa/8AeoWvAK1x9SkuBMDtZR0CThlXyAbRpZ7pA="

    package static let contentSecurityPolicy = [
        "default-src 'none'",
        "script-src 'sha256-\(scriptHash)'",
        "style-src 'sha256-\(styleHash)'",
        // The gateway that served the page, WebSockets included.
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    package static let answer = HTTPAnswer(
        status: 200,
        headers: [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Security-Policy", contentSecurityPolicy),
            // The page's address must not be sent to other sites, since it may contain a ticket.
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            // A page and the policy with its hashes belong together: another version of the gateway has different ones.
            ("Cache-Control", "no-store"),
        ],
        body: PackageResources.index_html)
}
