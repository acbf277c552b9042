import DPoP
import Foundation

/// A database that several servers share. Redis does it with `SET key 1 NX EX seconds`.
protocol SharedTable: Sendable {
    /// Atomic.
    ///
    /// - Returns: false if the table has the key already.
    func insert(_ key: String, seconds: Int64) async throws -> Bool
}

struct SharedReplays<Table: SharedTable>: AsyncReplayStore {
    let table: Table
    /// Begins anew when the table has lost something; kept with the table.
    let life: ReplayLife
    /// Seconds by which the clocks of two servers may differ.
    private let clockTolerance: Int64 = 5

    func spend(_ use: ProofUse, at time: Date) async -> ReplaySpending {
        let seconds = use.expires - Int64(time.timeIntervalSince1970)
        guard seconds >= 0 else { return .undecidable }
        guard life.excludesEarlierUse(of: use) else { return .perhapsInEarlierLife }
        do {
            let key = "proof-" + Data(use.identity).base64EncodedString()
            return try await table.insert(key, seconds: seconds + clockTolerance + 1) ? .spent : .replayed
        } catch { return .unavailable }
    }
}
