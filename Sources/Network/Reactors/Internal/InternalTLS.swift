import COpenSSL

/// The TLS of the internal listener on one reactor. Its rules are the edge's (`EdgeTLS.restrict`, `ClientChain`,
/// `TLSMaterial`). Reactor thread only.
///
/// Another material affects later handshakes, and whether certificates that were presented before are still good.
final class InternalTLS {
    private let place: Pinned<InternalPlace>
    let context: OpaquePointer
    let bio: TLSMemoryBIO

    init(at place: Pinned<InternalPlace>) throws(ReactorError) {
        OpenSSLError.clear()
        guard let context = SSL_CTX_new(TLS_server_method()), let bio = TLSMemoryBIO() else {
            throw .vhostFailed(OpenSSLError.drain())
        }
        self.place = place
        self.context = context
        self.bio = bio
        guard EdgeTLS.restrict(context) else { throw .vhostFailed(OpenSSLError.drain()) }
        // Unretained: each session holds this object.
        SSL_CTX_set_cert_cb(
            context,
            { ssl, tls in
                guard let tls else { return 0 }
                return Unmanaged<InternalTLS>.fromOpaque(tls).takeUnretainedValue().material.serve(ssl) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    var material: TLSMaterial {
        guard let material = place.value.service.material else { preconditionFailure("no reload takes TLS away") }
        return material
    }

    deinit { SSL_CTX_free(context) }
}
