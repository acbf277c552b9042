import Crypto
public import FoundationEssentials

/// The use of a proof that passed all other checks. Only ``DPoPVerifier`` makes one. It holds hashes: nothing that a client sent is kept.
public struct ProofUse: Hashable, Sendable {
    /// Names the key: 16 bytes of its thumbprint.
    public var key: [UInt8] { keyHash.bytes }
    /// Names the proof: 16 bytes of a SHA-256 over the key's thumbprint, the normalised `htu` and the `jti`. RFC 9449 section 11.1 wants a
    /// `jti` to be unique for its URI; each key has its own, so no client can use up another's.
    public var identity: [UInt8] { identityHash.bytes }
    /// The last whole second, since 1970, in which the proof could be accepted.
    public let expires: Int64

    let keyHash, identityHash: ShortHash

    init(key: JWKThumbprint, uri: TargetURI, id: String, expires: Date) {
        keyHash = ShortHash(key.bytes)
        var hash = SHA256()
        hash.update(data: key.bytes)
        // A normalised URI has no zero byte, so the two texts can't be divided differently.
        hash.update(data: Array(uri.text.utf8) + [0] + id.utf8)
        identityHash = ShortHash(Array(hash.finalize()))
        self.expires = expires.wholeSeconds
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

/// What became of the use of a proof.
public enum ReplaySpending: Hashable, Sendable {
    /// It was new, and is used now.
    case spent
    case replayed
    /// Its key has as many unexpired proofs as it may have.
    case keyLimit
    case full
    /// The store can't tell: it may have forgotten the proof.
    case undecidable
}

/// Remembers which proofs were used. A store that several servers share keeps the same contract.
public protocol ReplayStore: Sendable {
    /// One atomic step: of any number of callers with the same ``ProofUse/identity`` one gets ``ReplaySpending/spent``. A store that can't
    /// tell, or has no room, answers anything but that.
    func spend(_ use: ProofUse, at time: Date) -> ReplaySpending
}
