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
    init(issuedAt milliseconds: UInt64, key: SymmetricKey) {
        var generator = SystemRandomNumberGenerator()
        // Each number is a system call, so two of them and not ten.
        let numbers = [generator.next(), generator.next()] as [UInt64]
        let random = numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
        let time = stride(from: UInt64(40), through: 0, by: -8).map { UInt8(truncatingIfNeeded: milliseconds >> $0) }
        let identity = Array(random.prefix(Self.randomByteCount)) + time
        bytes = identity + Self.mac(over: identity, key: key)
    }

    var hex: String { Hexadecimal.encode(bytes) }

    func isAuthentic(under key: SymmetricKey) -> Bool {
        let expected = Secret(Self.mac(over: Array(bytes.prefix(Self.identityByteCount)), key: key))
        return expected.matches(bytes.dropFirst(Self.identityByteCount))
    }

    /// Milliseconds since the epoch; means something only if the challenge is authentic.
    var issuedAt: UInt64 {
        bytes[Self.randomByteCount..<Self.identityByteCount].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Two authentic challenges with one identity are the same challenge.
    var identity: ChallengeIdentity {
        let halves = [bytes[0..<8], bytes[8..<16]].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        return ChallengeIdentity(high: halves[0], low: halves[1])
    }

    private static func mac(over identity: [UInt8], key: SymmetricKey) -> ArraySlice<UInt8> {
        Array(HMAC<SHA256>.authenticationCode(for: identity, using: key)).prefix(byteCount - identityByteCount)
    }
}

/// The part of a challenge under the MAC, in the 16 bytes that a remembered challenge costs.
struct ChallengeIdentity: Hashable, Sendable {
    let high: UInt64
    let low: UInt64
}
