package import PrometheusText

/// What the internal listener tells about the whole gateway. The composition root makes it; any thread may call it.
package struct GatewayInspection: Sendable {
    /// The answer to a scrape. It reads files of the kernel, so it isn't for a reactor.
    package var exposition: @Sendable (ExpositionFormat) -> [UInt8]
    /// The process and its reactors respond. It answers at once, from what was found lately.
    package var liveness: @Sendable () -> HealthReport
    /// Clients can be admitted. It answers at once.
    package var readiness: @Sendable () -> HealthReport

    package init(
        exposition: @escaping @Sendable (ExpositionFormat) -> [UInt8],
        liveness: @escaping @Sendable () -> HealthReport, readiness: @escaping @Sendable () -> HealthReport
    ) {
        self.exposition = exposition
        self.liveness = liveness
        self.readiness = readiness
    }
}

/// The outcome of some checks, each with a name.
package struct HealthReport: Sendable, Equatable {
    package struct Check: Sendable, Equatable {
        package let name: String
        /// A sentence for the operator; nil if all is well.
        package let problem: String?

        package init(_ name: String, _ problem: String?) {
            self.name = name
            self.problem = problem
        }
    }

    package let checks: [Check]

    package init(_ checks: [Check]) { self.checks = checks }

    package var isPassed: Bool { checks.allSatisfy { $0.problem == nil } }

    /// `store: The key store is busy`
    package var reasons: [String] { checks.compactMap { check in check.problem.map { "\(check.name): \($0)" } } }
}
