import COpenSSL

/// The TLS of one reactor's vhost: the rules that never change, and which material the next handshake takes. Reactor thread only.
///
/// Replacing the material touches no connection: one that stands, or is in the middle of its handshake, keeps what it began with.
final class EdgeTLS {
    var material: TLSMaterial
    /// While libwebsockets adopts its socket: OpenSSL begins the handshake before anybody knows the `SSL`.
    var adopted: EdgeConnection?

    init(_ material: TLSMaterial) {
        self.material = material
    }

    /// Sets up the server's `SSL_CTX`, which libwebsockets made with the certificate of the start. This object must outlive it.
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
        guard KeyExchange.restrictServer(context), ClientChain.limit(context) else { return OpenSSLError.drain() }
        // What wasn't sent may be given again from another place (`EdgeOutput`).
        portcullis_SSL_CTX_set_modes(context)
        HandshakeFlood.watch(context)
        HandshakeGate.watch(context, for: self)
        // Unretained: the listener, which owns this object, goes after libwebsockets' context.
        SSL_CTX_set_cert_cb(
            context,
            { ssl, tls in
                guard let tls else { return 0 }
                return Unmanaged<EdgeTLS>.fromOpaque(tls).takeUnretainedValue().material.serve(ssl) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
        return nil
    }

    /// For one handshake.
    func takeAdopted() -> EdgeConnection? {
        defer { adopted = nil }
        return adopted
    }
}
