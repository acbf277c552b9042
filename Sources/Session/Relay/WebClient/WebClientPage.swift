package import Reactors

/// The web client, served at `/` where `ENABLE_WEB_CLIENT` is on: one page that is compiled into the program, with the
/// operator's texts put in.
package enum WebClientPage {
    package static let policy = PagePolicy(
        scriptHash: "71hMt8P0qdrQlb5uGPGnZi6DIXYPbz+DyPv0x8GmdM0=",
        styleHash: "n+4j4M/PQkXYjTgIe5K1DNF4cf9PL/r0jcQx1IXyn7k=")

    /// As it is in the program, without the operator's texts.
    package static let source = PackageResources.index_html

    private static let title = "Portcullis"
    private static let noTicket = "A ticket serves once and not for long: open the page with a new one."

    /// - Parameters:
    ///   - title: the game's name.
    ///   - noTicket: for a visitor who isn't admitted.
    package static func answer(title: String? = nil, noTicket: String? = nil) -> HTTPAnswer {
        let texts = [Array("title".utf8): title ?? self.title, Array("no-ticket".utf8): noTicket ?? self.noTicket]
        return policy.answer(page(texts))
    }

    private static let (opening, closing) = (Array("{{".utf8), Array("}}".utf8))

    /// - Parameter texts: for the places in double braces, by name.
    private static func page(_ texts: [[UInt8]: String]) -> [UInt8] {
        var (page, rest): ([UInt8], ArraySlice<UInt8>) = ([], source[...])
        while let start = rest.firstRange(of: opening),
            let end = rest[start.upperBound...].firstRange(of: closing)
        {
            page += rest[..<start.lowerBound]
            page += HTMLText.escaped(texts[Array(rest[start.upperBound..<end.lowerBound])] ?? "")
            rest = rest[end.upperBound...]
        }
        return page + rest
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
