/// A store that several gateways share: with it they act as one gate. Each of its steps is atomic in the whole fleet.
///
/// Its answers come on any thread, once, and in time: a store that isn't reached answers with an error. The calls with
/// `then` are for reactors: they neither wait nor start a task.
///
/// After `.busy` or `.unavailable` a step may have been done all the same: its answer was lost. A mark is then used and
/// a counter risen, without anyone admitted. The client gets a new challenge.
package protocol SharedKeyRegistry: KeyRegistry {
    /// The present incarnation, which new challenges are bound to, and the time of its beginning.
    func present(then: @escaping @Sendable (Result<StorePresent, KeyRegistryError>) -> Void)

    func standing(of id: KeyID, then: @escaping @Sendable (Result<KeyStanding?, KeyRegistryError>) -> Void)

    /// Spends the mark and uses the counter, in one step: both if the incarnation is the present one, the mark is new,
    /// the key is known and not revoked, and ``KeyCounters`` lets the counter pass.
    func admit(
        _ use: AssertionUse, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<AssertionSpending, KeyRegistryError>) -> Void)

    /// Spends a mark.
    func spend(
        _ mark: SingleUseMark, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void)

    /// Keeps a ticket. Its hash is spent like a mark: `.alreadySpent` if there is one with this hash.
    ///
    /// - Parameter uses: at least 1.
    func keep(
        _ ticket: SealedTicket, uses: Int, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void)

    /// Keeps a session's next ticket, as ``KeptTicketStore/keep(_:then:)``.
    func keep(
        _ ticket: KeptTicket, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void)

    /// As ``KeptTicketStore/shorten(ofSession:to:)``.
    func shortenTickets(
        ofSession session: SessionMark, to time: Int64,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void)

    /// Takes one use of a ticket: as many callers get one as it has uses, whenever they call. Nil if there is none of
    /// this hash, or it has expired. With a next ticket all of its session are taken.
    ///
    /// - Parameter time: Unix milliseconds.
    func takeTicket(
        hash: [UInt8], at time: Int64, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<TakenTicket?, KeyRegistryError>) -> Void)

    /// Puts a use back that was taken.
    func giveBack(
        _ ticket: SealedTicket, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void)

    /// Removes a ticket with all its uses.
    func discardTicket(hash: [UInt8], then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void)

    /// Forgets what has expired at this time, as often as it is called. From then on such marks are refused as expired,
    /// whatever the clock of the caller is.
    ///
    /// - Parameters:
    ///   - time: Unix milliseconds. An earlier time than before changes nothing.
    ///   - maximum: more marks than this, and the store is full until the next call.
    func forgetMarks(expiredAt time: Int64, maximum: Int) async throws(KeyRegistryError)
}

extension SharedKeyRegistry {
    package func present() async throws(KeyRegistryError) -> StorePresent { try await answer { present(then: $0) } }

    package func incarnation() async throws(KeyRegistryError) -> StoreIncarnation { try await present().incarnation }

    package func admit(
        _ use: AssertionUse, in incarnation: StoreIncarnation
    ) async throws(KeyRegistryError) -> AssertionSpending {
        try await answer { admit(use, in: incarnation, then: $0) }
    }

    package func spend(
        _ mark: SingleUseMark, in incarnation: StoreIncarnation
    ) async throws(KeyRegistryError) -> MarkSpending {
        try await answer { spend(mark, in: incarnation, then: $0) }
    }

    package func keep(
        _ ticket: SealedTicket, uses: Int = 1, in incarnation: StoreIncarnation
    ) async throws(KeyRegistryError) -> MarkSpending {
        try await answer { keep(ticket, uses: uses, in: incarnation, then: $0) }
    }

    package func keep(
        _ ticket: KeptTicket, in incarnation: StoreIncarnation
    ) async throws(KeyRegistryError) -> MarkSpending {
        try await answer { keep(ticket, in: incarnation, then: $0) }
    }

    package func takeTicket(
        hash: [UInt8], at time: Int64, in incarnation: StoreIncarnation
    ) async throws(KeyRegistryError) -> TakenTicket? {
        try await answer { takeTicket(hash: hash, at: time, in: incarnation, then: $0) }
    }

    package func giveBack(
        _ ticket: SealedTicket, in incarnation: StoreIncarnation
    ) async throws(KeyRegistryError) -> MarkSpending {
        try await answer { giveBack(ticket, in: incarnation, then: $0) }
    }

    package func shortenTickets(ofSession session: SessionMark, to time: Int64) async throws(KeyRegistryError) {
        try await answer { shortenTickets(ofSession: session, to: time, then: $0) }
    }

    package func discardTicket(hash: [UInt8]) async throws(KeyRegistryError) {
        try await answer { discardTicket(hash: hash, then: $0) }
    }

    private func answer<Value: Sendable>(
        _ call: (@escaping @Sendable (Result<Value, KeyRegistryError>) -> Void) -> Void
    ) async throws(KeyRegistryError) -> Value {
        let result: Result<Value, KeyRegistryError> = await withCheckedContinuation { continuation in
            call { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}
