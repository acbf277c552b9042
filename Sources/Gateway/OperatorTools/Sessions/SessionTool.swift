import GatewayServer
package import Relay

/// Asks the running gateway about its sessions, for the command line. Blocking.
package struct SessionTool {
    private let path: String
    /// A gateway with many sessions walks over all of them.
    private static let secondsToWait = 30

    /// - Parameter path: the control socket.
    package init(path: String) {
        self.path = path
    }

    /// Calls `show` with one page after the other, until `limit` sessions have been shown.
    ///
    /// - Returns: how many sessions the filter means.
    package func list(
        _ filter: SessionFilter, order: SessionQuery.Order, limit: Int, _ show: ([SessionSummary]) -> Void
    ) throws(SessionToolError) -> Int {
        var (left, after, matching): (Int, String?, Int?) = (limit, nil, nil)
        repeat {
            let size = max(1, min(left, SessionQuery.maximumLimit))
            let query = SessionQuery(filter: filter, order: order, limit: size, after: after)
            guard case .sessions(let page) = try ask(.sessions(query)) else { throw .otherAnswer }
            show(page.sessions)
            matching = matching ?? page.matching
            left -= page.sessions.count
            after = page.next
        } while after != nil && left > 0
        return matching ?? 0
    }

    package func session(_ id: String) throws(SessionToolError) -> SessionDetail {
        guard case .session(let session) = try ask(.session(id: id)) else { throw .otherAnswer }
        guard let session else { throw .noSession }
        return session
    }

    /// - Returns: how many sessions are closed.
    package func close(_ selection: SessionSelection, reason: String) throws(SessionToolError) -> Int {
        guard case .closed(let count) = try ask(.close(selection, reason: reason)) else { throw .otherAnswer }
        return count
    }

    package func figures() throws(SessionToolError) -> GatewayFigures {
        guard case .figures(let figures) = try ask(.figures) else { throw .otherAnswer }
        return figures
    }

    private func ask(_ request: InspectionRequest) throws(SessionToolError) -> InspectionAnswer {
        switch ControlClient(path: path).ask(.inspect(request), secondsToWait: Self.secondsToWait) {
        case .inspection(let answer): return answer
        case .refused(let reason): throw .refused(reason)
        case nil: throw .noGateway
        default: throw .otherAnswer
        }
    }
}

package enum SessionToolError: Error, Equatable {
    case noGateway
    case noSession
    case refused(String)
    case otherAnswer
}
