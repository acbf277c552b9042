import COpenSSL
import Glibc

/// Keeps client certificates that were verified on a connection which may be closed by now, and verifies them again.
extension TLSMaterial {
    /// Verifies a client's chain as the handshake of a new connection does, against this material's authorities and
    /// revocation lists. If a list is missing, not valid yet or expired, verification fails.
    ///
    /// Any thread; it reads no clock and needs no connection. It costs one signature check for each certificate of the
    /// path, so the caller limits how many there are.
    ///
    /// - Parameters:
    ///   - chain: the client's certificate, then the others it sent; each in DER.
    ///   - seconds: since 1970.
    /// - Returns: nil if the chain verifies; otherwise the reason, in OpenSSL's words.
    package func problem(withChain chain: [[UInt8]], atUnixSeconds seconds: Int) -> String? {
        guard asksForCertificates else { return "no authority is configured" }
        OpenSSLError.clear()
        defer { OpenSSLError.clear() }
        guard let shown = DecodedChain(chain), let context = X509_STORE_CTX_new() else { return "it can't be read" }
        defer { X509_STORE_CTX_free(context) }
        guard X509_STORE_CTX_init(context, store, shown.leaf, shown.certificates) == 1,
            X509_STORE_CTX_set_default(context, "ssl_client") == 1
        else { return OpenSSLError.drain() }
        let parameters = X509_STORE_CTX_get0_param(context)
        // Applies to certificates and to lists.
        X509_VERIFY_PARAM_set_time(parameters, seconds)
        X509_VERIFY_PARAM_set_auth_level(parameters, SSL_CTX_get_security_level(holder))
        guard X509_verify_cert(context) != 1 else { return nil }
        return String(cString: X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context))))
    }
}

/// Certificates decoded by OpenSSL, in a stack of their own. This object owns them.
private final class DecodedChain {
    /// All certificates, including the leaf.
    let certificates: OpaquePointer

    var leaf: OpaquePointer? { OPENSSL_sk_value(certificates, 0).map { OpaquePointer($0) } }

    /// - Returns: nil if `chain` is empty or a certificate can't be decoded.
    init?(_ chain: [[UInt8]]) {
        guard !chain.isEmpty, let stack = OPENSSL_sk_new_null() else { return nil }
        certificates = stack
        for der in chain {
            guard let certificate = der.withDER({ d2i_X509(nil, &$0, $1) }) else { return nil }
            guard OPENSSL_sk_push(stack, UnsafeRawPointer(certificate)) > 0 else {
                X509_free(certificate)
                return nil
            }
        }
    }

    deinit {
        OPENSSL_sk_pop_free(certificates) { X509_free($0.map { OpaquePointer($0) }) }
    }
}

extension PeerCertificate {
    /// - Parameter certificate: the client's own, which OpenSSL's list of the peer's certificates doesn't contain on a
    ///   server.
    static func chain(of ssl: OpaquePointer, from certificate: OpaquePointer) -> [[UInt8]] {
        let certificates = [certificate] + Stack.elements(of: SSL_get_peer_cert_chain(ssl))
        return certificates.map { certificate in der { i2d_X509(certificate, $0) } }
    }
}

extension TLSMaterial {
    /// The period in which the server's certificate is valid (RFC 5280 §4.1.2.5), in seconds since 1970; nil if it
    /// can't be read.
    package var validity: ClosedRange<Int64>? {
        guard let leaf = SSL_CTX_get0_certificate(holder), let start = Self.seconds(X509_get0_notBefore(leaf)),
            let end = Self.seconds(X509_get0_notAfter(leaf)), start <= end
        else { return nil }
        return start...end
    }

    /// When the first of the authorities of client certificates expires, in seconds since 1970; nil if there are none.
    package var authorityExpiry: Int64? {
        trusted.compactMap { X509_OBJECT_get0_X509($0) }.compactMap { Self.seconds(X509_get0_notAfter($0)) }.min()
    }

    /// When the first of the revocation lists is out of date (its nextUpdate); nil if there are none.
    package var revocationListExpiry: Int64? {
        trusted.compactMap { X509_OBJECT_get0_X509_CRL($0) }.compactMap { Self.seconds(X509_CRL_get0_nextUpdate($0)) }
            .min()
    }

    private var trusted: [OpaquePointer] {
        asksForCertificates ? Stack.elements(of: X509_STORE_get0_objects(store)) : []
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(timegm(&parts))
    }
}
