import FoundationEssentials

/// The identifier of an App Attest key: the SHA-256 of its public key in X9.62 uncompressed form, as Apple defines `keyId`.
///
/// Clients send it as text, in base64 or base64url; it is compared and stored as its 32 bytes, so that a key has one name only.
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
    /// Anything else is refused: white space, a mix of both alphabets, another length, and bits set in the last character
    /// that encode nothing (they would give one key several names).
    package init?(text: String) {
        // A prefix is enough to know that the text is too long: it may come from a header of any size.
        var symbols = Array(text.utf8.prefix(Self.paddedLength + 1))
        if symbols.count == Self.paddedLength, symbols.last == UInt8(ascii: "=") { symbols.removeLast() }
        guard symbols.count == Self.paddedLength - 1, let standard = Self.standardAlphabet(symbols) else { return nil }

        let canonical = standard + "="
        guard let data = Data(base64Encoded: canonical), data.base64EncodedString() == canonical else { return nil }
        self.init(bytes: [UInt8](data))
    }

    /// The canonical text: standard base64 with padding, 44 characters. It is what Apple's `generateKey()` returns.
    package var base64: String { Data(bytes).base64EncodedString() }

    /// 32 bytes are 43 symbols and one padding character.
    private static let paddedLength = 44

    /// Rewrites base64url symbols as standard ones; nil when both alphabets occur in one text.
    private static func standardAlphabet(_ symbols: [UInt8]) -> String? {
        var standard: [UInt8] = []
        standard.reserveCapacity(symbols.count)
        var isStandard = false
        var isURLSafe = false
        for symbol in symbols {
            switch symbol {
            case UInt8(ascii: "-"):
                isURLSafe = true
                standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"):
                isURLSafe = true
                standard.append(UInt8(ascii: "/"))
            default:
                isStandard = isStandard || symbol == UInt8(ascii: "+") || symbol == UInt8(ascii: "/")
                standard.append(symbol)
            }
        }
        return isStandard && isURLSafe ? nil : String(decoding: standard, as: UTF8.self)
    }
}

extension KeyID: Comparable {
    /// The order of the bytes, which is the order of pages.
    package static func < (left: KeyID, right: KeyID) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

extension KeyID: CustomStringConvertible {
    package var description: String { base64 }
}
