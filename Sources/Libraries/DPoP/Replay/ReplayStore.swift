import Crypto

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The use of a proof that passed all other checks. Only ``DPoPVerifier`` makes one. It contains only hashes, no client
/// input.
public struct ProofUse: Hashable, Sendable {
    /// Identifies the key: 16 bytes of its thumbprint.
    public var key: [UInt8] { keyHash.bytes }
    /// Identifies the proof: 16 bytes of a SHA-256 over the key's thumbprint, the normalised `htu` and the `jti`. RFC
    /// 9449 section 11.1 requires a `jti` to be unique for its URI; here each key has its own, so no client can spend
    /// another's.
    public var identity: [UInt8] { identityHash.bytes }
    /// The first and the last whole second, since 1970, in which the proof could be accepted.
    public let begins, expires: Int64
    /// ``ReplayLife/id`` of the life that the proof shows by its nonce; nil: it shows none.
    public private(set) var life: [UInt8]?

    let keyHash, identityHash: ShortHash

    /// - Parameter window: seconds by which `iat` may differ from now.
    init(key: JWKThumbprint, uri: TargetURI, id: String, issuedAt: Date, window: Double, life: [UInt8]? = nil) {
        keyHash = ShortHash(key.bytes)
        var hash = SHA256()
        hash.update(data: key.bytes)
        // A normalised URI has no zero byte, so the two texts can't be divided differently.
        hash.update(data: Array(uri.text.utf8) + [0] + id.utf8)
        identityHash = ShortHash(Array(hash.finalize()))
        (begins, expires) = ((issuedAt - window).wholeSeconds, (issuedAt + window).wholeSeconds)
        self.life = life
    }

    /// The same use, where something else than a nonce excludes an earlier one.
    package func shown(in life: ReplayLife) -> ProofUse {
        var use = self
        use.life = life.id
        return use
    }
}

/// The first 128 bits of a hash.
struct ShortHash: Hashable, Sendable {
    private let high, low: UInt64

    /// - Parameter hash: 16 bytes at least.
    init(_ hash: [UInt8]) {
        high = hash.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = hash.dropFirst(8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    var bytes: [UInt8] { Self.bytes(of: high) + Self.bytes(of: low) }

    static func bytes(of word: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
}

/// The outcome of the use of a proof.
public enum ReplaySpending: Hashable, Sendable {
    /// The proof was new and is now spent.
    case spent
    case replayed
    /// The key has reached its maximum of unexpired proofs.
    case keyLimit
    case full
    /// Unknown: the store may have dropped the proof already.
    case undecidable
    /// Unknown: the proof may have been used before the store's ``ReplayLife`` began. Another proof with a nonce of
    /// that life can be decided.
    case perhapsInEarlierLife
    /// Unknown: the store couldn't be asked.
    case unavailable
}

/// Records which proofs were used, in memory: it answers at once.
public protocol ReplayStore: Sendable {
    /// Atomic: exactly one of several callers with the same ``ProofUse/identity`` gets ``ReplaySpending/spent``,
    /// whatever its ``ProofUse/life`` is. A store that doesn't know, or has no room, must return another value. One
    /// that has begun anew doesn't know what ``ReplayLife/excludesEarlierUse(of:)`` doesn't exclude.
    func spend(_ use: ProofUse, at time: Date) -> ReplaySpending
}

/// Records which proofs were used, in a database for instance, which several servers share. Its contract is that of
/// ``ReplayStore``.
///
/// What it has spent it must know up to the end of the second ``ProofUse/expires``, by the clock of every server.
public protocol AsyncReplayStore: Sendable {
    /// - Returns: ``ReplaySpending/unavailable`` if it failed. The proof may be spent then: it must not be accepted.
    func spend(_ use: ProofUse, at time: Date) async -> ReplaySpending
}
