import COpenSSL

/// Limits what OpenSSL verifies of a client's certificates, before it computes any signature.
///
/// A client sends its certificate list before it has proved anything, so it chooses the computation that the gateway
/// performs. The list is limited in bytes before it is parsed, then in certificates, names, and key types. Signatures
/// are checked only if the chain leads, name by name, to a configured authority. Runs on the reactor, inside the
/// handshake.
enum ClientChain {
    /// The maximum size of the whole list, including the certificates' encodings (RFC 8446 §4.4.2). OpenSSL parses all
    /// of it before the certificates can be counted. Three certificates with 4,096-bit RSA keys fit; thirty small ones
    /// take some milliseconds.
    static let maximumListBytes = 6_144
    /// The client's own certificate and two intermediate ones.
    static let maximumCertificates = 3
    static let maximumCertificateBytes = 4_096
    /// The maximum number of parts of a subject or issuer name (RFC 5280 §4.1.2.4).
    static let maximumNameParts = 16
    /// The allowed RSA key sizes, in bits.
    static let rsaModulus: ClosedRange<Int32> = 2_048...4_096
    static let maximumRSAExponentBits: Int32 = 33
    private static let curves: Set<String> = ["prime256v1", "secp384r1"]
    /// The algorithms for the signature that proves possession of the client's key (RFC 8446 §4.4.3, RFC 5246 §7.4.8).
    private static let signatureAlgorithms =
        "ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ed25519:rsa_pss_rsae_sha256:rsa_pss_rsae_sha384"
        + ":rsa_pss_rsae_sha512:RSA+SHA256:RSA+SHA384:RSA+SHA512"

    static func limit(_ context: OpaquePointer) -> Bool {
        portcullis_SSL_CTX_set_max_cert_list(context, maximumListBytes)
        SSL_CTX_set_cert_verify_callback(
            context, { store, _ in store.map { ClientChain.verify($0) ? 1 : 0 } ?? 0 }, nil)
        return portcullis_SSL_CTX_set1_client_sigalgs_list(context, signatureAlgorithms) == 1
    }

    /// Replaces OpenSSL's own verification of a client's list.
    ///
    /// - Returns: false ends the handshake: the list is over a limit. Otherwise the handshake goes on, and an
    ///   unverified chain is marked, so that the client gets the reason in an HTTP response.
    private static func verify(_ context: OpaquePointer) -> Bool {
        let chain = Stack.elements(of: X509_STORE_CTX_get0_untrusted(context))
        if let fault = fault(in: chain) {
            X509_STORE_CTX_set_error(context, fault)
            return false
        }
        if !leadsToAuthority(chain, X509_STORE_CTX_get0_store(context)) {
            X509_STORE_CTX_set_error(context, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY)
            PeerCertificate.markUnverified(context)
            return true
        }
        X509_VERIFY_PARAM_set_depth(X509_STORE_CTX_get0_param(context), Int32(maximumCertificates - 1))
        if X509_verify_cert(context) != 1 { PeerCertificate.markUnverified(context) }
        // The errors in OpenSSL's queue concern this connection. They must not be attributed to the next one on this
        // thread.
        OpenSSLError.clear()
        return true
    }

    /// - Returns: the OpenSSL error that best describes the limit that the list exceeds; nil if it exceeds none.
    private static func fault(in chain: [OpaquePointer]) -> Int32? {
        guard chain.count <= maximumCertificates else { return X509_V_ERR_CERT_CHAIN_TOO_LONG }
        for certificate in chain {
            guard (1...Int32(maximumCertificateBytes)).contains(i2d_X509(certificate, nil)) else {
                return X509_V_ERR_OUT_OF_MEM
            }
            guard hasShortNames(certificate) else { return X509_V_ERR_UNSUPPORTED_NAME_SYNTAX }
            guard hasAllowedKey(certificate) else { return X509_V_ERR_EE_KEY_TOO_SMALL }
        }
        return nil
    }

    private static func hasShortNames(_ certificate: OpaquePointer) -> Bool {
        [X509_get_subject_name(certificate), X509_get_issuer_name(certificate)].allSatisfy {
            X509_NAME_entry_count($0) <= maximumNameParts
        }
    }

    private static func hasAllowedKey(_ certificate: OpaquePointer) -> Bool {
        guard let key = X509_get0_pubkey(certificate) else { return false }
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA: return rsaModulus.contains(EVP_PKEY_get_bits(key)) && hasShortExponent(key)
        case EVP_PKEY_EC: return isOnAllowedCurve(key)
        case EVP_PKEY_ED25519: return true
        default: return false
        }
    }

    /// The cost of an RSA signature check grows with the exponent.
    private static func hasShortExponent(_ key: OpaquePointer) -> Bool {
        var exponent: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, "e", &exponent) == 1, let exponent else { return false }
        defer { BN_free(exponent) }
        return BN_num_bits(exponent) <= maximumRSAExponentBits
    }

    /// Only named curves are allowed; a curve given by explicit parameters has no name.
    private static func isOnAllowedCurve(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return false }
        return curves.contains(String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    /// Whether the names lead from the client's certificate to one in the store. Otherwise no signature is checked.
    private static func leadsToAuthority(_ chain: [OpaquePointer], _ store: OpaquePointer?) -> Bool {
        guard var current = chain.first else { return false }
        let authorities = Stack.elements(of: X509_STORE_get0_objects(store)).compactMap { X509_OBJECT_get0_X509($0) }
        var others = chain.dropFirst()
        while true {
            let issuer = X509_get_issuer_name(current)
            if authorities.contains(where: { X509_NAME_cmp(X509_get_subject_name($0), issuer) == 0 }) { return true }
            guard let next = others.firstIndex(where: { X509_NAME_cmp(X509_get_subject_name($0), issuer) == 0 }) else {
                return false
            }
            current = others.remove(at: next)
        }
    }
}
