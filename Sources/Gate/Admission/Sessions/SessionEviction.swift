import WireText

/// Whose session it is.
package struct SessionOwner: Hashable, Sendable {
    package let identity: Identity
    /// Several clients may have this identity, and be strangers to each other: it has no name, its certificate may be
    /// on many machines, or its ticket has several uses.
    package let isShared: Bool

    init(_ identity: Identity, isShared: Bool) {
        self.identity = identity
        self.isShared = isShared
    }

    /// A client that has begun a session at another gateway of the fleet. That one asks only for clients that share
    /// their identity with nobody.
    package static func elsewhere(_ identity: Identity) -> SessionOwner { SessionOwner(identity, isShared: false) }

    /// A session that an earlier process or program has handed over.
    init(_ identity: Identity, carriedAsShared isShared: Bool?) {
        self.init(identity, isShared: isShared ?? (identity.method.holders != .one))
    }
}

/// Which detached session makes room for a new one at a limit. Its client may still come back, so **strangers never
/// evict each other**:
///
/// - A session of the new one's own identity goes, wherever it began, if that identity is one client's.
/// - If the identity may be several clients', only the address tells them apart: a session goes only for a new one from
///   the address where it began, and only when its client has been away for a quarter of the grace period. This applies
///   to sessions without an identity, and to those of the same certificate or of the same ticket with several uses.
/// - No other session is evicted: the new one is refused.
///
/// At the limit of an address a client's own session waits for ``SessionLeaseLimits/ownWaitSeconds``, because others
/// may have filled the address and its connection may just be coming back. At the limit of the identity it doesn't
/// wait: the client itself has begun one too many.
struct SessionEviction {
    let newcomer: SessionOwner
    /// `nil`: another gateway's, which is unknown here.
    let address: AddressPrefix?
    let limit: SessionLeaseLimit
    let limits: SessionLeaseLimits
    let time: MonotonicTime

    /// A session that may go.
    ///
    /// - Parameter detachedAt: since when its client is away.
    func mayEvict(_ owner: SessionOwner, from origin: AddressPrefix, detachedAt: MonotonicTime) -> Bool {
        if isOwn(owner) { return limit == .device || hasPassed(limits.ownWait, since: detachedAt) }
        return isAlike(owner) && origin == address && hasPassed(limits.sharedWait, since: detachedAt)
    }

    /// The new client's own, without doubt. Those go before others.
    func isOwn(_ owner: SessionOwner) -> Bool {
        owner.identity == newcomer.identity && !owner.isShared && !newcomer.isShared
    }

    /// Nothing but the address tells the clients apart.
    private func isAlike(_ owner: SessionOwner) -> Bool {
        owner.identity.isAnonymous || owner.identity == newcomer.identity
    }

    private func hasPassed(_ wait: Duration, since detachedAt: MonotonicTime) -> Bool {
        time >= detachedAt.advanced(by: wait)
    }
}

/// The limit that refused a session.
package enum SessionLeaseLimit: Hashable, Sendable {
    /// `MAX_SESSIONS_PER_DEVICE`
    case device
    /// `MAX_SESSIONS_PER_ADDRESS`
    case address
}

package struct SessionLeaseLimits: Hashable, Sendable {
    /// Longer ids aren't looked up: the gateway's own have 36 characters.
    package static let maximumIDBytes = 64
    /// How long a client must be away before its own new session may evict its old one at the limit of an address.
    package static let ownWaitSeconds = 60
    /// The part of the grace period that a client must be away before one that may be a stranger evicts its session:
    /// one in.
    package static let sharedWaitPart = 4

    /// `MAX_SESSIONS_PER_DEVICE`: sessions of one owner with a subject.
    package var perDevice: Int
    /// `MAX_SESSIONS_PER_ADDRESS`: sessions of one ``AddressPrefix``.
    package var perAddress: Int
    /// `RESUME_GRACE_MINUTES`
    package var grace: Duration

    package init(perDevice: Int = 5, perAddress: Int = 10, grace: Duration = .seconds(45 * 60)) {
        self.perDevice = perDevice
        self.perAddress = perAddress
        self.grace = grace
    }

    var ownWait: Duration { .seconds(Self.ownWaitSeconds) }
    var sharedWait: Duration { grace / Self.sharedWaitPart }
}
