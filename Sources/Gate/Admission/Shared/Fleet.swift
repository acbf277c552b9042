package import KeyStore

/// The gate's connection to the other gateways: the store that they share, and what this gateway knows of it without
/// asking. Shared by all reactors.
package final class Fleet: Sendable {
    /// Runs a short computation on a thread that may be kept busy for it. Not the store's, which all answers wait for.
    ///
    /// - Returns: false if there is no room; the computation is dropped then.
    package typealias Compute = @Sendable (_ work: @escaping @Sendable () -> Void) -> Bool

    package let registry: any SharedKeyRegistry
    package let identity: FleetIdentity
    package let standings: KeyStandings
    let compute: Compute
    let now: (@Sendable () -> Moment)?

    /// - Parameter now: the time at which an answer has come; `nil`: that of its question.
    package init(
        registry: any SharedKeyRegistry, identity: FleetIdentity, maximumStandings: Int = KeyStandings.defaultMaximum,
        now: (@Sendable () -> Moment)? = nil, compute: @escaping Compute
    ) {
        self.now = now
        self.registry = registry
        self.identity = identity
        standings = KeyStandings(maximum: maximumStandings) { registry.standing(of: $0, then: $1) }
        self.compute = compute
    }

    /// The store's present incarnation, as it answers to a question.
    ///
    /// - Parameter time: of the question, or before it.
    package func learn(_ present: StorePresent, askedAt time: MonotonicTime) {
        guard identity.learn(present, askedAt: time) else { return }
        // Keys may have been lost with it, and counters have fallen back.
        standings.forgetAll()
    }

    /// The store's time isn't later then.
    func latestTime(at moment: Moment) -> Int64 { identity.time(at: moment.monotonic) + FleetClock.tolerance }

    // MARK: Single use

    /// Spends a mark in the whole fleet.
    func spend(
        _ use: FleetUse, at time: MonotonicTime,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        registry.spend(use.mark, in: use.incarnation) { result in
            self.learnIfForeign(result.success, at: time) { then(result) }
        }
    }

    /// Spends a mark of another kind of challenge.
    package func spend(
        _ mark: SingleUseMark, in incarnation: StoreIncarnation, at time: MonotonicTime
    ) async throws(KeyRegistryError) -> MarkSpending {
        let result: Result<MarkSpending, KeyRegistryError> = await withCheckedContinuation { continuation in
            spend(FleetUse(mark: mark, incarnation: incarnation), at: time) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Spends an assertion's challenge and uses its key's counter, in one step.
    func admit(
        _ use: FleetUse, by key: KeyID, _ counter: CounterUse, at time: MonotonicTime,
        then: @escaping @Sendable (Result<AssertionSpending, KeyRegistryError>) -> Void
    ) {
        let assertion = AssertionUse(mark: use.mark, key: key, use: counter, time: identity.time(at: time))
        registry.admit(assertion, in: use.incarnation) { result in
            switch result {
            // Neither answer is in the contract.
            case .success(.notAdvanced(.advanced)), .success(.refused(.spent)):
                return then(.failure(.unavailable("the store's answer is contradictory")))
            case .success(.notAdvanced): self.standings.forget(key)
            case .success(.refused(let spending)):
                return self.learnIfForeign(spending, at: time) { then(result) }
            case .success(.admitted), .failure: break
            }
            then(result)
        }
    }

    /// A client whose challenge was foreign gets another one with the refusal, which must be of the present
    /// incarnation.
    func learnIfForeign(
        _ spending: MarkSpending?, at time: MonotonicTime, then: @escaping @Sendable () -> Void
    ) {
        guard spending == .foreign else { return then() }
        registry.present { result in
            if let present = result.success { self.learn(present, askedAt: time) }
            then()
        }
    }

    func learnIfForeign(_ spending: MarkSpending, at time: MonotonicTime) async {
        await withCheckedContinuation { continuation in
            learnIfForeign(spending, at: time) { continuation.resume() }
        }
    }
}

/// Something that this gateway has found to be unused, and that the whole fleet has to mark as used before it counts.
package struct FleetUse: Hashable, Sendable {
    let mark: SingleUseMark
    /// In which it was issued or found to be good.
    let incarnation: StoreIncarnation
}

extension Result {
    fileprivate var success: Success? { try? get() }
}

extension MarkSpending {
    /// The same refusal as that of a challenge that this gateway itself has found used; `nil`: it isn't refused.
    func refused(_ seconds: Int = 1) -> ChallengeSpending? {
        switch self {
        case .spent: nil
        case .alreadySpent: .alreadySpent
        case .foreign: .foreign
        // Within the tolerance of the clocks: the store's time is ahead of this gateway's.
        case .expired: .expired(ageSeconds: 0, lifeSeconds: 0)
        case .full: .full(retryAfter: seconds)
        }
    }
}
