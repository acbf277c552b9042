import WireText

/// The name of an account: 16 random bytes, which say nothing of its player. It isn't secret.
package struct AccountID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package static let length = 16

    package let bytes: [UInt8]

    /// - Returns: nil for any other number of bytes than ``length``.
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

    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// Crosses to the process that replaces this one as its text.
extension AccountID: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = AccountID(text: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an account")
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// A passkey by the SHA-256 of its credential identifier, which may have 1,023 bytes: stores find passkeys by it, and
/// access tokens name the one that they were issued for.
package struct PasskeyMark: Hashable, Sendable, Comparable {
    package static let length = 32

    package let bytes: [UInt8]

    /// - Returns: nil for any other number of bytes than ``length``.
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

    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// Crosses as its text, too.
extension PasskeyMark: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let mark = PasskeyMark(text: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a passkey")
        }
        self = mark
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
