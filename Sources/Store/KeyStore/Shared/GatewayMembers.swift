/// The gateways of a fleet, as the store knew them at one moment. Decides which of them are alive.
///
/// Times are Unix milliseconds of the store's clock, so the clocks of the gateways don't matter.
package struct GatewayMembers: Hashable, Sendable {
    /// A gateway without a heartbeat for so long counts as dead: five beats.
    package static let deadAfter: Int64 = 5_000
    /// Then the store forgets it.
    package static let forgottenAfter: Int64 = 600_000
    /// At most so many are read, those with the newest heartbeats first.
    package static let maximum = 1_000

    package let members: [GatewayMember]
    /// When they were read.
    package let readAt: Int64
    /// Since when every gateway has been able to send its heartbeats, as far as the reader knows: since the store's
    /// incarnation began, which began without members, and since the reader has seen the store without a break.
    package let began: Int64
    /// Of the store; nil: it has none at the moment.
    package let incarnation: StoreIncarnation?

    package init(_ members: [GatewayMember], readAt: Int64, began: Int64, incarnation: StoreIncarnation? = nil) {
        self.members = members
        self.readAt = readAt
        self.began = began
        self.incarnation = incarnation
    }

    /// As seen by a gateway that has seen the store without a break since `time`.
    package func seen(since time: Int64) -> GatewayMembers {
        GatewayMembers(members, readAt: readAt, began: max(began, time), incarnation: incarnation)
    }

    /// Whether every gateway has had time for a heartbeat. After a failure of the store all heartbeats are old, and
    /// whoever comes back first must not take the others for dead.
    package var isSettled: Bool { readAt - began > Self.deadAfter }

    package func isAlive(_ member: GatewayMember, at time: Int64) -> Bool {
        time - member.heartbeat <= Self.deadAfter
    }

    package func alive(at time: Int64) -> [GatewayMember] { members.filter { isAlive($0, at: time) } }

    /// What happened to a gateway between two views.
    package enum Event: Hashable, Sendable {
        case joined(GatewayMember)
        case left(GatewayMember)
        /// Without having left.
        case silent(GatewayMember)
    }

    /// - Parameter before: the last view that had settled, or the first one; each view is seen at its own time.
    /// - Returns: nothing before this view has settled.
    package func events(since before: GatewayMembers) -> [Event] {
        guard isSettled else { return [] }
        let (old, new) = (before.alive(at: before.readAt), alive(at: readAt))
        let gone = old.filter { member in !new.contains { $0.id == member.id } }
        let joined = new.filter { member in !old.contains { $0.id == member.id } }
        return joined.map { .joined($0) }
            + gone.map { member in members.contains { $0.id == member.id } ? .silent(member) : .left(member) }
    }
}
