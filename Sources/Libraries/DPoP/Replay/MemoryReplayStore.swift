#if !canImport(Darwin)
    import Synchronization
#endif
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A replay store in memory, for one process. Any thread may call it.
public final class MemoryReplayStore: ReplayStore {
    /// The maximum number of stored proofs. Each takes up to 160 bytes.
    public static let defaultMaximum = 100_000
    /// The maximum number of stored proofs of one key, each for up to a minute with the default window.
    public static let defaultMaximumPerKey = 1_000

    /// nil: there was no store before.
    public let life: ReplayLife?
    private let proofs: Locked<SpentProofs>

    /// - Parameters:
    ///   - maximum: of all keys together; at least one.
    ///   - maximumPerKey: of one key. As the store fills, a key's limit falls to a sixteenth of the remaining room, but
    ///     never below one.
    ///   - life: for a process that follows another one. A proof that may have been used before then needs a nonce of
    ///     this life.
    public init(
        maximum: Int = defaultMaximum, maximumPerKey: Int = defaultMaximumPerKey, life: ReplayLife? = nil
    ) {
        proofs = Locked(SpentProofs(maximum: max(1, maximum), maximumPerKey: max(1, maximumPerKey)))
        self.life = life
    }

    public func spend(_ use: ProofUse, at time: Date) -> ReplaySpending { spend(use, at: time, in: life) }

    /// - Parameter life: that of the store, by the clock of `time`.
    package func spend(_ use: ProofUse, at time: Date, in life: ReplayLife?) -> ReplaySpending {
        let second = time.wholeSeconds
        return proofs.withLock { $0.spend(use, at: second, in: life) }
    }

    /// Why a proof would be refused now, apart from a lack of room; nil: it wouldn't. Spends nothing, so another caller
    /// may spend it meanwhile.
    package func refusal(of use: ProofUse, at time: Date, in life: ReplayLife?) -> ReplaySpending? {
        let second = time.wholeSeconds
        return proofs.withLock { $0.refusal(of: use, at: second, in: life) }
    }

    /// For the process that replaces this one.
    package var carried: CarriedProofs { proofs.withLock { $0.carried } }

    /// Takes over the proofs that an earlier process has accepted, before the first use of a proof.
    package func restore(_ carried: CarriedProofs) throws {
        try proofs.withLock { (proofs) throws in try proofs.restore(carried) }
    }

    /// The number of stored proofs; for metrics.
    public var count: Int { proofs.withLock { $0.count } }
}
