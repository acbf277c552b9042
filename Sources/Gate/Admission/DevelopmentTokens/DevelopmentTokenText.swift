import Crypto
package import KeyStore
import WireText

/// The text of a development token: `pcdev_` and 256 random bits in lower-case hexadecimal. No description shows it.
package struct DevelopmentTokenText: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    package static let randomBytes = 32
    /// Scanners for leaked secrets recognise it.
    package static let prefix = "pcdev_"
    private static let length = prefix.utf8.count + 2 * randomBytes

    /// Secret.
    package let text: String

    /// - Parameter random: ``randomBytes`` bytes of a cryptographic random number generator.
    /// - Returns: nil for another number of bytes.
    package init?(random: [UInt8]) {
        guard random.count == Self.randomBytes else { return nil }
        text = Self.prefix + Hexadecimal.encode(random)
    }

    /// - Returns: nil for a text that can't be a token, so that no other text is hashed.
    package init?(presented text: String) {
        guard text.utf8.count == Self.length, text.hasBytePrefix(Self.prefix) else { return nil }
        self.text = text
    }

    /// Tokens are looked up by hash, so no secret is compared with client input.
    package var hash: DevelopmentTokenHash {
        guard let hash = DevelopmentTokenHash(bytes: Array(SHA256.hash(data: Array(text.utf8)))) else {
            preconditionFailure("SHA-256 has \(DevelopmentTokenHash.length) bytes")
        }
        return hash
    }

    package var description: String { "(development token)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
