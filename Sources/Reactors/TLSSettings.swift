import COpenSSL
import Glibc

/// What the outside's TLS is made of. Paths are read when the reactors start.
package struct TLSSettings: Sendable {
    package var certificatePath: String
    package var privateKeyPath: String
    /// Certificates that verify against this CA alone count as debug clients'; nil asks for none.
    package var clientCAPath: String?
    /// Certificates revoked by that CA. An expired list refuses everybody.
    package var clientCRLPath: String?

    package init(
        certificatePath: String, privateKeyPath: String, clientCAPath: String? = nil, clientCRLPath: String? = nil
    ) {
        self.certificatePath = certificatePath
        self.privateKeyPath = privateKeyPath
        self.clientCAPath = clientCAPath
        self.clientCRLPath = clientCRLPath
    }

    /// Puts everything but certificate and key into the server's `SSL_CTX`, which libwebsockets made.
    ///
    /// - Returns: what is wrong, or nil.
    func configure(_ context: OpaquePointer) -> String? {
        OpenSSLError.clear()
        guard portcullis_SSL_CTX_min_tls12(context) == 1 else { return OpenSSLError.drain() }
        // A resumed session reports the old verification as if it were new: no tickets, no cache (RFC 8446 §2.2).
        _ = portcullis_SSL_CTX_session_cache_off(context)
        portcullis_SSL_CTX_forbid_resumption(context)
        SSL_CTX_set_num_tickets(context, 0)
        SSL_CTX_set_max_early_data(context, 0)
        HandshakeFlood.watch(context)
        guard let clientCAPath else { return nil }
        return requestClientCertificates(context, caPath: clientCAPath)
    }

    private func requestClientCertificates(_ context: OpaquePointer, caPath: String) -> String? {
        guard let store = X509_STORE_new() else { return OpenSSLError.drain() }
        // The context owns the store from here on; it replaces the system's CAs.
        SSL_CTX_set_cert_store(context, store)
        guard X509_STORE_load_file(store, caPath) == 1 else { return "\(caPath): \(OpenSSLError.drain())" }
        guard let names = SSL_load_client_CA_file(caPath) else { return "\(caPath): \(OpenSSLError.drain())" }
        SSL_CTX_set_client_CA_list(context, names)  // The context owns the names.
        if let clientCRLPath {
            guard X509_STORE_load_file(store, clientCRLPath) == 1 else {
                return "\(clientCRLPath): \(OpenSSLError.drain())"
            }
            X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK))
        }
        // Asked for, not demanded: who has none may still come by App Attest. Who shows a bad one is told so in HTTP.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { isGood, storeContext in
            PeerCertificate.noteVerification(isGood: isGood == 1, storeContext)
            return 1
        }
        return nil
    }
}
