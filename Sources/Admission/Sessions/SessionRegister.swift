import FoundationEssentials

/// Counts sessions by identity and address, and finds the sessions that a client may come back to. A value: its owner holds the lock.
///
/// A session's place is taken before its target is dialled and given back when the session has ended, with or without a client in
/// between. Nothing is kept but what belongs to places that are taken.
///
/// A place counts for the address where its session began, wherever its client comes back from: no limit keeps a client from coming back.
package struct SessionRegister<Holder> {
    /// One place. It means something only in the register that gave it.
    package struct Place: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    struct Entry {
        let owner: Identity
        let address: ClientAddress
        /// Since when the session has been without its client; `nil` while it has it.
        var detachedAt: MonotonicTime?
        /// Behind a reference: a table has up to twice the room that its entries need, and many sessions can never be found.
        fileprivate var found: Found?
        /// `nil` until the session can be found.
        var session: OpenSession? {
            get { found?.session }
            set { found = newValue.map(Found.init) }
        }
    }

    fileprivate final class Found {
        let session: OpenSession

        init(_ session: OpenSession) { self.session = session }
    }

    struct OpenSession {
        let id: String
        var tokens: SessionTokens
        /// The client that may come back with the token alone; `nil`: none may.
        let bearer: Principal?
        /// What runs the session: a driver, on its reactor.
        var holder: Holder
        /// Set while the session moves to the holder that has claimed it: the tokens as they were.
        var tokensBefore: SessionTokens?
    }

    /// Settable, for a reload. Lowering one ends no session: an identity or address above it gets no new one.
    package var limits: SessionPlaceLimits
    private(set) var entries: [Place: Entry] = [:]
    private var places: [String: Place] = [:]
    /// Of owners with a subject.
    private var owned: [Identity: Set<Place>] = [:]
    private var perAddress: [AddressPrefix: Set<Place>] = [:]
    private var openPer: [Key: Int] = [:]
    private var nextNumber: UInt64 = 0

    /// What owners are counted by where they aren't verified.
    private enum Key: Hashable {
        case owner(Identity)
        case anonymous(AddressPrefix)

        init(_ owner: Identity, _ address: ClientAddress) {
            self = owner.isAnonymous ? .anonymous(address.prefix) : .owner(owner)
        }
    }

    package init(limits: SessionPlaceLimits = SessionPlaceLimits()) { self.limits = limits }

    // MARK: Places

    /// Takes a place. At the limit of its owner, the owner's session ends that has been without its client for longest: its holder is
    /// returned, and has no place from then on. At the limit of an address the same goes for sessions there that are the owner's or
    /// anonymous. Where none is detached nothing changes.
    package mutating func reserve(for owner: Identity, from address: ClientAddress) -> SessionReservation<Holder> {
        let places = owned[owner, default: []]
        let here = perAddress[address.prefix, default: []]
        var oldest: (place: Place, holder: Holder)?
        if !owner.isAnonymous, places.count >= limits.perDevice {
            guard let found = oldestDetached(of: places) else { return .refused(.device) }
            oldest = found
        }
        let leaves = oldest.map { here.contains($0.place) } ?? false
        if here.count - (leaves ? 1 : 0) >= limits.perAddress {
            let mayGo = here.filter { entries[$0]?.owner == owner || entries[$0]?.owner == .anonymous }
            // One of its own that is elsewhere makes no room here.
            guard oldest == nil, let found = oldestDetached(of: mayGo) else { return .refused(.address) }
            oldest = found
        }
        guard let oldest else { return .reserved(take(for: owner, from: address)) }
        release(oldest.place)
        return .reservedInPlaceOf(take(for: owner, from: address), evicted: oldest.holder)
    }

    /// Gives a place back. For one that isn't taken any more nothing happens.
    package mutating func release(_ place: Place) {
        guard let entry = entries.removeValue(forKey: place) else { return }
        if let id = entry.session?.id {
            places[id] = nil
            Self.count(-1, for: Key(entry.owner, entry.address), in: &openPer)
        }
        if !entry.owner.isAnonymous {
            owned[entry.owner]?.remove(place)
            if owned[entry.owner]?.isEmpty == true { owned[entry.owner] = nil }
        }
        perAddress[entry.address.prefix]?.remove(place)
        if perAddress[entry.address.prefix]?.isEmpty == true { perAddress[entry.address.prefix] = nil }
    }

    private mutating func take(for owner: Identity, from address: ClientAddress) -> Place {
        let place = Place(number: nextNumber)
        nextNumber &+= 1
        entries[place] = Entry(owner: owner, address: address)
        if !owner.isAnonymous { owned[owner, default: []].insert(place) }
        perAddress[address.prefix, default: []].insert(place)
        return place
    }

    /// Walks over the places of one owner or one address, of which there are at most as many as the limits say. Sessions that are moving
    /// are left out.
    private func oldestDetached(of places: Set<Place>) -> (place: Place, holder: Holder)? {
        let detached = places.compactMap { place in
            entries[place].flatMap { entry in
                entry.detachedAt.flatMap { time in
                    entry.session.flatMap {
                        $0.tokensBefore == nil ? (place: place, time: time, holder: $0.holder) : nil
                    }
                }
            }
        }
        return detached.min { ($0.time, $0.place.number) < ($1.time, $1.place.number) }.map { ($0.place, $0.holder) }
    }

    private static func count<K: Hashable>(_ change: Int, for key: K, in counts: inout [K: Int]) {
        let count = counts[key, default: 0] + change
        counts[key] = count > 0 ? count : nil
    }

    // MARK: Sessions

    /// Lets the session of a place be found by its id from here on.
    ///
    /// - Parameter id: the gateway's own; at most ``SessionPlaceLimits/maximumIDBytes``.
    /// - Parameter principal: the client. One that came by a ticket may come back with the token alone.
    /// - Returns: false, and nothing is changed, where the place isn't taken or has its session already, and for an id that is in
    ///   use or too long.
    @discardableResult
    package mutating func open(
        _ place: Place, id: String, token: SessionToken, of principal: Principal? = nil, holder: Holder
    ) -> Bool {
        guard let entry = entries[place], entry.session == nil, places[id] == nil,
            id.utf8.count <= SessionPlaceLimits.maximumIDBytes
        else { return false }
        let bearer = principal.flatMap { $0.isByTicket ? $0.comingBack : nil }
        entries[place]?.session = OpenSession(id: id, tokens: SessionTokens(token), bearer: bearer, holder: holder)
        places[id] = place
        Self.count(1, for: Key(entry.owner, entry.address), in: &openPer)
        return true
    }

    /// The session has lost its client, and may have to make room. What can't be found can't be detached.
    package mutating func detached(_ place: Place, at time: MonotonicTime) {
        guard let entry = entries[place], entry.session != nil, entry.detachedAt == nil else { return }
        entries[place]?.detachedAt = time
    }

    /// The session that was claimed is `holder`'s from here on.
    ///
    /// - Parameter detachedAt: nil: it has its client.
    /// - Returns: false where its place is gone meanwhile: then the session has to end.
    package mutating func arrived(_ place: Place, at holder: Holder, detachedAt: MonotonicTime?) -> Bool {
        guard entries[place]?.session != nil else { return false }
        entries[place]?.session?.holder = holder
        entries[place]?.session?.tokensBefore = nil
        entries[place]?.detachedAt = detachedAt
        return true
    }

    /// The session that was claimed stays where it is, and its tokens are what they were.
    package mutating func claimFailed(_ place: Place) {
        guard let before = entries[place]?.session?.tokensBefore else { return }
        entries[place]?.session?.tokens = before
        entries[place]?.session?.tokensBefore = nil
    }

    // MARK: Looking

    func place(of id: String) -> Place? { places[id] }

    /// Of a session that is moving, the tokens that it had before: its client doesn't have the new one yet.
    mutating func changeTokens(of place: Place, _ change: (inout SessionTokens) -> Void) {
        guard var session = entries[place]?.session else { return }
        if var before = session.tokensBefore {
            change(&before)
            session.tokensBefore = before
        } else {
            change(&session.tokens)
        }
        entries[place]?.session = session
    }

    mutating func beginMove(of place: Place, tokens: SessionTokens) {
        let before = entries[place]?.session?.tokens
        entries[place]?.session?.tokensBefore = before
        entries[place]?.session?.tokens = tokens
    }

    /// Whether a client may be coming back for a session: `owner` has one, or, if it is anonymous, the address has an anonymous one. The gateway
    /// often notices that a client is gone only after it has come back.
    package func hasSession(_ owner: Identity, from address: ClientAddress) -> Bool {
        openPer[Key(owner, address)] != nil
    }

    /// Of all sessions that can be found. Walks over them all.
    package func holders(where isMeant: (Identity, ClientAddress) -> Bool) -> [Holder] {
        entries.values.compactMap { entry in
            isMeant(entry.owner, entry.address) ? entry.session?.holder : nil
        }
    }

    /// Places that are taken.
    package var count: Int { entries.count }
    package var detachedCount: Int { entries.values.count { $0.detachedAt != nil } }

    /// How many things are remembered, in all tables together; for tests.
    var footprint: Int {
        entries.count + places.count + owned.count + perAddress.count + openPer.count
    }
}

extension SessionRegister: Sendable where Holder: Sendable {}
extension SessionRegister.Entry: Sendable where Holder: Sendable {}
extension SessionRegister.Found: Sendable where Holder: Sendable {}
extension SessionRegister.OpenSession: Sendable where Holder: Sendable {}

package enum SessionReservation<Holder> {
    case reserved(SessionRegister<Holder>.Place)
    /// The other session ends; its holder has to be told.
    case reservedInPlaceOf(SessionRegister<Holder>.Place, evicted: Holder)
    case refused(SessionPlaceLimit)
}

extension SessionReservation: Sendable where Holder: Sendable {}

/// Which limit a session was refused by.
package enum SessionPlaceLimit: Hashable, Sendable {
    /// `MAX_SESSIONS_PER_DEVICE`
    case device
    /// `MAX_SESSIONS_PER_IP`
    case address
}

package struct SessionPlaceLimits: Hashable, Sendable {
    /// Longer ids aren't looked up: the gateway's own have 16 characters.
    package static let maximumIDBytes = 64

    /// `MAX_SESSIONS_PER_DEVICE`: of one owner with a subject.
    package var perDevice: Int
    /// `MAX_SESSIONS_PER_IP`: of one ``AddressPrefix``.
    package var perAddress: Int

    package init(perDevice: Int = 5, perAddress: Int = 10) {
        self.perDevice = perDevice
        self.perAddress = perAddress
    }
}
