import FoundationEssentials

/// Counts the places that sessions take, and finds the sessions that a client may come back to. A value: whoever shares it holds its lock.
///
/// A place is taken before a session's target is dialled and given back when the session has ended, with or without a client in
/// between. All that is kept is about places that are taken: when the last one is given back nothing is left.
///
/// A place counts for the address where its session began, wherever its client comes back from: coming back is never a matter of
/// limits.
package struct SessionRegister<Holder> {
    /// One place. It means something only in the register that gave it.
    package struct Place: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    struct Entry {
        let owner: SessionOwner
        let address: ClientAddress
        /// Since when the session has been without its client; `nil` while it has it.
        var detachedAt: MonotonicTime?
        /// `nil` until the session can be found.
        var session: OpenSession?
    }

    struct OpenSession {
        let id: String
        var tokens: SessionTokens
        /// Who has the session in hand: a driver, on its reactor.
        var holder: Holder
    }

    /// Settable, for a reload. Lowering one ends nothing: those who are above it get nothing new.
    package var limits: SessionPlaceLimits
    private(set) var entries: [Place: Entry] = [:]
    private var places: [String: Place] = [:]
    /// Of owners who have a name.
    private var owned: [SessionOwner: Set<Place>] = [:]
    private var perAddress: [AddressPrefix: Int] = [:]
    private var openPer: [Key: Int] = [:]
    private var nextNumber: UInt64 = 0

    /// What owners are told apart by where they needn't be proven.
    private enum Key: Hashable {
        case owner(SessionOwner)
        case anonymous(AddressPrefix)

        init(_ owner: SessionOwner, _ address: ClientAddress) {
            self = owner.isAnonymous ? .anonymous(address.prefix) : .owner(owner)
        }
    }

    package init(limits: SessionPlaceLimits = SessionPlaceLimits()) { self.limits = limits }

    // MARK: Places

    /// Takes a place. At the limit of its owner the session of that owner ends which has been without its client for longest: its
    /// holder is handed out, and has no place from here on. Where none is detached, or the address has no place, nothing changes.
    package mutating func reserve(for owner: SessionOwner, from address: ClientAddress) -> SessionReservation<Holder> {
        let oldest: (place: Place, holder: Holder)?
        if !owner.isAnonymous, owned[owner, default: []].count >= limits.perDevice {
            guard let found = oldestDetached(of: owner) else { return .refused(.device) }
            oldest = found
        } else {
            oldest = nil
        }
        let freed = oldest.flatMap { entries[$0.place] }?.address.prefix == address.prefix ? 1 : 0
        guard perAddress[address.prefix, default: 0] - freed < limits.perAddress else { return .refused(.address) }
        if let oldest {
            release(oldest.place)
            return .reservedInPlaceOf(take(for: owner, from: address), evicted: oldest.holder)
        }
        return .reserved(take(for: owner, from: address))
    }

    /// Gives a place back, once: for one that isn't taken any more nothing happens.
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
        Self.count(-1, for: entry.address.prefix, in: &perAddress)
    }

    private mutating func take(for owner: SessionOwner, from address: ClientAddress) -> Place {
        let place = Place(number: nextNumber)
        nextNumber &+= 1
        entries[place] = Entry(owner: owner, address: address)
        if !owner.isAnonymous { owned[owner, default: []].insert(place) }
        Self.count(1, for: address.prefix, in: &perAddress)
        return place
    }

    /// Walks over one owner's places, of which there are at most ``SessionPlaceLimits/perDevice``.
    private func oldestDetached(of owner: SessionOwner) -> (place: Place, holder: Holder)? {
        let detached = owned[owner, default: []].compactMap { place in
            entries[place].flatMap { entry in entry.detachedAt.map { (place: place, time: $0, session: entry.session) }
            }
        }
        guard let oldest = detached.min(by: { ($0.time, $0.place.number) < ($1.time, $1.place.number) }) else {
            return nil
        }
        return oldest.session.map { (oldest.place, $0.holder) }
    }

    private static func count<K: Hashable>(_ change: Int, for key: K, in counts: inout [K: Int]) {
        let count = counts[key, default: 0] + change
        counts[key] = count > 0 ? count : nil
    }

    // MARK: Sessions

    /// Lets the session of a place be found by its id from here on.
    ///
    /// - Parameter id: the gateway's own; at most ``SessionPlaceLimits/maximumIDBytes``.
    /// - Returns: false, and nothing is changed, where the place isn't taken or has its session already, and for an id that is in
    ///   use or too long.
    @discardableResult
    package mutating func open(_ place: Place, id: String, token: SessionToken, holder: Holder) -> Bool {
        guard let entry = entries[place], entry.session == nil, places[id] == nil,
            id.utf8.count <= SessionPlaceLimits.maximumIDBytes
        else { return false }
        entries[place]?.session = OpenSession(id: id, tokens: SessionTokens(token), holder: holder)
        places[id] = place
        Self.count(1, for: Key(entry.owner, entry.address), in: &openPer)
        return true
    }

    /// The session has lost its client, and may have to make room. What can't be found can't be detached.
    package mutating func detached(_ place: Place, at time: MonotonicTime) {
        guard let entry = entries[place], entry.session != nil, entry.detachedAt == nil else { return }
        entries[place]?.detachedAt = time
    }

    /// The session has a client again.
    package mutating func attached(_ place: Place) {
        entries[place]?.detachedAt = nil
    }

    /// Another has the session in hand from here on.
    package mutating func moved(_ place: Place, to holder: Holder) {
        entries[place]?.session?.holder = holder
    }

    // MARK: Looking

    func place(of id: String) -> Place? { places[id] }

    mutating func setTokens(_ tokens: SessionTokens, of place: Place) { entries[place]?.session?.tokens = tokens }

    /// Whether somebody may be here to come back for a session: `owner` has one, or of anonymous ones somebody at the address. That its
    /// client is gone a gateway often hears only after it has come back.
    package func hasSession(_ owner: SessionOwner, from address: ClientAddress) -> Bool {
        openPer[Key(owner, address)] != nil
    }

    /// Of all sessions that can be found. Walks over them all.
    package func holders(where isMeant: (SessionOwner, ClientAddress) -> Bool) -> [Holder] {
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

    /// `MAX_SESSIONS_PER_DEVICE`: of one owner who has a name.
    package var perDevice: Int
    /// `MAX_SESSIONS_PER_IP`: of one ``AddressPrefix``.
    package var perAddress: Int

    package init(perDevice: Int = 5, perAddress: Int = 10) {
        self.perDevice = perDevice
        self.perAddress = perAddress
    }
}
