import Relay

/// Asks the running gateway again and again, for `portcullis top`. Blocking.
package struct TopSampler {
    /// Sessions that are watched: with more, those that carried the most, or the longest idle, or the oldest.
    private static let watched = 400

    private let tool: SessionTool
    package private(set) var sample: TopSample?

    package init(_ tool: SessionTool) {
        self.tool = tool
    }

    package mutating func take(_ sort: TopFrame.Sort) throws(SessionToolError) -> TopSample {
        let figures = try tool.figures()
        var sessions: [SessionSummary] = []
        _ = try tool.list(SessionFilter(), order: order(sort), limit: Self.watched) { sessions += $0 }
        let next = TopSample(figures, sessions, after: sample)
        sample = next
        return next
    }

    private func order(_ sort: TopFrame.Sort) -> SessionQuery.Order {
        switch sort {
        case .rate, .bytes: .bytes
        case .idle: .idle
        case .age: .age
        }
    }
}
