import Reactors

/// The console's page: compiled into the program, with the process' token put in.
package enum ConsolePage {
    private static let placeholder = Array("{{token}}".utf8)

    package static let policy = PagePolicy(
        scriptHashes: "sVWb+JB0Wy6CJVY6YHev/nWEFs7Tq2eHpHA1ORn1WL4=",
        styleHash: "SvnyiYpAMblb5vzJq6oamWvPvx1l2o2tp7JQ3/hhLfQ=")

    /// As it is in the program, without a token.
    package static let source = PackageResources.console_html

    /// - Parameter token: hexadecimal digits.
    static func answer(token: String) -> HTTPAnswer { policy.answer(page(token: token)) }

    private static func page(token: String) -> [UInt8] {
        guard let start = source.indices.first(where: { source[$0...].starts(with: placeholder) }) else {
            return source
        }
        return source[..<start] + Array(token.utf8) + source[(start + placeholder.count)...]
    }
}
