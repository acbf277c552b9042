import Reactors
import Synchronization
import WireText

/// What operators ask about sessions. Each reactor is asked at the same time, in slices.
extension RelayServer {
    /// - Returns: nil if the query is malformed.
    package func sessions(_ query: SessionQuery) async -> SessionPage? {
        guard let matcher = SessionMatcher(query.filter), (1...SessionQuery.maximumLimit).contains(query.limit)
        else { return nil }
        let after = query.after.map(SessionRank.init)
        if case .some(.none) = after { return nil }
        let start = after ?? nil
        // One more than the page has, to know whether there is another page.
        let empty = FoundSessions(first: FirstRanked(limit: query.limit + 1), matching: 0)
        let parts = await survey(into: empty) { found, session in
            guard session.isMeant(by: matcher) else { return }
            found.matching += 1
            let rank = session.rank(query.order)
            if let start, rank <= start { return }
            found.first.offer(rank, session.summary)
        }
        return FoundSessions.page(parts, limit: query.limit)
    }

    package func session(_ id: String) async -> SessionDetail? {
        let found = await survey(into: SessionDetail?.none) { found, session in
            if session.client.session.hasSameBytes(as: id) { found = session.detail }
        }
        return found.compactMap(\.self).first
    }

    /// Closes sessions for an operator. Each one has a line in the audit log.
    ///
    /// - Parameter detail: who closes them, for the audit log.
    /// - Returns: how many; nil if the selection is malformed or means every client.
    package func close(_ selection: SessionSelection, detail: String) async -> Int? {
        switch selection {
        case .id(let id):
            return await survey(into: 0) { count, session in
                if session.client.session.hasSameBytes(as: id), session.closeForOperator(detail) { count += 1 }
            }.reduce(0, +)
        case .matching(let filter):
            guard filter.subject != nil || filter.address != nil, let matcher = SessionMatcher(filter)
            else { return nil }
            return await survey(into: 0) { count, session in
                if session.isMeant(by: matcher), session.closeForOperator(detail) { count += 1 }
            }.reduce(0, +)
        }
    }

    /// - Returns: what each reactor has found.
    private func survey<Result: Sendable>(
        into empty: Result, visit: @escaping @Sendable (inout Result, SessionStage) -> Void
    ) async -> [Result] {
        await withTaskGroup(of: Result.self) { group in
            for table in tables.withLock({ $0 }) {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        table.reactor.submit {
                            SessionSurvey(table.value, on: table.reactor, into: empty, visit: visit) {
                                continuation.resume(returning: $0)
                            }.advance()
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// What one reactor has found for a page.
struct FoundSessions: Sendable {
    var first: FirstRanked<SessionSummary>
    var matching: Int

    static func page(_ parts: [FoundSessions], limit: Int) -> SessionPage {
        var all = FirstRanked<SessionSummary>(limit: limit + 1)
        for part in parts { all.merge(part.first) }
        let found = all.take()
        let page = found.prefix(limit)
        return SessionPage(
            sessions: page.map(\.element), matching: parts.reduce(0) { $0 + $1.matching },
            next: found.count > limit ? page.last?.rank.text : nil)
    }
}
