import Admission
import KeyStore
import ProxyProtocol
package import Reactors
package import RelayCore
import Telnet
import WireText

/// Connects to targets, with the options that each route overrides. One per gateway.
package struct TargetDialer: Sendable {
    /// `TARGET_TLS_MODE`, for targets without a mode of their own.
    package var tlsMode: TargetTLSMode
    /// Their `SSL_CTX`, by mode; nil where no target uses it.
    package var preferredTLS: TargetTLS?
    package var requiredTLS: TargetTLS?
    /// `PROXY_PROTOCOL`
    package var proxyHeader: TargetProxyHeader
    /// `TARGET_DIAL_TIMEOUT_MS`
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

    /// - Parameter permit: of the client, which may begin a session.
    func dial(_ leg: TargetLeg, for client: ClientIdentity, _ permit: SessionPermit, on loop: any SessionLoop) {
        leg.dial(options(for: leg.target, client), tls: tls(for: leg.target), on: loop)
    }

    /// Limits the effects of a host that a client chose: see `HostChooser` and `refusesThisMachine`.
    func options(for target: AuthorizedTarget, _ client: ClientIdentity) -> DialOptions {
        var options = DialOptions(timeoutMilliseconds: timeoutMilliseconds)
        options.accepts = { target.mayDial($0) }
        options.refusesThisMachine = target.mustBePublic
        options.chooser = target.isClientsChoice ? .client(client.lookupNames) : .operators
        if let version = (target.options.proxy ?? proxyHeader).version {
            options.prologue = { _, remote in client.proxyHeader(toward: remote, version) }
        }
        return options
    }

    func tls(for target: AuthorizedTarget) -> TargetTLS? {
        switch target.options.tls ?? tlsMode {
        case .plain: nil
        case .prefer: preferredTLS
        case .required: requiredTLS
        }
    }
}

/// The description of a session's client for targets.
struct ClientIdentity: Sendable {
    /// The session's id, as in the log.
    let session: String
    let principal: Principal
    let address: IPAddress
    /// 0: not known.
    let port: UInt16
    /// Whether the client's own connection is encrypted.
    let isSecure: Bool
    /// Its admission has a line of its own in the audit log, and so has the end of its session.
    var isRecorded = true

    /// Both are limited: with the credential alone one device with many keys could look up many names, with the address
    /// alone a botnet with one key.
    fileprivate var lookupNames: [String] { [address.prefix.text] + (principal.identity.subject.map { [$0] } ?? []) }

    /// The header that precedes everything else. The target knows the addresses of the gateway's own connection
    /// already.
    fileprivate func proxyHeader(toward target: SocketAddress, _ version: ProxyVersion) -> [UInt8] {
        let source = SocketAddress(address, port: port)
        let tlvs = [
            ProxyTLV.uniqueID(Array(session.utf8)),
            ProxyTLV.identity(method: principal.proxyName, subject: principal.identity.subject),
            principal.account.map { ProxyTLV.account($0.text) },
        ].compactMap { $0 }
        let header = ProxyHeader(source: source, destination: target, tlvs: version == .v2 ? tlvs : [])
        return header.encoded(as: version) ?? ProxyHeader(source: source, destination: target).encoded(as: version)
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
