import Crypto
import WireText

/// The SHA-256 thumbprint of a JWK (RFC 7638), which RFC 9449 calls `jkt`.
public struct JWKThumbprint: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]
    /// base64url without padding: ``textLength`` characters.
    public let text: String

    public static let byteCount = 32
    public static let textLength = 43

    /// - Returns: nil for any other number of bytes than ``byteCount``.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
        text = Base64URL.encode(bytes)
    }

    /// Reads the text of a `jkt` member.
    ///
    /// - Returns: nil for anything but the canonical base64url of 32 bytes.
    public init?(text: String) {
        guard text.utf8.count == Self.textLength, let bytes = Base64URL.decode(text) else { return nil }
        self.bytes = bytes
        self.text = text
    }

    /// - Parameter members: the required members of the JWK in lexicographic order, as compact JSON (RFC 7638 section
    ///   3).
    init(hashing members: [UInt8]) {
        bytes = Array(SHA256.hash(data: members))
        text = Base64URL.encode(bytes)
    }

    public var description: String { text }
}
