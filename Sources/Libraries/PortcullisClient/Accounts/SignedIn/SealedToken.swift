import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// The key that seals the refresh token. It is in memory from an unlock to the log-out.
struct UnlockedKey: Sendable {
    static let saltBytes = 16
    static let pinBytes = 4...64
    /// Of PBKDF2 (RFC 8018 section 5.2). The hardware's secret is what keeps guesses on this device.
    static let rounds = 100_000

    private let key: SymmetricKey

    init(secret: Data, pin: String?, salt: Data) throws(UnlockFailure) {
        var material = secret
        if let pin {
            guard Self.pinBytes.contains(pin.utf8.count) else { throw .unusablePIN }
            material += Self.stretched(Data(pin.utf8), salt)
        }
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: material), salt: salt,
            info: Data("portcullis refresh token".utf8), outputByteCount: 32)
    }

    /// The first block of PBKDF2 with HMAC-SHA-256.
    private static func stretched(_ pin: Data, _ salt: Data) -> Data {
        let key = SymmetricKey(data: pin)
        var last = Data(HMAC<SHA256>.authenticationCode(for: salt + [0, 0, 0, 1], using: key))
        var block = Array(last)
        for _ in 1..<rounds {
            last = Data(HMAC<SHA256>.authenticationCode(for: last, using: key))
            for (index, byte) in last.enumerated() { block[index] ^= byte }
        }
        return Data(block)
    }

    func seal(_ token: String) throws -> Data {
        guard let sealed = try AES.GCM.seal(Data(token.utf8), using: key).combined else { throw UnlockFailure.keyGone }
        return sealed
    }

    /// - Returns: nil: with another key.
    func open(_ sealed: Data) -> String? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed), let token = try? AES.GCM.open(box, using: key)
        else { return nil }
        return String(decoding: token, as: UTF8.self)
    }
}

/// What is stored: a sealed token with what unlocks it.
struct SealedToken: Codable, Sendable {
    static let maximumWrongPINs = 5

    let restoration, salt: Data
    let hasPIN: Bool
    var sealed: Data
    /// Counted before each attempt, so that ending the app doesn't give another one.
    var wrongPINs = 0
}
