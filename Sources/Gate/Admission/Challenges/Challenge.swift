import Crypto
package import DPoP
import FoundationEssentials
import WireText

/// The 32 bytes of a challenge. It carries everything needed to recognise it, so issuing one takes no memory.
///
/// ```
/// byte  0            10          16                              32
///       ┌────────────┬───────────┬───────────────────────────────┐
///       │ randomness │ issued at │ MAC                           │
///       │ 10 bytes   │ 6 bytes   │ 16 bytes                      │
///       └────────────┴───────────┴───────────────────────────────┘
///       └──────── identity ──────┘
/// ```
/// - *randomness*: distinguishes challenges of the same millisecond. It may be guessable: the MAC prevents forgery.
/// - *issued at*: milliseconds since the process' epoch, or of the fleet's time, big-endian. 48 bits last for 8,900
///   years, so the value never wraps.
/// - *MAC*: the first 128 bits of HMAC-SHA256 over the other 16 bytes under a key of this process or of its fleet. A
///   guess is correct with probability 2⁻¹²⁸.
struct Challenge {
    static let byteCount = 32
    private static let identityByteCount = 16
    private static let randomByteCount = 10

    let bytes: [UInt8]

    init?(hex: String) {
        guard let bytes = Hexadecimal.decode(hex, count: Self.byteCount) else { return nil }
        self.bytes = bytes
    }

    /// - Parameter base64URL: without padding, in its one form.
    init?(base64URL: String) {
        guard let bytes = Base64URL.decode(base64URL), bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    /// - Parameter base64: padded, in its one form.
    init?(base64: String) {
        guard let bytes = Base64.decode(canonical: base64, maximumBytes: Self.byteCount), bytes.count == Self.byteCount
        else { return nil }
        self.bytes = bytes
    }

    /// - Parameters:
    ///   - milliseconds: since the epoch; only the low 48 bits are kept.
    ///   - more: what the MAC covers besides; whoever recognises the challenge must have the same.
    init(issuedAt milliseconds: UInt64, key: ChallengeKey, covering more: [UInt8] = []) {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        // Each number is a system call: two calls instead of ten.
        Self.append(generator.next(), low: 8, to: &bytes)
        Self.append(generator.next(), low: Self.randomByteCount - 8, to: &bytes)
        Self.append(milliseconds, low: Self.identityByteCount - Self.randomByteCount, to: &bytes)
        bytes += Self.mac(over: more.isEmpty ? bytes[...] : (bytes + more)[...], key: key)
        self.bytes = bytes
    }

    var hex: String { Hexadecimal.encode(bytes) }
    var base64URL: String { Base64URL.encode(bytes) }
    var base64: String { Base64.encode(bytes) }

    func isAuthentic(under key: ChallengeKey, covering more: [UInt8] = []) -> Bool {
        let covered = more.isEmpty ? bytes.prefix(Self.identityByteCount) : (identityBytes + more)[...]
        let expected = Secret(Self.mac(over: covered, key: key))
        return expected.matches(bytes.dropFirst(Self.identityByteCount))
    }

    /// Milliseconds since the epoch; meaningful only if the challenge is authentic.
    var issuedAt: UInt64 { number(Self.randomByteCount..<Self.identityByteCount) }

    /// The bytes of ``identity``.
    var identityBytes: [UInt8] { Array(bytes.prefix(Self.identityByteCount)) }

    /// Two authentic challenges with the same identity are the same challenge.
    var identity: ChallengeIdentity { ChallengeIdentity(high: number(0..<8), low: number(8..<16)) }

    private func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }

    private static func append(_ number: UInt64, low count: Int, to bytes: inout [UInt8]) {
        for place in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (place * 8))) }
    }

    private static func mac(over covered: ArraySlice<UInt8>, key: ChallengeKey) -> ArraySlice<UInt8> {
        Array(key.authenticationCode(over: covered)).prefix(byteCount - identityByteCount)
    }
}

/// The MAC key of challenges, as an HMAC-SHA256 state already initialised with it: this saves half of the work for so
/// short a message.
struct ChallengeKey: Sendable {
    private let authenticator: HMAC<SHA256>

    init(_ key: SymmetricKey) { authenticator = HMAC<SHA256>(key: key) }

    func authenticationCode(over bytes: ArraySlice<UInt8>) -> HMAC<SHA256>.MAC {
        var authenticator = authenticator
        authenticator.update(data: bytes)
        return authenticator.finalize()
    }
}

/// The key of a process and of those that take over from it.
struct OwnChallengeKey: Sendable {
    let key: ChallengeKey
    /// For the process that replaces this one.
    let secret: Secret

    init() {
        var generator = SystemRandomNumberGenerator()
        self.init(Secret((0..<4).flatMap { _ in Self.bytes(of: generator.next()) }))
    }

    init(_ secret: Secret) {
        self.secret = secret
        key = ChallengeKey(SymmetricKey(data: secret.carried))
    }

    private static func bytes(of word: UInt64) -> [UInt8] {
        stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }
}

/// The part of a challenge that the MAC covers: the 16 bytes that are stored for a spent challenge.
struct ChallengeIdentity: Hashable, Sendable {
    let high: UInt64
    let low: UInt64
}

/// An authentic challenge that was neither expired nor spent. Only ``Challenges`` makes one, and only once per
/// challenge.
package struct SpentChallenge: Sendable {
    /// SHA-256 of the challenge's 32 bytes: what a device signs in registrations and assertions.
    package let clientDataHash: [UInt8]

    /// In a fleet: this gateway alone knows so far that the challenge is spent, and it counts as spent only when the
    /// fleet knows it too. `nil` for a single gateway.
    let fleetUse: FleetUse?

    init(_ challenge: Challenge, in fleet: FleetUse?) {
        fleetUse = fleet
        clientDataHash = Array(SHA256.hash(data: challenge.bytes))
    }
}

/// An authentic challenge of the token dialect that was neither expired nor spent when it was examined. It admits
/// nobody: only spending it decides, and of several requests with it one succeeds.
package struct OpenChallenge: Sendable {
    private let bytes: [UInt8]

    init(_ challenge: Challenge) { bytes = challenge.bytes }

    /// What a device signs in the token dialect: SHA-256 of the challenge's bytes and of the SHA-256 of the canonical
    /// JWK.
    package func clientDataHash(binding key: PublicJWK) -> [UInt8] {
        Array(SHA256.hash(data: bytes + key.thumbprint.bytes))
    }
}

/// The outcome of an examination that spends nothing.
package enum ChallengeExamination: Sendable {
    case open(OpenChallenge)
    /// Never `.spent`, nor `.full`.
    case refused(ChallengeSpending)
}

/// The outcome of an attempt to spend a challenge.
package enum ChallengeSpending: Sendable {
    case spent(SpentChallenge)
    /// Not 64 hexadecimal digits.
    case malformed
    /// Its MAC isn't ours: forged, damaged, of another process, or of an earlier incarnation of the fleet's store.
    case foreign
    case expired(ageSeconds: Int, lifeSeconds: Int)
    /// Authentic, but issued in the future. This can't happen with a correct clock.
    case notYetIssued
    case alreadySpent
    /// `MAX_SPENT_PROOFS` are remembered already. The challenge remains valid; retry after this many seconds.
    case full(retryAfter: Int)

    /// For the audit log.
    var failed: FailedCheck {
        switch self {
        case .expired(let age, let life):
            FailedCheck(.challenge, expected: "a challenge of the last \(life) s", received: "one of \(age) s ago")
        case .foreign:
            FailedCheck(
                .challenge, expected: "a challenge that this process issued for this purpose",
                received: "another: of before a restart, of another gateway, of the other dialect, or damaged")
        case .malformed:
            FailedCheck(
                .challenge, expected: "the challenge as the gateway sent it", received: "a text of another form")
        case .alreadySpent:
            FailedCheck(.challenge, expected: "a challenge that was not used yet", received: "one that was used before")
        case .spent, .notYetIssued, .full: FailedCheck(.challenge)
        }
    }

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
