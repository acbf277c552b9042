import COpenSSL
import Glibc

/// The state shared by all TLS connections to one target: the settings and their `SSL_CTX`, created once, at start.
///
/// - Note: `@unchecked Sendable` because the context isn't changed after `init`; OpenSSL counts its references
///   atomically and locks its certificate store, so all reactors share one.
package final class TargetTLS: @unchecked Sendable {
    package let settings: TargetTLSSettings
    let context: OpaquePointer
    let bio: TLSMemoryBIO

    /// The maximum total size of the certificates that a target sends; with more the handshake fails.
    static let maximumCertificateBytes = 65_536
    /// The maximum number of certificates between the target's and a root.
    static let maximumChainDepth: Int32 = 8

    /// For `prefer` and `required`; `plain` doesn't need one.
    package init(_ settings: TargetTLSSettings) throws(TargetTLSSettingsError) {
        OpenSSLError.clear()
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw .openSSL(OpenSSLError.drain()) }
        guard let bio = TLSMemoryBIO() else {
            SSL_CTX_free(context)
            throw .openSSL(OpenSSLError.drain())
        }
        self.settings = settings
        self.context = context
        self.bio = bio
        guard portcullis_SSL_CTX_min_tls12(context) == 1 else { throw .openSSL(OpenSSLError.drain()) }
        guard KeyExchange.restrictClient(context) else { throw .openSSL(OpenSSLError.drain()) }
        portcullis_SSL_CTX_forbid_renegotiation(context)
        portcullis_SSL_CTX_set_modes(context)
        portcullis_SSL_CTX_set_max_cert_list(context, Self.maximumCertificateBytes)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_verify_depth(context, Self.maximumChainDepth)
        if settings.pins.isEmpty { try trustAuthorities() } else { trustPins() }
        if let mutual = settings.mutual { try present(mutual) }
    }

    private func present(_ mutual: MutualTLS) throws(TargetTLSSettingsError) {
        guard portcullis_SSL_CTX_min_tls13(context) == 1 else { throw .openSSL(OpenSSLError.drain()) }
        // Disables the passphrase prompt: an encrypted key is an error.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
        guard SSL_CTX_use_certificate_chain_file(context, mutual.certificatePath) == 1 else {
            throw .ownFile(path: mutual.certificatePath, reason: OpenSSLError.drain())
        }
        guard SSL_CTX_use_PrivateKey_file(context, mutual.privateKeyPath, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context) == 1
        else { throw .ownFile(path: mutual.privateKeyPath, reason: OpenSSLError.drain()) }
    }

    deinit { SSL_CTX_free(context) }

    private func trustAuthorities() throws(TargetTLSSettingsError) {
        guard let path = settings.caPath else {
            guard SSL_CTX_set_default_verify_paths(context) == 1 else { throw .openSSL(OpenSSLError.drain()) }
            guard hasAuthorities else { throw .nothingTrusted }
            return
        }
        guard X509_STORE_load_file(SSL_CTX_get_cert_store(context), path) == 1, hasLoadedAuthorities else {
            throw .caFile(path: path, reason: OpenSSLError.drain())
        }
    }

    /// The system's CAs are in a file, which has been loaded, or in a folder, which is searched later.
    private var hasAuthorities: Bool {
        if hasLoadedAuthorities { return true }
        let variable = getenv(X509_get_default_cert_dir_env())
        guard let folder = opendir(variable.map { UnsafePointer($0) } ?? X509_get_default_cert_dir()) else {
            return false
        }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { return true }
        }
        return false
    }

    private var hasLoadedAuthorities: Bool {
        OPENSSL_sk_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context))) > 0
    }

    /// Replaces OpenSSL's verification of the chain.
    private func trustPins() {
        SSL_CTX_set_cert_verify_callback(
            context, { store, _ in TLSClientEngine.verifying(in: store)?.verifyPin(in: store) == true ? 1 : 0 }, nil)
    }
}
