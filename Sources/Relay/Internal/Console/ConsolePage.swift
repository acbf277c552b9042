import Reactors

/// The console's page: compiled into the program, with the process' token put in.
///
/// Its policy is as strict as the web client's. After editing the page, put the new hashes here; a test shows them.
package enum ConsolePage {
    private static let scriptHash = "/cfEBzc7mG6Bnwep7pVab9cfvoZIactIV7BDzr50QGE="
    private static let styleHash = "SvnyiYpAMblb5vzJq6oamWvPvx1l2o2tp7JQ3/hhLfQ="
    private static let placeholder = Array("{{token}}".utf8)

    package static let contentSecurityPolicy = [
        "default-src 'none'",
        "script-src 'sha256-\(scriptHash)'",
        "style-src 'sha256-\(styleHash)'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    /// As it is in the program, without a token.
    package static let source = PackageResources.console_html

    /// - Parameter token: hexadecimal digits.
    static func answer(token: String) -> HTTPAnswer {
        HTTPAnswer(
            status: 200,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", contentSecurityPolicy),
                ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
                ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
                ("Cache-Control", "no-store"),
            ],
            body: page(token: token))
    }

    private static func page(token: String) -> [UInt8] {
        guard let start = source.indices.first(where: { source[$0...].starts(with: placeholder) }) else {
            return source
        }
        return source[..<start] + Array(token.utf8) + source[(start + placeholder.count)...]
    }
}
