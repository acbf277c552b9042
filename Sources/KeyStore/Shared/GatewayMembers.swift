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

    package enum Standing: Hashable, Sendable {
        case alive(GatewayMember)
        /// Its heartbeats have stopped, or it has left.
        case dead
        /// What is known is too old, or the store began anew just now and the gateways haven't all come back.
        case unknown
    }

    package let members: [GatewayMember]
    /// When they were read.
    package let readAt: Int64
    /// When the store's incarnation began: it began without members.
    package let began: Int64

    package init(_ members: [GatewayMember], readAt: Int64, began: Int64) {
        self.members = members
        self.readAt = readAt
        self.began = began
    }

    package func isAlive(_ member: GatewayMember, at time: Int64) -> Bool {
        time - member.heartbeat <= Self.deadAfter
    }

    package func alive(at time: Int64) -> [GatewayMember] { members.filter { isAlive($0, at: time) } }

    package func standing(of id: String, at time: Int64) -> Standing {
        let member = members.first { $0.id == id }
        if let member, isAlive(member, at: time) { return .alive(member) }
        guard time - readAt <= Self.deadAfter else { return .unknown }
        if member == nil, time - began <= Self.deadAfter { return .unknown }
        return .dead
    }

    /// What happened to a gateway between two views.
    package enum Event: Hashable, Sendable {
        case joined(GatewayMember)
        case left(GatewayMember)
        /// Without having left.
        case silent(GatewayMember)
    }

    /// - Parameter before: an earlier view; each view is seen at its own time.
    package func events(since before: GatewayMembers) -> [Event] {
        let (old, new) = (before.alive(at: before.readAt), alive(at: readAt))
        let gone = old.filter { member in !new.contains { $0.id == member.id } }
        let joined = new.filter { member in !old.contains { $0.id == member.id } }
        return joined.map { .joined($0) }
            + gone.compactMap { member in
                switch standing(of: member.id, at: readAt) {
                case .alive, .unknown: nil
                case .dead: members.contains { $0.id == member.id } ? .silent(member) : .left(member)
                }
            }
    }
}
