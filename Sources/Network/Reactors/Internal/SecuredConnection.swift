/// A connection to the internal listener over TLS. The handler limits the time of the handshake. Reactor thread only.
final class SecuredConnection: TLSStream, InternalTransport {
    private var verification: Verification?

    /// The last result for the peer's certificate.
    private struct Verification {
        let isGood: Bool
        let material: TLSMaterial
        /// Monotonic nanoseconds.
        let until: UInt64
    }

    /// Takes ownership of the socket. Without memory for TLS, `handler` hears of the end before this returns.
    init(_ socket: Int32, _ tls: InternalTLS, on reactor: Reactor, handler: any TCPHandler) {
        super.init(on: reactor, stage: .securing, handler: handler)
        transport = TCPConnection.adopt(socket, on: reactor, handler: self)
        session = TLSServerEngine(tls, sink: self, buffers: reactor.buffers)
        if session == nil { close(error: .broken("no memory for TLS")) }
    }

    private var server: TLSServerEngine? { session as? TLSServerEngine }

    /// Certificates and lists end, and reloads replace them, while a connection is open; so the peer's certificate is
    /// verified again when that may have happened.
    var isCertified: Bool {
        guard let server, stage == .open else { return false }
        if let verification, verification.material === server.material, reactor.now < verification.until {
            return verification.isGood
        }
        let new = Verification(
            isGood: server.certificate?.isVerified == true, material: server.material,
            until: reactor.now + UInt64(TLSMaterial.verificationSeconds) * 1_000_000_000)
        verification = new
        return new.isGood
    }

    override func advanceHandshake() {
        switch server?.handshake() {
        case .underWay, nil: break
        case .done: open()
        case .failed(let text): fail(text)
        }
    }
}
