import Crypto
import DPoP
import FoundationEssentials
import Synchronization

/// A cache of access tokens whose signature was verified: a token costs one signature check, not one per request.
/// Shared by all reactors.
///
/// What can change is checked at each use: the time, and whether the signing key is still published. Tokens are looked
/// up by the SHA-256 of the presented text and its scheme. There are two generations: when the younger one is full, it
/// replaces the older one, so the memory is bounded and a token in use stays cached.
final class VerifiedTokens: Sendable {
    /// The maximum number of cached tokens, in both generations together. A token of this gateway takes at most 3 KiB.
    static let maximum = 4_096

    private struct Generations {
        var young: [Digest: VerifiedAccessToken] = [:]
        var old: [Digest: VerifiedAccessToken] = [:]
    }

    private typealias Digest = SHA256.Digest

    private let maximum: Int
    private let generations = Mutex(Generations())

    init(maximum: Int = VerifiedTokens.maximum) { self.maximum = max(2, maximum) }

    var count: Int { generations.withLock { $0.young.count + $0.old.count } }

    /// - Parameters:
    ///   - published: the keys that may have signed.
    ///   - verify: called for a token that isn't cached.
    func verified(
        _ token: PresentedToken, at time: Date, signedBy published: JWKSet,
        verify: () throws(AccessTokenRefusal) -> VerifiedAccessToken
    ) throws(AccessTokenRefusal) -> VerifiedAccessToken {
        let digest = SHA256.hash(data: Array((token.scheme == .dpop ? "d" : "b").utf8) + token.text.utf8)
        if let known = generations.withLock({ $0.young[digest] ?? $0.old[digest] }) {
            guard published.keys.contains(where: { $0.thumbprint.text == known.keyID }) else { throw .unknownKey }
            guard time < known.claims.expiresAt else { throw .expired }
            guard known.claims.issuedAt <= time else { throw .notYetValid }
            return known
        }
        let verified = try verify()
        generations.withLock { generations in
            if generations.young.count >= maximum / 2 {
                generations.old = generations.young
                generations.young = [:]
            }
            generations.young[digest] = verified
        }
        return verified
    }
}
