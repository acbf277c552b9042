import Reactors
import Relay
import RelayCore
package import Settings

/// Tries what the settings name outside of the gateway, as `check-config --probe` does: targets, names, and the address
/// for clients. Blocking.
package struct ConfigurationProbe {
    private let configuration: GatewayConfiguration
    private let names = GatewaySettings.all

    package init(_ configuration: GatewayConfiguration) {
        self.configuration = configuration
    }

    package func run() throws(GatewayError) -> [ProbeFinding] {
        let timeout = configuration.target.dialTimeoutMilliseconds
        let dialer = try gatewayErrors { () throws(ReactorError) in try ProbeDialer(timeoutMilliseconds: timeout) }
        defer { dialer.stop() }
        let found = NameProbe(configuration).findings
        return try targets(dialer) + found + PublicAddressProbe(configuration, dialer).findings
    }

    // MARK: Targets

    private struct Target {
        let setting: String
        /// The route's, with a space behind it.
        let name: String
        let endpoint: TargetEndpoint
        let mode: TargetTLSMode
        let sendsHeader: Bool
    }

    private var targets: [Target] {
        let target = configuration.target
        let standard = Target(
            setting: names.target.host.name, name: "", endpoint: configuration.standardTarget, mode: target.tlsMode,
            sendsHeader: target.proxyProtocol != .off)
        return [standard]
            + target.routes.map { route in
                Target(
                    setting: names.target.routes.name, name: route.name + " ", endpoint: route.endpoint,
                    mode: route.options.tls ?? target.tlsMode,
                    sendsHeader: (route.options.proxy ?? target.proxyProtocol) != .off)
            }
    }

    private func targets(_ dialer: ProbeDialer) throws(GatewayError) -> [ProbeFinding] {
        let tls = try GatewayParts.dialer(configuration.live.target)
        let targets = targets
        let destinations = targets.map { target in
            let context: TargetTLS? =
                switch target.mode {
                case .plain: nil
                case .prefer: tls.preferredTLS
                case .required: tls.requiredTLS
                }
            return ProbeDialer.Destination(
                host: target.endpoint.host.text, port: target.endpoint.port, tls: context)
        }
        return zip(targets, dialer.dial(destinations)).map { Self.finding($0, $1) }
    }

    private static func finding(_ target: Target, _ result: Result<ProbeDialer.Connected, TCPError>) -> ProbeFinding {
        let subject = target.name + target.endpoint.text
        switch result {
        case .failure(let error): return ProbeFinding(.failed, target.setting, "\(subject) doesn't answer: \(error)")
        case .success(let connected):
            let header = target.sendsHeader ? "; no PROXY header was sent" : ""
            let answer = "\(subject) answers after \(connected.milliseconds) ms"
            if let version = connected.tlsVersion {
                return ProbeFinding(.ok, target.setting, "\(answer), with \(version)\(header)")
            }
            guard let fallback = connected.fallback else {
                return ProbeFinding(.ok, target.setting, "\(answer), without TLS\(header)")
            }
            return ProbeFinding(.attention, target.setting, "\(answer), without TLS: \(fallback)\(header)")
        }
    }
}
