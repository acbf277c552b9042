package import Accounts
package import Reactors

/// The web client, served at `/` where `ENABLE_WEB_CLIENT` is on: one page that is compiled into the program, with the
/// operator's texts put in. Where the gateway has accounts, it also has the part that signs players in.
package enum WebClientPage {
    /// What the page has to know to sign players in.
    package struct Passkeys: Sendable {
        /// `PUBLIC_ORIGIN`, which proofs name.
        let origin: String
        let signUp: SignUpRule

        package init(origin: String, signUp: SignUpRule) { (self.origin, self.signUp) = (origin, signUp) }
    }

    package static let policy = PagePolicy(scriptHashes: scriptHash, styleHash: styleHash)
    package static let policyWithPasskeys = PagePolicy(
        scriptHashes: scriptHash, passkeyScriptHash, styleHash: styleHash)

    private static let scriptHash = "1jc8toyVKZBbu6T5A4D5ugy8qlytvyeCiZkoHjNAPSI="
    private static let passkeyScriptHash = "smwdoRYcZW+sHWNHHeuzmVwnJk5Ql162ksvL5G0Hs1U="
    private static let styleHash = "oRlvgfJ7zrCezVHGvLKmWuu3OgPNUtDFr42+y5I5X+Q="

    /// As it is in the program, without the operator's texts.
    package static let source = PackageResources.index_html
    /// The part for passkeys, in the same way.
    package static let passkeySource = PackageResources.passkeys_html

    private static let title = "Portcullis"
    private static let noTicket = "A ticket serves once and not for long: open the page with a new one."

    /// - Parameters:
    ///   - title: the game's name.
    ///   - noTicket: for a visitor who isn't admitted.
    ///   - passkeys: nil without accounts.
    package static func answer(
        title: String? = nil, noTicket: String? = nil, passkeys: Passkeys? = nil
    ) -> HTTPAnswer {
        let part = passkeys.map { passkeys in
            filled(
                passkeySource,
                [
                    Array("origin".utf8): HTMLText.escaped(passkeys.origin),
                    Array("sign-up".utf8): Array(passkeys.signUp.rawValue.utf8),
                ])
        }
        let page = filled(
            source,
            [
                Array("title".utf8): HTMLText.escaped(title ?? self.title), Array("passkeys".utf8): part ?? [],
                Array("no-ticket".utf8): HTMLText.escaped(noTicket ?? self.noTicket),
            ])
        return (part == nil ? policy : policyWithPasskeys).answer(page)
    }

    /// - Parameter markup: for the places in double braces, by name. It isn't searched for further places.
    private static func filled(_ source: [UInt8], _ markup: [[UInt8]: [UInt8]]) -> [UInt8] {
        var (page, rest): ([UInt8], ArraySlice<UInt8>) = ([], source[...])
        while let start = pair(of: UInt8(ascii: "{"), in: rest),
            let end = pair(of: UInt8(ascii: "}"), in: rest[start...])
        {
            page += rest[..<start]
            page += markup[Array(rest[(start + 2)..<end])] ?? []
            rest = rest[(end + 2)...]
        }
        return page + rest
    }

    /// Where a byte stands twice, for the first time.
    private static func pair(of brace: UInt8, in bytes: ArraySlice<UInt8>) -> Int? {
        var rest = bytes
        while let first = rest.firstIndex(of: brace), first + 1 < bytes.endIndex {
            guard bytes[first + 1] != brace else { return first }
            rest = bytes[(first + 1)...]
        }
        return nil
    }
}

/// Text as the content of an element, or as the value of an attribute in double quotes (HTML, section 13.1.2).
enum HTMLText {
    static func escaped(_ text: String) -> [UInt8] {
        text.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "&"): Array("&amp;".utf8)
            case UInt8(ascii: "<"): Array("&lt;".utf8)
            case UInt8(ascii: ">"): Array("&gt;".utf8)
            case UInt8(ascii: "\""): Array("&quot;".utf8)
            default: [byte]
            }
        }
    }
}
