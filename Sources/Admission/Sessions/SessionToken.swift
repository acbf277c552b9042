import Crypto
import FoundationEssentials

/// What the client of a session comes back with: 32 random bytes as 64 hexadecimal digits. No description and no log has it.
package struct SessionToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let byteCount = 32
    /// Of the text.
    package static let characterCount = 64

    /// For the client alone; lower case.
    package let text: String

    /// - Parameter generator: must be a cryptographic one, as the system's is.
    package init(using generator: inout some RandomNumberGenerator) {
        text = Hexadecimal.encode((0..<Self.byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    /// All that is kept of a token: the SHA-256 of its text.
    var hash: Secret { Secret(Self.digest(of: text)) }

    /// What a text from a client is compared by. The text itself is hashed, so that there is one spelling of each token; of one that
    /// has another length than a token it isn't, so that nobody makes us hash much, and no token has what stands in its place.
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
