import Admission
import HTTPWire
import Reactors
import RelayCore
import WebSocketWire
import WireText

/// An upgrade as the edge has determined it, once: who asks, how, and for what. The gate decides by it, and the session
/// begins with it.
struct Upgrade: Sendable {
    let context: RequestContext
    let handshake: UpgradeHandshake
    let session: SessionRequest
    /// The decision about `session.target`, before the admission method is known.
    let route: TargetDecision
    /// Of the client; 0: not known.
    let port: UInt16
    let isTLS: Bool
}

extension Upgrade {
    /// - Parameters:
    ///   - session: of the same request.
    ///   - targets: of the reload that decides about the upgrade and its session.
    init(_ exchange: UpgradeExchange, _ session: SessionRequest, targets: TargetPolicy, _ context: RequestContext) {
        self.init(
            context: context, handshake: UpgradeHandshake(exchange), session: session,
            route: targets.decide(session.target), port: context.isForwarded ? 0 : exchange.peer.port,
            isTLS: exchange.isTLS)
    }

    /// The subprotocol decides, then the query, then the gateway's default.
    func chooser(_ settings: DialectSettings, now: UInt64) -> DialectChooser {
        DialectChooser(
            subprotocol: handshake.subprotocol,
            standard: session.dialect.map(DefaultDialect.fixed) ?? settings.standard, wait: settings.wait,
            maximumMessageBytes: settings.maximumMessageBytes, now: now)
    }
}

extension UpgradeHandshake {
    fileprivate init(_ exchange: UpgradeExchange) {
        let fault: HandshakeFault? =
            switch exchange.opening {
            case .success(let opening) where opening.protocols.isEmpty || exchange.subprotocol != nil: nil
            case .success(let opening):
                .subprotocols(offered: opening.protocols, known: exchange.knownSubprotocols)
            case .failure(let fault): HandshakeFault(fault, of: exchange.head)
            }
        self.init(
            method: String(decoding: exchange.head.method, as: UTF8.self), subprotocol: exchange.subprotocol,
            fault: fault)
    }
}

extension HandshakeFault {
    init(_ fault: OpeningHandshake.Fault, of head: RequestHead) {
        self =
            switch fault {
            case .method: .method
            case .httpVersion: .httpVersion
            case .upgrade, .connection: .otherProtocol
            case .version, .unsupportedVersion: .version(received: head.text("sec-websocket-version"))
            case .key: .key
            case .protocols, .extensions: .malformed
            }
    }
}

extension ClientIdentity {
    init(_ admitted: Admitted, _ upgrade: Upgrade, isRecorded: Bool) {
        self.init(
            session: upgrade.context.id, principal: admitted.principal, address: upgrade.context.address,
            port: upgrade.port, isSecure: upgrade.isTLS, isRecorded: isRecorded)
    }
}
