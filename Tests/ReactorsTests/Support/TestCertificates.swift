import COpenSSL
import Glibc

@testable import Reactors

/// A certificate and its private key, created by OpenSSL for one test run.
///
/// - Note: `@unchecked Sendable` because neither is changed after `init`.
final class TestIdentity: @unchecked Sendable {
    let certificate: OpaquePointer
    let key: OpaquePointer

    private static let day = 86_400

    /// - Parameters:
    ///   - names: a subjectAltName in OpenSSL's form, `DNS:localhost,IP:127.0.0.1`; nil for none.
    ///   - issuer: nil signs it with its own key.
    ///   - days: the validity period.
    ///   - usage: an extendedKeyUsage in OpenSSL's form, `serverAuth`; nil for none.
    ///   - other: the identity whose key it uses; nil creates one.
    init(
        _ commonName: String, names: String? = nil, isAuthority: Bool = false, by issuer: TestIdentity? = nil,
        days: Int = 30, usage: String? = nil, withKeyOf other: TestIdentity? = nil
    ) {
        if let other { EVP_PKEY_up_ref(other.key) }
        key = other?.key ?? Self.makeKey()
        certificate = X509_new()
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...(.max)))
        // An authority is older than all that it signs, whichever is made first.
        X509_gmtime_adj(X509_getm_notBefore(certificate), (isAuthority ? -61 : -60) * Self.day)
        X509_gmtime_adj(X509_getm_notAfter(certificate), days * Self.day)
        X509_NAME_add_entry_by_txt(
            X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, commonName, Int32(commonName.utf8.count), -1, 0)
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer?.certificate ?? certificate))
        X509_set_pubkey(certificate, key)
        add(NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE")
        if let names { add(NID_subject_alt_name, names) }
        if let usage { add(NID_ext_key_usage, usage) }
        X509_sign(certificate, issuer?.key ?? key, EVP_sha256())
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    private static func makeKey() -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        EVP_PKEY_keygen_init(context)
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        EVP_PKEY_keygen(context, &key)
        guard let key else { fatalError(OpenSSLError.drain()) }
        return key
    }

    private func add(_ kind: Int32, _ value: String) {
        guard let part = X509V3_EXT_conf_nid(nil, nil, kind, value) else { fatalError(OpenSSLError.drain()) }
        X509_add_ext(certificate, part, -1)
        X509_EXTENSION_free(part)
    }

    var pem: String { Self.text { PEM_write_bio_X509($0, certificate) } }

    var keyPEM: String { Self.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) } }

    static func text(_ write: (OpaquePointer?) -> Int32) -> String {
        let text = BIO_new(BIO_s_mem())
        defer { BIO_free(text) }
        var buffer = [UInt8](repeating: 0, count: 8_192)
        guard write(text) == 1 else { fatalError(OpenSSLError.drain()) }
        let count = BIO_read(text, &buffer, Int32(buffer.count))
        return String(decoding: buffer.prefix(Int(count)), as: UTF8.self)
    }

    /// Computed from the key itself, unlike the code under test, which uses the certificate.
    var pin: PublicKeyPin {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &encoded)
        var digest = [UInt8](repeating: 0, count: 32)
        SHA256(encoded, Int(count), &digest)
        CRYPTO_free(encoded, #file, #line)
        guard let pin = PublicKeyPin(sha256: digest) else { fatalError("no digest") }
        return pin
    }
}

/// Certificates shared by the TLS tests, because creating a key takes time.
enum TestCertificates {
    static let authority = TestIdentity("Test CA", isAuthority: true)
    static let otherAuthority = TestIdentity("Other CA", isAuthority: true)
    static let server = TestIdentity("server", names: "DNS:localhost,IP:127.0.0.1", by: authority)
    static let selfSigned = TestIdentity("self-signed", names: "DNS:localhost,IP:127.0.0.1")
    static let authorityFile = NamelessFile(authority.pem)
    static let serverFiles = (certificate: NamelessFile(server.pem), key: NamelessFile(server.keyPEM))
}

extension TargetTLS {
    /// Trusts the tests' CA.
    static func test(
        _ mode: TargetTLSSettings.Mode = .required, pins: [PublicKeyPin] = [],
        handshakeMilliseconds: Int = Patience.milliseconds
    ) throws -> TargetTLS {
        try TargetTLS(
            TargetTLSSettings(
                mode: mode, caPath: TestCertificates.authorityFile.path, pins: pins,
                handshakeTimeoutMilliseconds: handshakeMilliseconds))
    }
}
