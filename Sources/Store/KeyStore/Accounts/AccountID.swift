import WireText

/// The name of an account: 16 random bytes, which say nothing of its player. It isn't secret.
package struct AccountID: NamedBytes, CustomStringConvertible {
    package static let length = 16

    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// - Returns: nil for anything but 32 hexadecimal digits in lower case: each account has one spelling.
    package init?(text: String) {
        guard let bytes = Hexadecimal.decode(text, count: Self.length), Hexadecimal.encode(bytes).hasSameBytes(as: text)
        else { return nil }
        self.bytes = bytes
    }

    /// 32 hexadecimal digits in lower case.
    package var text: String { Hexadecimal.encode(bytes) }

    package var description: String { text }
}

/// A passkey by the SHA-256 of its credential identifier, which may have 1,023 bytes: stores find passkeys by it, and
/// access tokens name the one that they were issued for.
package struct PasskeyMark: NamedBytes {
    package static let length = 32

    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// - Returns: nil for anything but base64url of 32 bytes.
    package init?(text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// base64url, 43 characters.
    package var text: String { Base64URL.encode(bytes) }
}
