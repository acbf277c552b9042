import KeyStore

/// The housekeeping of a fleet's database. Every gateway asks regularly whether it is due; one of them does it.
///
/// It has a connection of its own, with one statement at a time: no client's statement waits behind it.
struct FleetUpkeep {
    /// Challenges, proofs and tickets whose use the database remembers at most; about 150 bytes each.
    static let maximumMarks = 5_000_000
    /// Between two runs in the fleet, at least. A little less than between two calls of one gateway, so that one alone
    /// doesn't miss every second run.
    private static let pauseMilliseconds = 4_000
    private static let roundsOfFamilies = 20

    private let registry: any FleetStorage

    /// - Parameter registry: with connections of its own.
    init(_ registry: any FleetStorage) { self.registry = registry }

    /// Has the database forget what has expired, if it is this gateway's turn.
    ///
    /// - Parameter time: in the fleet's time; what expired until then.
    func run(expiredAt time: Int64) async throws(KeyRegistryError) {
        guard try await registry.beginUpkeep(pause: Self.pauseMilliseconds) else { return }
        try await registry.forgetMarks(expiredAt: time, maximum: Self.maximumMarks)
        try await registry.forgetChanges()
        try await registry.forgetHoldings()
        try await registry.forgetLostSessions()
        var failure: KeyRegistryError?
        do throws(KeyRegistryError) {
            _ = try await registry.expireAccounts(madeBefore: time - AccountLimits.unusedMilliseconds, at: time)
        } catch {
            failure = error
        }
        // Whoever an operator has signed out is told by this.
        try await endFamilies(expiredAt: time)
        if let failure { throw failure }
    }

    /// In transactions that are short each. Of a million that an operator has ended all are told within minutes.
    private func endFamilies(expiredAt time: Int64) async throws(KeyRegistryError) {
        for _ in 0..<Self.roundsOfFamilies {
            let ended = try await registry.expireFamilies(at: time)
            if ended < RefreshLimits.maximumExpired { return }
        }
    }
}
