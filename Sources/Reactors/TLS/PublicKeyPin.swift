import WireText

/// A pinned public key of a target: SHA-256 of the certificate's SubjectPublicKeyInfo (RFC 7469 §2.4).
///
/// `openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64` prints it.
package struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    package let sha256: [UInt8]

    init?(sha256: [UInt8]) {
        guard sha256.count == Self.digestBytes else { return nil }
        self.sha256 = sha256
    }

    /// - Parameter base64: 44 characters of the standard alphabet, padded; only the canonical encoding is accepted.
    package init?(base64: String) {
        guard let bytes = Base64.decode(canonical: base64, maximumBytes: Self.digestBytes) else { return nil }
        self.init(sha256: bytes)
    }

    package var base64: String { Base64.encode(sha256) }

    /// In the form of `MUD_TLS_PIN`, so that a key from a log line can be pinned.
    package var description: String { base64 }

    static let digestBytes = 32
}
