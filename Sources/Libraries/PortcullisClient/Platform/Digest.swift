#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

enum Digest {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// Names something secret in a log.
    static func fingerprint(_ text: String) -> String {
        BinaryText.hexadecimal(sha256(Array(text.utf8)).prefix(4))
    }
}
