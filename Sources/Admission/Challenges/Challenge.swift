import Crypto
import FoundationEssentials

/// The 32 bytes of a challenge. It carries everything that is needed to recognise it, so that handing one out costs no memory.
///
/// ```
/// byte  0            10          16                              32
///       ┌────────────┬───────────┬───────────────────────────────┐
///       │ randomness │ issued at │ MAC                           │
///       │ 10 bytes   │ 6 bytes   │ 16 bytes                      │
///       └────────────┴───────────┴───────────────────────────────┘
///       └──────── identity ──────┘
/// ```
/// - *randomness*: sets apart the challenges of one millisecond. Nobody needs to be kept from guessing it: that is the MAC's work.
/// - *issued at*: milliseconds since the process' epoch, big-endian. 48 bits last for 8,900 years, so a time never comes round again.
/// - *MAC*: the first 128 bits of HMAC-SHA256 over the other 16 bytes under a key of this process. A guess is right once in 2¹²⁸.
struct Challenge {
    static let byteCount = 32
    private static let identityByteCount = 16
    private static let randomByteCount = 10

    let bytes: [UInt8]

    init?(hex: String) {
        guard let bytes = Hexadecimal.decode(hex, count: Self.byteCount) else { return nil }
        self.bytes = bytes
    }

    /// - Parameter milliseconds: since the epoch; only the low 48 bits are kept.
    init(issuedAt milliseconds: UInt64, key: ChallengeKey) {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        // Each number is a system call, so two of them and not ten.
        Self.append(generator.next(), low: 8, to: &bytes)
        Self.append(generator.next(), low: Self.randomByteCount - 8, to: &bytes)
        Self.append(milliseconds, low: Self.identityByteCount - Self.randomByteCount, to: &bytes)
        bytes += Self.mac(over: bytes[...], key: key)
        self.bytes = bytes
    }

    var hex: String { Hexadecimal.encode(bytes) }

    func isAuthentic(under key: ChallengeKey) -> Bool {
        let expected = Secret(Self.mac(over: bytes.prefix(Self.identityByteCount), key: key))
        return expected.matches(bytes.dropFirst(Self.identityByteCount))
    }

    /// Milliseconds since the epoch; means something only if the challenge is authentic.
    var issuedAt: UInt64 { number(Self.randomByteCount..<Self.identityByteCount) }

    /// Two authentic challenges with one identity are the same challenge.
    var identity: ChallengeIdentity { ChallengeIdentity(high: number(0..<8), low: number(8..<16)) }

    private func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }

    private static func append(_ number: UInt64, low count: Int, to bytes: inout [UInt8]) {
        for place in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> (place * 8))) }
    }

    private static func mac(over identity: ArraySlice<UInt8>, key: ChallengeKey) -> ArraySlice<UInt8> {
        Array(key.authenticationCode(over: identity)).prefix(byteCount - identityByteCount)
    }
}

/// The key of a process' challenges: HMAC-SHA256 that has taken it in already, which is half of the work for so short a message.
struct ChallengeKey: Sendable {
    private let authenticator = HMAC<SHA256>(key: SymmetricKey(size: .bits256))

    func authenticationCode(over bytes: ArraySlice<UInt8>) -> HMAC<SHA256>.MAC {
        var authenticator = authenticator
        authenticator.update(data: bytes)
        return authenticator.finalize()
    }
}

/// The part of a challenge under the MAC, in the 16 bytes that a remembered challenge costs.
struct ChallengeIdentity: Hashable, Sendable {
    let high: UInt64
    let low: UInt64
}
