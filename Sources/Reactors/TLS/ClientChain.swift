import COpenSSL

/// Decides what OpenSSL may verify of the certificates that a client sends, before it computes a signature.
///
/// A client sends its list before it has proved anything, so each computation on it is the client's choice. The list is bounded in bytes
/// before it is parsed, then in certificates, names, and kinds of keys. A signature is checked only where the chain leads, name by name, to
/// a configured authority. Runs on the reactor, inside the handshake.
enum ClientChain {
    /// Of the whole list, with its certificates' encodings (RFC 8446 §4.4.2). OpenSSL parses all of it before anybody can count them: three
    /// certificates with RSA keys of 4,096 bits fit, and thirty small ones take some milliseconds.
    static let maximumListBytes = 6_144
    /// The client's own certificate and two intermediate ones.
    static let maximumCertificates = 3
    static let maximumCertificateBytes = 4_096
    /// Of a subject or an issuer (RFC 5280 §4.1.2.4).
    static let maximumNameParts = 16
    /// In bits, for RSA.
    static let rsaModulus: ClosedRange<Int32> = 2_048...4_096
    static let maximumRSAExponentBits: Int32 = 33
    private static let curves: Set<String> = ["prime256v1", "secp384r1"]
    /// For the signature by which the client proves its key (RFC 8446 §4.4.3, RFC 5246 §7.4.8).
    private static let signatureAlgorithms =
        "ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ed25519:rsa_pss_rsae_sha256:rsa_pss_rsae_sha384"
        + ":rsa_pss_rsae_sha512:RSA+SHA256:RSA+SHA384:RSA+SHA512"

    static func limit(_ context: OpaquePointer) -> Bool {
        portcullis_SSL_CTX_set_max_cert_list(context, maximumListBytes)
        SSL_CTX_set_cert_verify_callback(
            context, { store, _ in store.map { ClientChain.verify($0) ? 1 : 0 } ?? 0 }, nil)
        return portcullis_SSL_CTX_set1_client_sigalgs_list(context, signatureAlgorithms) == 1
    }

    /// In place of OpenSSL's own verification of a client's list.
    ///
    /// - Returns: false ends the handshake: the list is over a limit. Otherwise the handshake goes on, and a chain that did not verify is
    ///   marked, so that the client is told so in HTTP.
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
        // What OpenSSL has noted about the chain is for the connection, not for the next one on this thread.
        OpenSSLError.clear()
        return true
    }

    /// - Returns: the error of OpenSSL's that says best which limit the list is over.
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

    /// A check of an RSA signature costs what the exponent costs.
    private static func hasShortExponent(_ key: OpaquePointer) -> Bool {
        var exponent: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, "e", &exponent) == 1, let exponent else { return false }
        defer { BN_free(exponent) }
        return BN_num_bits(exponent) <= maximumRSAExponentBits
    }

    /// A named curve: one whose parameters the certificate spells out has no name.
    private static func isOnAllowedCurve(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return false }
        return curves.contains(String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    /// Whether the names lead from the client's certificate to one of the store's: what leads nowhere isn't worth a signature.
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
