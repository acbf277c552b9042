import COpenSSL
import Glibc

/// The edge's TLS material, read from its files once: the certificate with its chain and key, the client CA and that
/// CA's revocation lists.
///
/// It is tested when it is created, so that its use can't fail on a reactor. A handshake takes all it needs from one
/// material, at its beginning (`EdgeTLS`). The same code serves the start and every reload.
///
/// - Note: `@unchecked Sendable` because nothing in it changes after `init`; OpenSSL counts references atomically and
///   locks its certificate stores and lists, so all reactors share one.
package final class TLSMaterial: @unchecked Sendable {
    package let settings: TLSSettings
    /// Holds the parts; it never serves a connection.
    let holder: OpaquePointer
    private var contents: Contents?

    /// Reads the files, so it must not run on a reactor that is already serving.
    package init(_ settings: TLSSettings) throws(TLSMaterialError) {
        OpenSSLError.clear()
        guard let holder = SSL_CTX_new(TLS_server_method()) else { throw TLSMaterialError(OpenSSLError.drain()) }
        self.settings = settings
        self.holder = holder
        // Disables the passphrase prompt: an encrypted key is an error.
        SSL_CTX_set_default_passwd_cb(holder) { _, _, _, _ in 0 }
        try load(settings.certificatePath) { SSL_CTX_use_certificate_chain_file(holder, $0) == 1 }
        try load(settings.privateKeyPath) {
            SSL_CTX_use_PrivateKey_file(holder, $0, SSL_FILETYPE_PEM) == 1 && SSL_CTX_check_private_key(holder) == 1
        }
        if let caPath = settings.clientCAPath { try loadClientCA(caPath) }
        try tryOut()
        contents = Contents(of: holder, settings)
    }

    deinit { SSL_CTX_free(holder) }

    private func loadClientCA(_ path: String) throws(TLSMaterialError) {
        try load(path) { X509_STORE_load_file(store, $0) == 1 }
        try load(path) { path in
            guard let names = SSL_load_client_CA_file(path) else { return false }
            SSL_CTX_set_client_CA_list(holder, names)  // The holder owns the names.
            return true
        }
        guard let listPath = settings.clientCRLPath else { return }
        try load(listPath) { X509_STORE_load_file(store, $0) == 1 }
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK))
    }

    private func load(_ path: String, _ body: (String) -> Bool) throws(TLSMaterialError) {
        guard body(path) else { throw TLSMaterialError("\(path): \(OpenSSLError.drain())") }
    }

    private func tryOut() throws(TLSMaterialError) {
        guard let ssl = SSL_new(holder) else { throw TLSMaterialError(OpenSSLError.drain()) }
        defer { SSL_free(ssl) }
        guard serve(ssl) else { throw TLSMaterialError("\(settings.certificatePath): \(OpenSSLError.drain())") }
    }

    /// Whether a handshake would present and trust the same with either material.
    func isSame(as other: TLSMaterial) -> Bool { contents != nil && contents == other.contents }

    // MARK: A handshake

    var asksForCertificates: Bool { settings.clientCAPath != nil }

    var store: OpaquePointer? { SSL_CTX_get_cert_store(holder) }

    /// Makes `ssl` present this certificate, whatever the type of its key, and verify clients against this CA.
    func serve(_ ssl: OpaquePointer?) -> Bool {
        // Otherwise clients that prefer another key type would be served the context's certificate for that type.
        SSL_certs_clear(ssl)
        guard
            SSL_use_cert_and_key(
                ssl, SSL_CTX_get0_certificate(holder), SSL_CTX_get0_privatekey(holder),
                portcullis_SSL_CTX_get0_chain(holder), 1) == 1
        else { return false }
        guard asksForCertificates else {
            SSL_set_verify(ssl, SSL_VERIFY_NONE, nil)
            return true
        }
        guard portcullis_SSL_set1_verify_cert_store(ssl, store) == 1,
            let names = SSL_dup_CA_list(SSL_CTX_get_client_CA_list(holder))
        else { return false }
        SSL_set_client_CA_list(ssl, names)  // `ssl` owns the names.
        // A certificate is requested, not required: a client without one may still be admitted by App Attest. A client
        // with an invalid one gets the reason in an HTTP response. `ClientChain` verifies it.
        SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
        return true
    }

    /// Frees what `ssl` needed only for its handshake: the client CA's names, and the exchanged keys, whose secret
    /// could later decrypt recorded traffic. `ssl` keeps the store, which is shared and by which `vouches` recognises
    /// this material.
    ///
    /// OpenSSL has no call that removes a key from a connection, so the key object stays and is emptied. There is no
    /// second handshake that would use it (`portcullis_SSL_CTX_forbid_resumption` forbids renegotiation).
    static func wipeHandshakeSecrets(_ ssl: OpaquePointer) {
        SSL_set_client_CA_list(ssl, nil)
        for key in [portcullis_SSL_get1_tmp_key(ssl), portcullis_SSL_get1_peer_tmp_key(ssl)] {
            guard let key else { continue }
            EVP_PKEY_set_type(key, EVP_PKEY_X25519)  // Any known type: setting it frees the data of the old one.
            EVP_PKEY_free(key)
        }
    }

    // MARK: A client's certificate

    /// How long the verification of a handshake stays valid, in seconds: certificates and lists may expire while a
    /// connection is open.
    static let verificationSeconds = 60

    /// Whether a client's certificate, verified in its handshake, verifies with this material. It is verified again if
    /// the connection is older than `verificationSeconds`, or than a reload that changed anything.
    func vouches(for certificate: OpaquePointer, of ssl: OpaquePointer) -> Bool {
        guard asksForCertificates else { return false }
        if portcullis_SSL_get0_verify_cert_store(ssl) == store, isRecent(ssl) { return true }
        guard let context = X509_STORE_CTX_new() else { return false }
        defer { X509_STORE_CTX_free(context) }
        guard X509_STORE_CTX_init(context, store, certificate, SSL_get_peer_cert_chain(ssl)) == 1,
            X509_STORE_CTX_set_default(context, "ssl_client") == 1
        else { return false }
        X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(context), SSL_get_security_level(ssl))
        return X509_verify_cert(context) == 1
    }

    /// By the clock that OpenSSL itself uses. If that clock was set back, no handshake counts as recent.
    private func isRecent(_ ssl: OpaquePointer) -> Bool {
        guard let session = SSL_get_session(ssl) else { return false }
        return (0...Self.verificationSeconds).contains(time(nil) - portcullis_SSL_SESSION_get_time(session))
    }

    /// Whether one of the revocation lists contains the certificate. Not for a reactor: a list may be long.
    ///
    /// - Parameters:
    ///   - issuer: the issuer's name, DER.
    ///   - serial: the serial number, a DER INTEGER.
    package func revokes(issuer: [UInt8], serial: [UInt8]) -> Bool {
        OpenSSLError.clear()
        guard let name = issuer.withDER({ d2i_X509_NAME(nil, &$0, $1) }) else { return false }
        defer { X509_NAME_free(name) }
        guard let number = serial.withDER({ d2i_ASN1_INTEGER(nil, &$0, $1) }) else { return false }
        defer { ASN1_INTEGER_free(number) }
        return lists.contains { list in
            // 1: revoked; 2: removed from the list again (RFC 5280, removeFromCRL).
            X509_NAME_cmp(X509_CRL_get_issuer(list), name) == 0 && X509_CRL_get0_by_serial(list, nil, number) == 1
        }
    }

    private var lists: [OpaquePointer] {
        Stack.elements(of: X509_STORE_get0_objects(store)).compactMap { X509_OBJECT_get0_X509_CRL($0) }
    }
}

/// Why material can't be used: the file, and OpenSSL's words.
package struct TLSMaterialError: Error, Equatable, CustomStringConvertible {
    package let description: String

    fileprivate init(_ description: String) {
        self.description = description
    }
}

extension [UInt8] {
    /// Calls a `d2i` function.
    func withDER<Value>(_ body: (inout UnsafePointer<UInt8>?, Int) -> Value?) -> Value? {
        withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return body(&start, buffer.count)
        }
    }
}
