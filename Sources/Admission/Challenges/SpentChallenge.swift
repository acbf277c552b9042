import Crypto
package import DPoP
import FoundationEssentials

/// An authentic challenge that was neither expired nor spent. Only ``Challenges`` makes one, and only once per challenge.
package struct SpentChallenge: Sendable {
    /// SHA-256 of the challenge's 32 bytes: what a device signs in registrations and assertions.
    package let clientDataHash: [UInt8]

    private let bytes: [UInt8]

    init(_ challenge: Challenge) {
        bytes = challenge.bytes
        clientDataHash = Array(SHA256.hash(data: challenge.bytes))
    }

    /// What a device signs in the token dialect: SHA-256 of the challenge's bytes and of the SHA-256 of the canonical JWK.
    package func clientDataHash(binding key: PublicJWK) -> [UInt8] {
        Array(SHA256.hash(data: bytes + key.thumbprint.bytes))
    }
}

/// The outcome of an attempt to spend a challenge.
package enum ChallengeSpending: Sendable {
    case spent(SpentChallenge)
    /// Not 64 hexadecimal digits.
    case malformed
    /// Its MAC isn't ours: forged, damaged, or of another process.
    case foreign
    case expired
    /// Authentic, but issued in the future. This can't happen with a correct clock.
    case notYetIssued
    case alreadySpent
    /// `MAX_SPENT_CHALLENGES` are remembered already. The challenge remains valid; retry after this many seconds.
    case full(retryAfter: Int)

    /// For the log.
    package var detail: String {
        switch self {
        case .spent: "challenge spent"
        case .malformed: "challenge is malformed"
        case .foreign: "challenge is not of this process"
        case .expired: "challenge has expired"
        case .notYetIssued: "challenge is from the future"
        case .alreadySpent: "challenge was already used"
        case .full: "spent challenges are at their maximum"
        }
    }
}
