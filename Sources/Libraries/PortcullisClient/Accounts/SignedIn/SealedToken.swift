import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// The key that seals the refresh token. It is in memory from an unlock to the log-out.
struct UnlockedKey: Sendable {
    static let saltBytes = 16
    /// Unicode code points, as NIST SP 800-63B section 3.1.1.2 counts them.
    static let pinCharacters = 4...64
    /// Of PBKDF2 (RFC 8018 section 5.2). The hardware's secret is what keeps guesses on this device.
    static let rounds = 100_000

    private let key: SymmetricKey

    init(secret: Data, pin: String?, salt: Data, rounds: Int) throws(UnlockFailure) {
        var material = secret
        if let pin {
            guard Self.pinCharacters.contains(pin.unicodeScalars.count) else { throw .unusablePIN }
            material += Self.stretched(Array(pin.utf8), Array(salt), rounds: rounds)
        }
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: material), salt: salt,
            info: Data("portcullis refresh token".utf8), outputByteCount: 32)
    }

    /// The first block of PBKDF2 with HMAC-SHA-256.
    static func stretched(_ pin: [UInt8], _ salt: [UInt8], rounds: Int) -> [UInt8] {
        let keyed = HMAC<SHA256>(key: SymmetricKey(data: pin))
        func code(_ bytes: [UInt8]) -> [UInt8] {
            var code = keyed
            code.update(data: bytes)
            return code.finalize().withUnsafeBytes { Array($0) }
        }
        var last = code(salt + [0, 0, 0, 1])
        var block = last
        for _ in 1..<rounds {
            last = code(last)
            block.withUnsafeMutableBytes { block in
                last.withUnsafeBytes { last in
                    // By words: this is what an unlock waits for.
                    for word in stride(from: 0, to: last.count, by: 8) {
                        let sum = block.load(fromByteOffset: word, as: UInt64.self)
                        block.storeBytes(
                            of: sum ^ last.load(fromByteOffset: word, as: UInt64.self), toByteOffset: word,
                            as: UInt64.self)
                    }
                }
            }
        }
        return block
    }

    func seal(_ token: String) throws(UnlockFailure) -> Data {
        guard let sealed = try? AES.GCM.seal(Data(token.utf8), using: key).combined else { throw .other(0) }
        return sealed
    }

    /// - Returns: nil: with another key.
    func open(_ sealed: Data) -> String? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed), let token = try? AES.GCM.open(box, using: key)
        else { return nil }
        return String(decoding: token, as: UTF8.self)
    }
}

/// A refresh token, as the gate has given it.
struct RefreshToken: Sendable, Equatable {
    /// What the gate makes; a longer one isn't believed.
    static let bytes = 1...200
    /// In seconds; a longer life isn't believed.
    static let longestLife = 366 * 86_400

    let text: String
    /// In seconds since 1970, by the server's clock; nil: the gate didn't say.
    let end: Double?
}

/// What is stored: a sealed token with what unlocks it.
struct SealedToken: Codable, Sendable {
    static let maximumWrongPINs = 5

    let restoration, salt: Data
    let hasPIN: Bool
    var sealed: Data
    /// Of the token.
    var end: Double?
    /// Counted before each attempt, so that ending the app doesn't give another one.
    var wrongPINs = 0

    func isOver(at time: Double) -> Bool { end.map { $0 <= time } ?? false }
}
