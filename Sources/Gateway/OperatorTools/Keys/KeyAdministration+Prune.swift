package import FoundationEssentials
import KeyStore

/// What a pruning did, or would do.
package struct PruningReport: Sendable, Equatable {
    package var forgotten = 0
    package var kept = 0
    /// Of those that were kept. A forgotten key could be registered again, so a revoked one stays.
    package var revoked = 0
}

extension KeyAdministration {
    package static let maximumIdleDays = 3_650
    /// Between two transactions, in milliseconds: a gateway looks for the lock at least every millisecond.
    private static let pauseMilliseconds = 10

    /// Forgets the keys that haven't been used for a number of days, in short transactions, so that no gateway waits
    /// for the lock longer than for a registration. It closes no session.
    ///
    /// - Parameters:
    ///   - dryRun: whether it only tells what it would forget.
    ///   - show: called with a line for each key that is forgotten.
    package func prune(
        idleDays days: Int, at time: Date, dryRun: Bool, json: Bool = false, _ show: (String) -> Void
    ) async throws(OperatorError) -> PruningReport {
        guard (1...Self.maximumIdleDays).contains(days) else { throw .idleDays }
        let limit = Int64(time.timeIntervalSince1970 * 1_000) - Int64(days) * 86_400_000
        var (report, last) = (PruningReport(), KeyID?.none)
        while true {
            let listed = try await administrationErrors { [last] () async throws(KeyRegistryError) in
                try await store.listing(after: last, limit: Self.page)
            }
            guard let end = listed.last else { return report }
            last = end.id
            // A record that can't be read is kept.
            let keys = listed.compactMap(\.key)
            let idle = keys.filter { $0.isIdle(since: limit) }
            let ids = idle.map(\.id)
            let forgotten = try await dryRun ? Set(ids) : forget(ids, idleSince: limit)
            for key in idle where forgotten.contains(key.id) {
                show(json ? KeyDescription(key).json : KeyDescription(key).line)
            }
            report.forgotten += forgotten.count
            report.kept += listed.count - forgotten.count
            report.revoked += keys.count(where: \.isRevoked)
        }
    }

    /// - Returns: those that were still idle.
    private func forget(_ ids: [KeyID], idleSince limit: Int64) async throws(OperatorError) -> Set<KeyID> {
        var (rest, forgotten) = (ids[...], Set<KeyID>())
        while !rest.isEmpty {
            let batch = try await administrationErrors { [rest] () async throws(KeyRegistryError) in
                try await store.prune(Array(rest), idleSince: limit)
            }
            forgotten.formUnion(batch.forgotten)
            rest = rest.dropFirst(batch.handled)
            try? await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
        }
        // Otherwise the write-ahead log would grow without a running gateway. Another process may be at it, which does
        // the same.
        if !forgotten.isEmpty { try? await store.settle() }
        return forgotten
    }
}

extension OperatorError {
    static let idleDays = OperatorError(
        "--idle is a number of days from 1 to \(KeyAdministration.maximumIdleDays), such as 90d",
        hint: "portcullis keys prune --idle 90d --dry-run shows what it would forget.")
}
