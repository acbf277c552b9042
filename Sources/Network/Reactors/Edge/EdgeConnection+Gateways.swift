import FleetWire
import HTTPWire
import WireText

/// A connection from another gateway of the fleet, until its client's request.
extension EdgeConnection {
    /// The client's address; another gateway's connections have that of their client.
    var client: SocketAddress { relayed?.client ?? peer }

    /// Whether the client's own connection has TLS.
    var isClientTLS: Bool { relayed?.isTLS ?? isTLS }

    /// - Parameter input: as in `received`.
    func readPreface(_ input: UnsafeMutableRawBufferPointer, _ parser: RelayPrefaceParser) -> Int32 {
        guard strangeness == nil else { return -1 }
        var parser = parser
        switch parser.parse(Array(input)[...]) {
        case .needsMore: stage = .prefacing(parser)
        case .malformed(let fault):
            refuseGateway(.preface(fault))
            return -1
        case .complete(let preface, let consumed):
            relayed = preface
            stage = .reading
            arm(limits.headerMilliseconds)
            let rest = UnsafeMutableRawBufferPointer(rebasing: input[consumed...])
            if !rest.isEmpty { read(rest) }
        }
        return 0
    }

    func refuseGateway(_ refusal: GatewayRefusal) { listener.handler.gatewayRefused(refusal, peer: peer) }
}
