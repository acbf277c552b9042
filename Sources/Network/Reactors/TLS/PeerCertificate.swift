import COpenSSL

/// The certificate that a TLS client presented, and the result of its verification.
package struct PeerCertificate: Sendable {
    /// The chain verified against the configured CA in this handshake, and again if the CA was replaced since.
    package let isVerified: Bool
    /// The TLS session was resumed: nothing was verified in this handshake.
    package let isResumedSession: Bool
    /// The digest of the DER form, 32 bytes.
    package let sha256: [UInt8]
    /// In RFC 2253 form, with control and multibyte characters escaped.
    package let subject: String
    /// The issuer's name, in the same form.
    package let issuerName: String
    /// The issuer's name and the serial number, which identify a certificate in revocation lists; both DER.
    package let issuer: [UInt8]
    package let serial: [UInt8]
    /// The certificate and the others that the client sent, each in DER; empty unless verified.
    package let chain: [[UInt8]]
    /// Why verification failed, in OpenSSL's words.
    package let verificationError: String?

    /// Ex-data that marks a handshake whose client certificate did not verify, in addition to OpenSSL's own result.
    private static let failureIndex = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)

    /// - Returns: nil if the client presented none.
    init?(of ssl: OpaquePointer, trusting material: TLSMaterial) {
        guard let certificate = portcullis_SSL_get1_peer_certificate(ssl) else { return nil }
        defer { X509_free(certificate) }
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        guard X509_digest(certificate, EVP_sha256(), &digest, &length) == 1, length == 32 else { return nil }
        let result = SSL_get_verify_result(ssl)
        let isMarked = SSL_get_ex_data(ssl, Self.failureIndex) != nil
        isResumedSession = SSL_session_reused(ssl) == 1
        isVerified =
            result == Int(X509_V_OK) && !isMarked && !isResumedSession && material.vouches(for: certificate, of: ssl)
        sha256 = digest
        subject = Self.text(of: X509_get_subject_name(certificate))
        issuerName = Self.text(of: X509_get_issuer_name(certificate))
        issuer = Self.der { i2d_X509_NAME(X509_get_issuer_name(certificate), $0) }
        serial = Self.der { i2d_ASN1_INTEGER(X509_get0_serialNumber(certificate), $0) }
        chain = isVerified ? Self.chain(of: ssl, from: certificate) : []
        verificationError = isVerified ? nil : String(cString: X509_verify_cert_error_string(result))
    }

    /// Called inside the handshake: the chain in `context` did not verify.
    static func markUnverified(_ context: OpaquePointer) {
        let ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx())
        if let ssl {
            SSL_set_ex_data(OpaquePointer(ssl), failureIndex, UnsafeMutableRawPointer(bitPattern: 1))
        }
    }

    /// Returns the output of an `i2d` function.
    static func der(
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
    ) -> [UInt8] {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = encode(&encoded)
        guard count > 0, let encoded else { return [] }
        defer { CRYPTO_free(encoded, #file, #line) }
        return Array(UnsafeBufferPointer(start: encoded, count: Int(count)))
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let text = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(text) }
        X509_NAME_print_ex(text, name, 0, PORTCULLIS_XN_FLAGS)
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = BIO_read(text, &buffer, Int32(buffer.count))
        return String(decoding: buffer.prefix(Int(max(count, 0))), as: UTF8.self)
    }
}
