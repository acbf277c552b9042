import Admission
import Reactors
import RelayCore
import WireText

/// The inside: the target services and their connections; also tickets and trusted proxies.
extension ConfigurationLoader {
    mutating func target() -> (standard: TargetEndpoint, policy: TargetPolicy)? {
        let target = read(\.target)
        checkTargetTLS(target)
        guard let host = target.host, let port = target.port else { return nil }
        guard let targetHost = TargetHost(host.text) else {
            fail(settings.target.host, "isn't a host that can be dialled", "Write a host name or an IP address.")
            return nil
        }
        let standard = TargetEndpoint(host: targetHost, port: UInt16(port))
        let policy = targetPolicy(
            TargetSettings(
                mode: target.mode, standard: standard, routes: target.routes, allowed: target.allowed,
                ports: target.ports, requiresCredentials: read(settings.gate.appAuth) == .required))
        guard let policy else { return nil }
        if target.mode == .arbitrary { warnOfArbitraryTargets(on: target.ports) }
        return (standard, policy)
    }

    /// Each mode must have what it needs and nothing that it ignores: an ignored entry looks like a restriction and
    /// isn't one.
    private mutating func targetPolicy(_ decisions: TargetSettings) -> TargetPolicy? {
        do throws(TargetFaults) {
            return try TargetPolicy(decisions)
        } catch {
            let target = settings.target
            for entry in error.entries {
                refuse(
                    target.mode, "can't be used so: \(entry.fault)",
                    "See docs/CONFIGURATION.md for what each mode needs.",
                    involving: [target.mode, target.allowed, target.ports, settings.gate.appAuth])
            }
            return nil
        }
    }

    private mutating func warnOfArbitraryTargets(on ports: [ClosedRange<UInt16>]) {
        warn(
            settings.target.mode,
            "is arbitrary: every admitted client can connect from this machine to any public address, on TARGET_PORTS.")
        let open = Set(ports.joined())
        if open.contains(where: { $0 <= Self.lastSystemPort && !Self.telnetPorts.contains($0) }) {
            warn(
                settings.target.ports,
                "opens ports up to \(Self.lastSystemPort) besides telnet's (23, 992): mail, web and other services listen there."
            )
        }
        if open.count > Self.manyPorts {
            warn(settings.target.ports, "opens \(open.count) ports: name those on which MUDs listen.")
        }
    }

    /// RFC 6335 section 6.
    private static let lastSystemPort: UInt16 = 1_023
    private static let telnetPorts: [UInt16] = [23, 992]
    /// A list that opens more ports than this is too wide for the ports of MUDs.
    private static let manyPorts = 2_000

    private mutating func checkTargetTLS(_ target: SectionValues<TargetSection>) {
        let settings = settings.target
        if let authority = target.authorityPath { checkTargetAuthorities(authority) }
        let usesTLS = target.tlsMode != .plain || target.routes.contains { ($0.options.tls ?? .plain) != .plain }
        let trust: [(setting: any AnySetting, isSet: Bool)] = [
            (settings.authorityPath, target.authorityPath != nil), (settings.pins, !target.pins.isEmpty),
        ]
        for (setting, isSet) in trust where isSet && !usesTLS {
            refuse(
                setting, "is set while no target is reached over TLS", "Set TARGET_TLS_MODE, or remove it.",
                involving: [setting, settings.tlsMode, settings.routes])
        }
        if target.authorityPath != nil, !target.pins.isEmpty {
            refuse(
                settings.authorityPath, "has no effect if TARGET_TLS_PIN is set",
                "Remove one of the two: a pin trusts a key regardless of its issuer.",
                involving: [settings.authorityPath, settings.pins])
        }
        warnOfPins(target.pins, target.tlsMode, target.routes)
    }

    /// Not an error: a target with a self-signed certificate needs its pin to be reached over TLS at all. But `prefer`
    /// doesn't enforce the pin.
    private mutating func warnOfPins(_ pins: [PublicKeyPin], _ mode: TargetTLSMode, _ routes: [Route]) {
        guard !pins.isEmpty, mode == .prefer || routes.contains(where: { $0.options.tls == .prefer }) else { return }
        warn(
            settings.target.pins,
            "isn't enforced if TLS is `prefer`: an attacker who blocks TLS gets plain text despite the pin. Use `required`."
        )
    }

    mutating func tickets() -> SectionValues<TicketSection> {
        let tickets = read(\.tickets)
        if let path = tickets.controlSocketPath, path.utf8.count > Self.maximumSocketPathBytes {
            fail(
                settings.tickets.controlSocketPath, "is longer than \(Self.maximumSocketPathBytes) bytes",
                "The system allows no longer path for a socket: use a shorter one.")
        }
        return tickets
    }

    /// For the gateway only. A tool may use a socket that it couldn't create.
    mutating func checkControlSocket(_ path: String) {
        guard let obstacle = NamedFile.obstacle(toListeningOn: path) else { return }
        fail(settings.tickets.controlSocketPath, obstacle.problem, obstacle.remedy)
    }

    /// The size of the path in Linux' `sockaddr_un`, without the final NUL.
    private static let maximumSocketPathBytes = 107

    mutating func proxies() -> TrustedProxies {
        let proxies = read(\.proxies)
        let settings = settings.proxies
        if proxies.sendHeader, proxies.trusted.isEmpty {
            refuse(
                settings.sendHeader, "is true, but no proxy is trusted", "Name the proxies in TRUSTED_PROXY_CIDRS.",
                involving: [settings.sendHeader, settings.trusted])
        }
        if proxies.header != settings.header.defaultValue, proxies.trusted.isEmpty {
            refuse(
                settings.header, "is set, but no proxy is trusted",
                "Name the proxies in TRUSTED_PROXY_CIDRS, or remove it.",
                involving: [settings.header, settings.trusted])
        }
        if proxies.trusted.contains(where: \.isEverything) {
            fail(
                settings.trusted, "trusts every address there is",
                "Every client could then choose the address that limits and logs use: name the proxies.")
        }
        return TrustedProxies(proxies.trusted, header: proxies.header)
    }
}
