package import Relay

/// What `portcullis top` shows of a moment: figures, and rates since the moment before. A pure value.
package struct TopSample: Sendable, Equatable {
    package struct Row: Sendable, Equatable {
        package var session: SessionSummary
        /// Bytes a second, both ways; nil in the first sample that has the session.
        package var rate: Double?
    }

    package struct Refusal: Sendable, Equatable {
        package var name: String
        package var count: Int
        package var perSecond: Double?
    }

    package let figures: GatewayFigures
    package let rows: [Row]
    package let refusals: [Refusal]
    /// A second; nil in the first sample.
    package let connects: Double?
    package let admissions: Double?
    package let bytesIn: Double?
    package let bytesOut: Double?

    /// - Parameter previous: an earlier sample of the same gateway.
    package init(_ figures: GatewayFigures, _ sessions: [SessionSummary], after previous: TopSample?) {
        // A gateway that has been started again counts from 0.
        let earlier = previous.flatMap { $0.figures.time < figures.time ? $0 : nil }
        let seconds = earlier.map { Double(figures.time - $0.figures.time) / 1_000 } ?? 0
        func rate(_ new: Int, _ old: Int?) -> Double? {
            old.flatMap { seconds > 0 && new >= $0 ? Double(new - $0) / seconds : nil }
        }
        self.figures = figures
        connects = rate(figures.connectionsAccepted, earlier?.figures.connectionsAccepted)
        admissions = rate(figures.admitted, earlier?.figures.admitted)
        bytesIn = rate(figures.bytesFromClients, earlier?.figures.bytesFromClients)
        bytesOut = rate(figures.bytesToClients, earlier?.figures.bytesToClients)
        let carried = Dictionary(earlier?.rows.map { ($0.session.id, $0.session.bytes) } ?? []) { first, _ in first }
        rows = sessions.map { Row(session: $0, rate: rate($0.bytes, carried[$0.id])) }
        let refused = Dictionary(earlier?.figures.refusals.map { ($0.name, $0.count) } ?? []) { first, _ in first }
        refusals = figures.refusals.map { refusal in
            let before = earlier == nil ? nil : refused[refusal.name, default: 0]
            return Refusal(name: refusal.name, count: refusal.count, perSecond: rate(refusal.count, before))
        }
    }
}

extension SessionSummary {
    var bytes: Int { bytesFromClient + bytesToClient }
}

extension GatewayFigures.Refusals {
    fileprivate var name: String { "\(kind) \(reason)" }
}
