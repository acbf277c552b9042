import Crypto
import WireText

/// A credential for clients that can't send headers, put into the URL: 32 random bytes. It admits its bearer, so no description and no log
/// contains it.
package struct Ticket: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let byteCount = 32
    /// The length of the text: base64url (RFC 4648 section 5) without padding.
    static let characterCount = 43

    /// For the client alone.
    package let text: String

    init() {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: 0...255, using: &generator) }
        text = Base64URL.encode(bytes)
    }

    package var description: String { "(ticket)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The only stored form of a ticket: the SHA-256 of its text. The timing of a look-up by hash reveals nothing useful: an attacker can't
/// choose a hash, and knowing one doesn't help.
struct TicketHash: Hashable, Sendable {
    private let digest: SHA256Digest

    /// `nil` for a text that can't be a ticket. The text is hashed, not the decoded bytes, so each ticket has one spelling.
    init?(_ text: String) {
        guard text.utf8.count == Ticket.characterCount else { return nil }
        digest = SHA256.hash(data: Array(text.utf8))
    }

    init(_ ticket: Ticket) { digest = SHA256.hash(data: Array(ticket.text.utf8)) }
}

/// Identifies a ticket in logs and as an identity. It reveals nothing about the ticket itself.
package struct TicketID: Hashable, Sendable {
    private let number: UInt64

    init() { number = .random(in: .min ... .max) }

    /// 16 hexadecimal digits.
    package var text: String {
        Hexadecimal.encode(stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) })
    }
}
