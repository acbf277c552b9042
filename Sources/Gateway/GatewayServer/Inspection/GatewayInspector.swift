import Admission
import FoundationEssentials
import KeyStore
import Observability
import PrometheusText
import Reactors
import Relay

/// Reads the state of the gateway for metrics and probes. Any thread; nothing here waits, except for `observations`,
/// which reads `/proc`.
struct GatewayInspector: Sendable {
    let state: GatewayState
    let pulse: ReactorPulse
    let storeProbe: StoreProbe?
    let current: CurrentSnapshot
    /// Registrations and requests for tokens that aren't answered.
    let pending: @Sendable () -> Int
    private let process = ProcessFigures()

    init(
        state: GatewayState, pulse: ReactorPulse, storeProbe: StoreProbe?, current: CurrentSnapshot,
        pending: @escaping @Sendable () -> Int
    ) {
        self.state = state
        self.pulse = pulse
        self.storeProbe = storeProbe
        self.current = current
        self.pending = pending
    }

    var inspection: GatewayInspection {
        GatewayInspection(
            exposition: { state.registry.exposition($0, adding: observations()) },
            liveness: { HealthReport([reactors(within: ReactorPulse.aliveNanoseconds)]) },
            readiness: { readiness(at: Int64(Date.now.timeIntervalSince1970)) })
    }

    private var certificates: CertificateFigures { current.now.certificates }

    // MARK: Checks

    /// - Parameter time: seconds since 1970.
    func readiness(at time: Int64) -> HealthReport {
        HealthReport([
            .init("draining", state.drain.isDraining ? "the gateway is shutting down" : nil),
            reactors(within: ReactorPulse.readyNanoseconds),
            .init("store", storeProbe?.problem()),
            .init("certificate", certificateProblem(at: time)),
            .init("audit", auditProblem),
        ])
    }

    private func reactors(within limit: UInt64) -> HealthReport.Check {
        let slow = pulse.currentDelays().enumerated().filter { $0.element > limit }
        let texts = slow.map { "reactor \($0.offset) has not answered for \($0.element / 1_000_000) ms" }
        return .init("reactors", texts.isEmpty ? nil : texts.joined(separator: ", "))
    }

    private func certificateProblem(at time: Int64) -> String? {
        guard let validity = certificates.server, !validity.isValid(at: time) else { return nil }
        return validity.warning(at: time)
    }

    /// Only if nobody is admitted because of it.
    private var auditProblem: String? {
        guard certificates.refusesWithoutAudit, !state.audit.condition.isWritten else { return nil }
        return "the audit log can't be written, so nobody is admitted (AUDIT_FULL=refuse)"
    }

    // MARK: Figures

    func observations() -> [MetricObservation] {
        process.observations() + reactorFigures() + storeFigures() + certificateFigures() + gatewayFigures()
    }

    private func reactorFigures() -> [MetricObservation] {
        pulse.longestDelays().enumerated().map { index, delay in
            one(.reactorLag, [MetricDimension("reactor", "\(index)")], Double(delay) / 1e9)
        } + [one(.handshakesWaiting, Double(pulse.handshakesWaiting))]
    }

    private func storeFigures() -> [MetricObservation] {
        guard let store = state.store else { return [] }
        let tickets = state.keptTickets.map { [(name: "tickets", count: $0.waiting)] } ?? []
        return (store.queueLengths + tickets).map { name, count in
            one(.storeQueue, [MetricDimension("queue", name)], Double(count))
        } + [one(.storeWritable, storeProbe?.problem() == nil ? 1 : 0)]
    }

    private func certificateFigures() -> [MetricObservation] {
        certificates.expiries.map { name, time in
            one(.certificateExpiry, [MetricDimension("certificate", name)], Double(time))
        }
    }

    private func gatewayFigures() -> [MetricObservation] {
        let isReady = readiness(at: Int64(Date.now.timeIntervalSince1970)).isPassed
        return [
            one(.challengesSpent, Double(state.challenges.spentTotal)),
            one(.challengesRemembered, Double(state.challenges.spentCount)),
            one(.registrationsPending, Double(pending())),
            one(.auditLinesPending, Double(state.audit.condition.pending)),
            one(.ready, isReady ? 1 : 0),
            one(.draining, state.drain.isDraining ? 1 : 0),
            one(.seriesDropped, Double(state.registry.droppedSeries)),
            one(.buildInfo, [MetricDimension("version", Gateway.version)], 1),
        ]
    }

    private func one(_ name: MetricName, _ value: Double) -> MetricObservation { one(name, [], value) }

    private func one(_ name: MetricName, _ dimensions: [MetricDimension], _ value: Double) -> MetricObservation {
        MetricObservation(name.rawValue, dimensions, value)
    }
}
