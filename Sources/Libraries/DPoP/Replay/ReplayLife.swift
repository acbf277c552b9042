#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One uninterrupted memory of used proofs: that of a process and of those that take it over, or of a store that
/// servers share.
///
/// What was used in an earlier life is forgotten. A proof that could have been accepted when this life began may have
/// been used before it: its time doesn't tell. A nonce of this life does (RFC 9449 section 8), since it wasn't known
/// before: see ``ServerNonces/bound(to:)``.
public struct ReplayLife: Hashable, Sendable {
    /// The possible numbers of bytes of ``id``.
    public static let idLengths = 16...64
    private static let randomWords = 4

    /// Each life has another one. It isn't secret.
    public let id: [UInt8]
    /// By the clock that proofs are verified with; nil: there was no life before.
    public let began: Date?

    /// - Parameter began: no earlier than the last use of a proof in an earlier life, which had the same clock; nil:
    ///   there was none.
    /// - Returns: nil if the length of `id` isn't one of ``idLengths``.
    public init?(id: [UInt8], began: Date?) {
        guard Self.idLengths.contains(id.count) else { return nil }
        (self.id, self.began) = (id, began)
    }

    /// A new life, with 32 random bytes as its identifier.
    ///
    /// - Parameter began: no earlier than the last use of a proof in an earlier life, which had the same clock; nil:
    ///   there was none.
    public init(began: Date?) {
        var generator = SystemRandomNumberGenerator()
        id = (0..<Self.randomWords).flatMap { _ in ShortHash.bytes(of: generator.next()) }
        self.began = began
    }

    /// Whether the proof can't have been used in an earlier life.
    public func excludesEarlierUse(of use: ProofUse) -> Bool {
        guard let began else { return true }
        return use.life == id || use.begins > began.wholeSeconds
    }
}
