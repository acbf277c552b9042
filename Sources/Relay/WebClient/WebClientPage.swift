package import Reactors

/// The web client, served at `/` where `ENABLE_WEB_CLIENT` is on: one page that is compiled into the program.
///
/// Its policy allows the page's own script and style sheet by their hashes and nothing else: no other source, no inline handler, no
/// frame around it, no way from a string to markup. Whoever edits the page puts the new hashes here; a test says what they are.
package enum WebClientPage {
    private static let scriptHash = "Wqb1+oyl2TIiA2iczA0gInHJOTZrKHQDGc8m3sjGBsc="
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
            // Where the page came from is nobody's business, least of all with a ticket in its address.
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            // A page and the policy that names its hashes belong together: a gateway of another version has others.
            ("Cache-Control", "no-store"),
        ],
        body: PackageResources.index_html)
}
