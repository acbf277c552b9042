import COpenSSL

/// Client certificates that were verified on a connection which may be gone: how they are kept, and how they are verified again.
extension TLSMaterial {
    /// Verifies a client's chain as the handshake of a new connection does, against this material's authorities and lists. A list that
    /// is missing, not valid yet or expired refuses.
    ///
    /// Any thread; no clock is read and no connection is needed. It costs one signature for each certificate of the path, so whoever calls
    /// bounds how many there are.
    ///
    /// - Parameters:
    ///   - chain: the client's certificate, then what it sent along; each in DER.
    ///   - seconds: since 1970.
    /// - Returns: nil where it verifies; otherwise why not, in OpenSSL's words.
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
        // Of certificates and of lists alike.
        X509_VERIFY_PARAM_set_time(parameters, seconds)
        X509_VERIFY_PARAM_set_auth_level(parameters, SSL_CTX_get_security_level(holder))
        guard X509_verify_cert(context) != 1 else { return nil }
        return String(cString: X509_verify_cert_error_string(Int(X509_STORE_CTX_get_error(context))))
    }
}

/// Certificates that OpenSSL has decoded, in a stack of its own. They go with this object.
private final class DecodedChain {
    /// All of them, the leaf among them.
    let certificates: OpaquePointer

    var leaf: OpaquePointer? { OPENSSL_sk_value(certificates, 0).map { OpaquePointer($0) } }

    /// - Returns: nil for none, and where one can't be decoded.
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
    /// - Parameter certificate: the client's own, which a server's list of what the client sent doesn't have.
    static func chain(of ssl: OpaquePointer, from certificate: OpaquePointer) -> [[UInt8]] {
        let certificates = [certificate] + Stack.elements(of: SSL_get_peer_cert_chain(ssl))
        return certificates.map { certificate in der { i2d_X509(certificate, $0) } }
    }
}
