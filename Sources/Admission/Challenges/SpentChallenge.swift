import Crypto
import FoundationEssentials

/// A challenge of ours that was in time and that nobody had used before. Only ``Challenges`` makes one, and one of each challenge.
package struct SpentChallenge: Sendable {
    /// SHA-256 of the challenge's 32 bytes: what a device signs, in registration as in assertion.
    package let clientDataHash: [UInt8]

    init(_ challenge: Challenge) { clientDataHash = Array(SHA256.hash(data: challenge.bytes)) }
}

/// What became of an attempt to spend a challenge.
package enum ChallengeSpending: Sendable {
    case spent(SpentChallenge)
    /// Not 64 hexadecimal digits.
    case malformed
    /// Its MAC isn't ours: forged, damaged, or of another process.
    case foreign
    case expired
    /// Ours, from a moment that hasn't come. With sane clocks it doesn't occur.
    case notYetIssued
    case alreadySpent
    /// `MAX_SPENT_CHALLENGES` are remembered. The challenge remains good. Worth another try after this many seconds.
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
