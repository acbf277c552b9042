/// A ticket for a client that has lost its session, with the process that had it or without: a session's next ticket.
/// It survives the process that has issued it.
///
/// The tickets of one session are one credential: whoever uses one of them has used all.
package struct KeptTicket: Hashable, Sendable {
    package static let hashBytes = 32
    /// Of one session: the newest, and those before it. Nobody knows whether the newest have reached a client whose
    /// network comes and goes.
    package static let perSession = 3

    /// The SHA-256 of the ticket, which has 256 random bits.
    package let hash: [UInt8]
    package let session: SessionMark
    /// The client that it admits.
    package let holder: HolderMark
    /// The client's identity and proof, as the gate writes them.
    package let content: [UInt8]
    /// Unix milliseconds.
    package let expires: Int64

    /// - Returns: nil if the hash hasn't ``hashBytes``, or the content is longer than ``SealedTicket/maximumBytes``.
    package init?(hash: [UInt8], session: SessionMark, holder: HolderMark, content: [UInt8], expires: Int64) {
        guard hash.count == Self.hashBytes, content.count <= SealedTicket.maximumBytes else { return nil }
        (self.hash, self.session, self.holder) = (hash, session, holder)
        (self.content, self.expires) = (content, expires)
    }

    /// The same at an earlier time, unless it expires before.
    package func shortened(to time: Int64) -> KeptTicket {
        KeptTicket(self, expires: min(expires, time))
    }

    private init(_ ticket: KeptTicket, expires: Int64) {
        (hash, session, holder) = (ticket.hash, ticket.session, ticket.holder)
        (content, self.expires) = (ticket.content, expires)
    }
}

/// Keeps the next tickets of the sessions of one gateway. Only it writes to them, and the process that replaces it.
///
/// Nothing here waits: answers come on any thread, once. Calls have an effect in the order in which they are made.
package protocol KeptTicketStore: Sendable {
    /// Keeps a ticket of a session beside the newest that the session has (``KeptTicket/perSession``); its older ones
    /// are removed.
    ///
    /// A ticket that is kept survives a crash of the process. A power cut may lose it.
    ///
    /// - Returns: through `then`: `.spent` if it is kept; `.alreadySpent` if there is one with this hash; `.full` if
    ///   there are too many.
    func keep(_ ticket: KeptTicket, then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void)

    /// - Parameter time: Unix milliseconds; one that has expired isn't found.
    func find(
        hash: [UInt8], at time: Int64, then: @escaping @Sendable (Result<KeptTicket?, KeyRegistryError>) -> Void)

    /// Uses a ticket: it and all of its session are removed. That is durable, so no power cut brings one back.
    ///
    /// - Returns: through `then`: whether there was one. Of several callers one is told so.
    func use(hash: [UInt8], then: @escaping @Sendable (Result<Bool, KeyRegistryError>) -> Void)

    /// Removes one ticket, which nobody has.
    func discard(hash: [UInt8])

    /// The tickets of a session that has ended expire at this time, unless they do before.
    ///
    /// - Parameter time: Unix milliseconds.
    func shorten(ofSession session: SessionMark, to time: Int64)

    /// Removes what has expired at this time.
    func forget(expiredAt time: Int64) async throws(KeyRegistryError)

    /// Calls that no thread has taken yet.
    var waiting: Int { get }

    /// The newest ticket of each session, if they end with the process: one that takes over is told of them.
    var volatileTickets: [KeptTicket] { get }
}

extension KeptTicketStore {
    package var waiting: Int { 0 }
    package var volatileTickets: [KeptTicket] { [] }
}

extension KeptTicketStore {
    package func keep(_ ticket: KeptTicket) async throws(KeyRegistryError) -> MarkSpending {
        try await answer { keep(ticket, then: $0) }
    }

    package func find(hash: [UInt8], at time: Int64) async throws(KeyRegistryError) -> KeptTicket? {
        try await answer { find(hash: hash, at: time, then: $0) }
    }

    package func use(hash: [UInt8]) async throws(KeyRegistryError) -> Bool {
        try await answer { use(hash: hash, then: $0) }
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
