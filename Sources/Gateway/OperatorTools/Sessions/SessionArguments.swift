package import Relay

/// What the command line says about sessions, as the gateway's types.
package struct SessionArguments {
    package static let orders = SessionQuery.Order.allCases.map(\.rawValue)

    package var route: String?
    package var subject: String?
    package var address: String?

    package init(route: String? = nil, subject: String?, address: String?) {
        self.route = route
        self.subject = subject
        self.address = address
    }

    package var filter: SessionFilter { SessionFilter(route: route, subject: subject, address: address) }

    /// - Parameter order: one of `orders`.
    package func list(
        with tool: SessionTool, order: String, limit: Int, json: Bool, _ show: (String) -> Void
    ) throws(SessionToolError) -> (shown: Int, matching: Int) {
        var sessions: [SessionSummary] = []
        var shown = 0
        let matching = try tool.list(filter, order: SessionQuery.Order(rawValue: order) ?? .age, limit: limit) { page in
            shown += page.count
            if json { page.forEach { show(SessionText.json($0)) } } else { sessions += page }
        }
        if !json, !sessions.isEmpty { show(SessionText.table(sessions)) }
        return (shown, matching)
    }

    package static func show(_ id: String, with tool: SessionTool, json: Bool) throws(SessionToolError) -> String {
        let session = try tool.session(id)
        return json ? SessionText.json(session) : SessionText.details(session)
    }

    /// - Parameter id: nil: all sessions of the client that is named by its subject or its address.
    package func close(_ id: String?, with tool: SessionTool, reason: String) throws(SessionToolError) -> Int {
        try tool.close(id.map(SessionSelection.id) ?? .matching(filter), reason: reason)
    }
}
