package import Admission
package import WireText

/// Keeps `MAX_SESSIONS_PER_DEVICE` in a whole fleet: tells the other gateways how many sessions a client has here, and
/// finds out how many it has there.
///
/// The calls are cheap, and come from any reactor.
package protocol FleetSessionCounts: Sendable {
    /// This client has more, fewer, or other sessions than before.
    func changed(_ owner: Identity)

    /// This client has one session more.
    ///
    /// - Parameters:
    ///   - address: where it has begun.
    ///   - excess: called once at most, on any thread, if the client has too many in the whole fleet.
    func began(_ owner: SessionOwner, from address: IPAddress, excess: @escaping @Sendable () -> Void)

    /// Whether this client has a session at another gateway.
    ///
    /// - Parameter answer: called once, on any thread; with false if nobody can say.
    func isElsewhere(_ owner: Identity, answer: @escaping @Sendable (Bool) -> Void)
}

/// A client's sessions at this gateway.
package struct SessionCount: Hashable, Sendable {
    package let sessions: Int
    /// Those of them that end if their client begins one at another gateway: they wait for it, and no other client has
    /// its identity.
    package let evictable: Int
}
