import Admission
import Logging
import Observability
import RelayCore
import Settings
import SettingsTestKit
import WireText

@testable import GatewayServer
@testable import Relay

/// The parts of a gateway with an additional admission method, and requests to its gate.
struct BadgeBench {
    static let start = Moment(
        monotonic: MonotonicTime(nanoseconds: 5_000_000_000_000), unixMilliseconds: 1_771_300_000_000)

    let desk = BadgeDesk()
    /// Its folder is removed with it.
    private let bench: ConfigurationBench
    let state: GatewayState
    /// The settings from which a server is made.
    var relay: RelaySettings

    /// - Parameter changes: settings in addition to the required ones.
    init(_ changes: [String: String?] = [:]) throws {
        bench = try ConfigurationBench()
        let configuration = try bench.load(bench.least(changes)).configuration
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        state = try GatewayState(configuration, logger: logger)
        // The one line that adds the method.
        let methods = [.badge(desk)] + [ConfiguredMethod].all
        relay = try GatewayParts(
            configuration.live, StartupPinned(configuration.live), state: state, methods: methods, logger: logger
        ).relay
    }

    var gate: Gate {
        get { relay.gate }
        set { relay.gate = newValue }
    }

    /// An upgrade of a client that presents this badge, modified by `change`.
    func request(
        _ badge: String? = "alice:open sesame", ticket: String? = nil, at milliseconds: Int = 0,
        changing change: (inout AdmissionRequest) -> Void = { _ in }
    ) -> AdmissionRequest {
        let moment = Moment(
            monotonic: Self.start.monotonic.advanced(by: .milliseconds(milliseconds)),
            unixMilliseconds: Self.start.unixMilliseconds + Int64(milliseconds))
        var request = AdmissionRequest(
            id: "r1", address: IPAddress(ipv4: (192, 0, 2, 1)), moment: moment,
            handshake: UpgradeHandshake(),
            origin: nil, host: "gate.example:6200", isTLS: false,
            fields: CredentialFields(
                gate.fields, header: { $0 == "x-badge" ? badge : nil }, parameter: { $0 == "ticket" ? ticket : nil }),
            certificate: nil)
        change(&request)
        return request
    }
}

extension AdmissionDecision {
    var refusal: Refusal? {
        guard case .refused(let refusal) = self else { return nil }
        return refusal
    }

    var principal: Principal? { admitted?.principal }

    var admitted: Admitted? {
        guard case .admitted(let admitted) = self else { return nil }
        return admitted
    }
}
