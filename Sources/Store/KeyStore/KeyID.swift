import WireText

/// The identifier of an App Attest key: the SHA-256 of its public key in X9.62 uncompressed form, as Apple defines
/// `keyId`.
///
/// Clients send it as text, in base64 or base64url; it is compared and stored as 32 bytes, so a key has only one name.
package struct KeyID: Hashable, Sendable {
    /// Length of an identifier, in bytes.
    package static let length = 32

    /// Always 32 bytes.
    package let bytes: [UInt8]

    /// Takes exactly 32 bytes; nil for any other number.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// Reads base64 or base64url (RFC 4648 §4 and §5), with or without its one padding character.
    ///
    /// Anything else is refused: white space, a mix of both alphabets, another length, and bits set in the last
    /// character that encode nothing (they would give one key several names).
    package init?(text: String) {
        guard let bytes = Base64.decode(text, maximumBytes: Self.length) else { return nil }
        self.init(bytes: bytes)
    }

    /// The canonical text: standard base64 with padding, 44 characters. It is what Apple's `generateKey()` returns.
    package var base64: String { Base64.encode(bytes) }
}

/// As its canonical text.
extension KeyID: Codable {
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let id = KeyID(text: text) else { throw MalformedKeyID() }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(base64)
    }

    private struct MalformedKeyID: Error {}
}

extension KeyID: Comparable {
    /// Ordered by bytes, which is also the order of pages.
    package static func < (left: KeyID, right: KeyID) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

extension KeyID: CustomStringConvertible {
    package var description: String { base64 }
}
