import COpenSSL

/// The TLS of one reactor's vhost: the fixed rules, and the material for the next handshake. Reactor thread only.
///
/// Another material affects no existing connection: established connections and handshakes in progress keep what they
/// began with.
final class EdgeTLS {
    private let inEffect: () -> TLSMaterial?
    /// Set while libwebsockets adopts its socket: OpenSSL begins the handshake before the `SSL` is known elsewhere.
    var adopted: EdgeConnection?

    private let isForGateways: Bool

    /// - Parameters:
    ///   - isForGateways: the peers are other gateways of the fleet, which speak TLS 1.3.
    ///   - material: what is in effect: a listener with TLS always has some.
    init(isForGateways: Bool, material: @escaping () -> TLSMaterial?) {
        inEffect = material
        self.isForGateways = isForGateways
    }

    var material: TLSMaterial {
        guard let material = inEffect() else { preconditionFailure("no reload takes TLS away") }
        return material
    }

    /// Configures the server's `SSL_CTX`, which libwebsockets created with the certificate of the start. This object
    /// must outlive it.
    ///
    /// - Returns: the error, or nil.
    func configure(_ context: OpaquePointer) -> String? {
        guard Self.restrict(context), !isForGateways || portcullis_SSL_CTX_min_tls13(context) == 1 else {
            return OpenSSLError.drain()
        }
        // A reactor has two vhosts, with the trust of clients and of gateways: a peer must not choose between them.
        portcullis_SSL_CTX_ignore_server_names(context)
        HandshakeGate.watch(context, for: self)
        // Unretained: the listener owns this object and outlives libwebsockets' context.
        SSL_CTX_set_cert_cb(
            context,
            { ssl, tls in
                guard let tls else { return 0 }
                return Unmanaged<EdgeTLS>.fromOpaque(tls).takeUnretainedValue().material.serve(ssl) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
        return nil
    }

    /// The rules of every TLS server of the gateway: for the edge and for the internal listener.
    static func restrict(_ context: OpaquePointer) -> Bool {
        OpenSSLError.clear()
        guard portcullis_SSL_CTX_min_tls12(context) == 1 else { return false }
        // A resumed session reports its old verification as if it were new, so there are no tickets and no cache (RFC
        // 8446 §2.2).
        _ = portcullis_SSL_CTX_session_cache_off(context)
        portcullis_SSL_CTX_forbid_resumption(context)
        SSL_CTX_set_num_tickets(context, 0)
        SSL_CTX_set_max_early_data(context, 0)
        guard KeyExchange.restrictServer(context), ClientChain.limit(context) else { return false }
        // Unsent bytes may be passed again from another address (`EdgeOutput`).
        portcullis_SSL_CTX_set_modes(context)
        HandshakeFlood.watch(context)
        return true
    }

    /// Before the client's first message is read: its version is negotiated by this.
    func begin(_ ssl: OpaquePointer) {
        guard material.settings.isTLS13Only else { return }
        SSL_ctrl(ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_3_VERSION), nil)
    }

    /// Returns the adopted connection once, for its handshake.
    func takeAdopted() -> EdgeConnection? {
        defer { adopted = nil }
        return adopted
    }
}

/// The TLS settings of the edge, or of the internal listener. The files are read when a `TLSMaterial` is created.
package struct TLSSettings: Sendable {
    package var certificatePath: String
    package var privateKeyPath: String
    /// Only certificates that verify against this CA identify debug clients; nil requests no certificates.
    package var clientCAPath: String?
    /// The revocation list of that CA. With an expired list all client certificates are refused.
    package var clientCRLPath: String?
    /// `TLS_MIN_VERSION=1.3`; otherwise TLS 1.2 is spoken, too.
    package var isTLS13Only: Bool

    package init(
        certificatePath: String, privateKeyPath: String, clientCAPath: String? = nil, clientCRLPath: String? = nil,
        isTLS13Only: Bool = false
    ) {
        self.isTLS13Only = isTLS13Only
        self.certificatePath = certificatePath
        self.privateKeyPath = privateKeyPath
        self.clientCAPath = clientCAPath
        self.clientCRLPath = clientCRLPath
    }
}
