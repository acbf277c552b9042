import Admission
import RelayCore
import Settings
import WireText

/// Resolves the names in the settings, and compares those of this gateway with the addresses of this machine.
struct NameProbe {
    /// A name, and what it stands for.
    private struct Subject {
        let setting: String
        let name: String
        /// Nobody gets anywhere without it.
        let isNeeded: Bool
        /// It should lead here.
        let isOwn: Bool
    }

    private let configuration: GatewayConfiguration
    private let settings = GatewaySettings.all

    init(_ configuration: GatewayConfiguration) { self.configuration = configuration }

    var findings: [ProbeFinding] {
        let subjects = subjects
        let outcomes = NameResolution.addresses(of: subjects.map(\.name))
        let machine = MachineSockets.current().addresses
        return subjects.compactMap { subject in
            outcomes[ByteText(subject.name)].map { Self.finding(subject, $0, machine: machine) }
        }
    }

    /// Targets aren't among them: to dial them finds out more.
    private var subjects: [Subject] {
        var subjects: [Subject] = []
        func add(_ setting: String, _ name: String?, isNeeded: Bool, isOwn: Bool) {
            guard let name, case .name(let host) = TargetHost(name) else { return }
            subjects.append(Subject(setting: setting, name: host, isNeeded: isNeeded, isOwn: isOwn))
        }
        let origin = configuration.tickets.publicOrigin.flatMap(WebOrigin.init)
        add(settings.tickets.publicOrigin.name, origin?.host, isNeeded: true, isOwn: true)
        if origin == nil {
            add(settings.inboundTLS.certificatePath.name, configuration.tls?.names.first, isNeeded: false, isOwn: true)
        }
        add(settings.fleet.binding.name, configuration.fleetListener?.advertised, isNeeded: true, isOwn: true)
        for host in configuration.fleetStore?.url.hosts ?? [] {
            add(settings.keyStore.url.name, host.text, isNeeded: true, isOwn: false)
        }
        for endpoint in configuration.target.allowed {
            add(settings.target.allowed.name, endpoint.host.text, isNeeded: false, isOwn: false)
        }
        return subjects
    }

    private static func finding(
        _ subject: Subject, _ outcome: NameResolution.Outcome, machine: Set<IPAddress>
    ) -> ProbeFinding {
        switch outcome {
        case .failure(let failure):
            return ProbeFinding(
                subject.isNeeded ? .failed : .attention, subject.setting,
                "\(subject.name) has no address: \(failure.reason)")
        case .success(let addresses):
            let text = "\(subject.name) is \(addresses.map(\.text).joined(separator: ", "))"
            guard subject.isOwn else { return ProbeFinding(.ok, subject.setting, text) }
            guard machine.isDisjoint(with: addresses) else {
                return ProbeFinding(.ok, subject.setting, "\(text), which is this machine")
            }
            return ProbeFinding(
                .attention, subject.setting,
                "\(text), which this machine hasn't: a proxy or a router has to pass connections on")
        }
    }
}
