import Crypto
import WireText

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Server nonces (RFC 9449 section 8) that use no memory: a MAC over the number of a time step. Every server with the
/// same secret issues and accepts the same nonces, which therefore survive a restart, unless they are bound to a
/// ``ReplayLife``.
///
/// A nonce is valid in its own step and the two adjacent ones: for one to two steps after it was issued, and servers'
/// clocks may differ by a step.
public struct ServerNonces: Sendable {
    /// The minimum size of the secret.
    public static let minimumSecretBytes = 32
    /// Seconds.
    public static let defaultStep = 60.0
    private static let macBytes = 16
    /// Keeps these MACs apart from others under the same secret.
    private static let purpose = Array("DPoP-Nonce".utf8)

    /// Keeps the keys of lives apart from others under the same secret.
    private static let lifePurpose = Array("DPoP-Nonce of a life".utf8)

    /// ``ReplayLife/id`` of the life that these nonces are bound to; nil: they are bound to none.
    public let life: [UInt8]?
    private let secret: SymmetricKey
    private let key: HMAC<SHA256>
    private let step: Double

    /// - Parameters:
    ///   - secret: random bytes, at least ``minimumSecretBytes``.
    ///   - step: seconds, at least one.
    /// - Returns: nil for a shorter secret or step.
    public init?(secret: [UInt8], step: Double = defaultStep) {
        guard secret.count >= Self.minimumSecretBytes, step >= 1, step.isFinite else { return nil }
        self.init(SymmetricKey(data: secret), key: SymmetricKey(data: secret), life: nil, step: step)
    }

    private init(_ secret: SymmetricKey, key: SymmetricKey, life: [UInt8]?, step: Double) {
        (self.secret, self.life, self.step) = (secret, life, step)
        self.key = HMAC<SHA256>(key: key)
    }

    /// The nonces of one life: a proof that has one was made in it. Every server with the same secret that knows the
    /// life's identifier issues and accepts the same ones, and none of another life.
    public func bound(to life: ReplayLife) -> ServerNonces {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, salt: life.id, info: Self.lifePurpose,
            outputByteCount: Self.minimumSecretBytes)
        return ServerNonces(secret, key: key, life: life.id, step: step)
    }

    /// The nonce to send: base64url, 22 characters.
    public func nonce(at time: Date) -> String { nonce(of: number(at: time)) }

    /// Whether a proof with this nonce is accepted now.
    public func accepts(_ nonce: String, at time: Date) -> Bool { age(of: nonce, at: time) != nil }

    /// Whether a response should contain a new one in `DPoP-Nonce`: the client has none, or one of another step. A
    /// client that sends requests at least once a step is therefore never refused for its nonce.
    public func isRenewalDue(_ nonce: String?, at time: Date) -> Bool {
        guard let nonce, let age = age(of: nonce, at: time) else { return true }
        return age > 0
    }

    /// In steps: 1 for the previous step's nonce, -1 for the next one's; nil for any other. Takes constant time.
    private func age(of nonce: String, at time: Date) -> Int64? {
        guard let presented = Base64URL.decode(nonce), presented.count == Self.macBytes else { return nil }
        let number = number(at: time)
        var found: Int64?
        for age: Int64 in [-1, 0, 1] where Self.isEqual(mac(of: number &- age), presented) { found = age }
        return found
    }

    private func number(at time: Date) -> Int64 { (time.timeIntervalSince1970 / step).wholeSeconds }

    private func nonce(of number: Int64) -> String { Base64URL.encode(mac(of: number)) }

    private func mac(of number: Int64) -> [UInt8] {
        var mac = key
        mac.update(data: Self.purpose)
        mac.update(data: stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) })
        return Array(Array(mac.finalize()).prefix(Self.macBytes))
    }

    private static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0 && one.count == other.count
    }
}
