import Admission
import ProxyProtocol
package import Reactors
package import RelayCore
import Telnet

/// How targets are reached, with what each route does otherwise. One a gateway.
package struct TargetDialer: Sendable {
    /// `MUD_TLS_MODE`, for targets that have none of their own.
    package var tlsMode: TargetTLSMode
    /// Their `SSL_CTX`, by mode; nil where no target uses it.
    package var preferredTLS: TargetTLS?
    package var requiredTLS: TargetTLS?
    /// `PROXY_PROTOCOL`
    package var proxyHeader: TargetProxyHeader
    /// `MUD_DIAL_TIMEOUT_MS`
    package var timeoutMilliseconds: Int

    package init(
        tlsMode: TargetTLSMode, preferredTLS: TargetTLS?, requiredTLS: TargetTLS?, proxyHeader: TargetProxyHeader,
        timeoutMilliseconds: Int
    ) {
        self.tlsMode = tlsMode
        self.preferredTLS = preferredTLS
        self.requiredTLS = requiredTLS
        self.proxyHeader = proxyHeader
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    func dial(_ leg: TargetLeg, for client: ClientIdentity, on reactor: Reactor) {
        var options = DialOptions(timeoutMilliseconds: timeoutMilliseconds)
        let target = leg.target
        options.accepts = { target.mayDial($0) }
        if let version = (target.options.proxy ?? proxyHeader).version {
            options.prologue = { _, remote in client.proxyHeader(toward: remote, version) }
        }
        leg.dial(options, tls: tls(for: target), on: reactor)
    }

    func tls(for target: AuthorizedTarget) -> TargetTLS? {
        switch target.options.tls ?? tlsMode {
        case .plain: nil
        case .prefer: preferredTLS
        case .required: requiredTLS
        }
    }
}

/// Who a session's client is, as targets may be told.
struct ClientIdentity: Sendable {
    /// The session's id, as in the log.
    let session: String
    let principal: Principal
    let address: ClientAddress
    /// 0: not known.
    let port: UInt16
    /// Whether the client's own connection is encrypted.
    let isSecure: Bool

    /// The header that goes before everything else. Of the gateway's own ends a target knows already what it needs.
    fileprivate func proxyHeader(toward target: PeerAddress, _ version: ProxyVersion) -> [UInt8] {
        guard let source = ProxyAddress(bytes: address.bytes, port: port),
            let destination = ProxyAddress(bytes: target.bytes, port: target.port)
        else { return [] }
        let tlvs = [
            ProxyTLV.uniqueID(Array(session.utf8)),
            ProxyTLV.identity(way: principal.wayName, name: principal.identity),
        ].compactMap { $0 }
        let header = ProxyHeader(source: source, destination: destination, tlvs: version == .v2 ? tlvs : [])
        return header.encoded(as: version) ?? ProxyHeader(source: source, destination: destination).encoded(as: version)
            ?? []
    }
}

extension TargetProxyHeader {
    fileprivate var version: ProxyVersion? {
        switch self {
        case .off: nil
        case .v1: .v1
        case .v2: .v2
        }
    }
}
