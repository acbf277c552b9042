import COpenSSL

/// The server side of one TLS connection, on the internal listener. Reactor thread only.
final class TLSServerEngine: TLSEngine {
    private let tls: InternalTLS

    enum Handshake: Equatable {
        case underWay
        case done
        /// The text is OpenSSL's: nothing that the peer chose.
        case failed(String)
    }

    /// - Returns: nil without memory.
    init?(_ tls: InternalTLS, sink: any TLSRecordSink, buffers: BufferPool) {
        OpenSSLError.clear()
        guard let ssl = SSL_new(tls.context) else { return nil }
        self.tls = tls
        super.init(ssl, of: tls, sink: sink, buffers: buffers)
        guard tls.bio.attach(to: ssl, of: self) else { return nil }
        SSL_set_accept_state(ssl)
    }

    func handshake() -> Handshake {
        OpenSSLError.clear()
        let result = SSL_do_handshake(ssl)
        guard result != 1 else {
            TLSMaterial.wipeHandshakeSecrets(ssl)
            return .done
        }
        guard SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ else { return .underWay }
        return .failed(OpenSSLError.drain())
    }

    /// What the peer has presented; nil if that is nothing. It is verified with the material of now.
    var certificate: PeerCertificate? {
        guard tls.material.asksForCertificates else { return nil }
        OpenSSLError.clear()
        defer { OpenSSLError.clear() }
        return PeerCertificate(of: ssl, trusting: tls.material)
    }

    /// The material of now: after a reload a verified certificate has to be verified again.
    var material: TLSMaterial { tls.material }
}
