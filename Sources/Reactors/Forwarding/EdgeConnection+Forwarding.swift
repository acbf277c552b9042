import CLibwebsockets
import ForwardingWire
import HTTPWire
import WireText

/// A connection from another gateway of the fleet, until its client's request; and a client's connection whose session another gateway has.
extension EdgeConnection {
    /// The client's address; another gateway's connections have that of their client.
    var client: SocketAddress { forwarded?.client ?? peer }

    /// Whether the client's own connection has TLS.
    var isClientTLS: Bool { forwarded?.isTLS ?? isTLS }

    // MARK: From another gateway

    /// - Parameter input: as in `received`.
    func readPreface(_ input: UnsafeMutableRawBufferPointer, _ parser: ForwardPrefaceParser) -> Int32 {
        guard strangeness == nil else { return -1 }
        var parser = parser
        switch parser.parse(Array(input)[...]) {
        case .needsMore: stage = .prefacing(parser)
        case .malformed(let fault):
            refuseGateway(.preface(fault))
            return -1
        case .complete(let preface, let consumed):
            forwarded = preface
            stage = .reading
            arm(limits.headerMilliseconds)
            let rest = UnsafeMutableRawBufferPointer(rebasing: input[consumed...])
            if !rest.isEmpty { read(rest) }
        }
        return 0
    }

    func refuseGateway(_ refusal: GatewayRefusal) { listener.handler.gatewayRefused(refusal, peer: peer) }

    // MARK: To another gateway

    /// The other gateway has answered: from here on its bytes are for the client, and the client's for it.
    ///
    /// - Parameter bytes: of the answer.
    /// - Returns: false if the client is gone.
    func beginForwarding(_ forward: OutboundForward, _ bytes: [UInt8]) -> Bool {
        guard case .upgrading = stage, let wsi else { return false }
        stage = .forwarding(forward)
        forward.isSwitched ? arm(at: nil) : arm(limits.answerMilliseconds)
        if forward.isSwitched, let ssl = lws_get_ssl(wsi) { TLSMaterial.wipeHandshakeSecrets(ssl) }
        let kept = http?.takeKept() ?? []
        endHTTP()
        resume(wsi)
        queue(bytes)
        kept.withUnsafeBytes { if !$0.isEmpty { forward.clientSent($0) } }
        return true
    }
}
