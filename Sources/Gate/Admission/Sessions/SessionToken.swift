import Crypto
import FoundationEssentials
import WireText

/// The token that a client presents to resume its session: 32 random bytes as 64 hexadecimal digits. No description and
/// no log contains it.
package struct SessionToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let byteCount = 32
    /// The length of the text.
    package static let characterCount = 64

    /// For the client alone; lower case.
    package let text: String

    /// - Parameter generator: must be cryptographically secure, like the system's.
    package init(using generator: inout some RandomNumberGenerator) {
        text = Hexadecimal.encode(RandomBytes.make(Self.byteCount, using: &generator))
    }

    /// Whether a text has the form of a token.
    package static func isText(_ text: String) -> Bool {
        text.utf8.count == characterCount
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    /// The only stored form of a token: the SHA-256 of its text.
    var hash: Secret { Secret(Self.digest(of: text)) }

    /// The hash for comparing a text from a client. The text is hashed, not the decoded bytes, so each token has one
    /// spelling. A text of the wrong length isn't hashed, which bounds the work; its substitute matches no token.
    static func digest(of text: String) -> [UInt8] {
        let isOfLength = text.utf8.count == characterCount
        let digest = Array(
            SHA256.hash(data: isOfLength ? Array(text.utf8) : [UInt8](repeating: 0, count: characterCount)))
        return isOfLength ? digest : Array(repeating: 0, count: digest.count)
    }

    package var description: String { "(session token)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
