import FoundationEssentials
package import WireText

/// Counts sessions by identity and address, and finds the sessions that a client may resume. A value: its owner holds the lock.
///
/// A session's place is taken before its target is dialled and released when the session has ended, even if the client was detached in
/// between. The register stores nothing except for places that are taken.
///
/// A place counts for the address where its session began, even if its client resumes from another one: no limit prevents a resume.
package struct SessionRegister<Holder> {
    /// One place. It is meaningful only in the register that issued it.
    package struct Place: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    struct Entry {
        let owner: Identity
        let address: IPAddress
        /// When the session lost its client; `nil` while it is attached.
        var detachedAt: MonotonicTime?
        /// A reference, because a dictionary allocates up to twice the space of its entries, and many sessions can't be resumed at all.
        fileprivate var found: Found?
        /// `nil` until the session can be resumed.
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
        /// The client that may resume with the token alone; `nil`: none may.
        let bearer: Principal?
        /// The owner of the session: a driver, on its reactor.
        var holder: Holder
        /// The tokens before the claim; set while the session moves to the holder that has claimed it.
        var tokensBefore: SessionTokens?
    }

    /// Settable, for a reload. Lowering a limit ends no session; an identity or address above it only gets no new one.
    package var limits: SessionPlaceLimits
    private(set) var entries: [Place: Entry] = [:]
    private var places: [String: Place] = [:]
    /// The places of owners with a subject.
    private var owned: [Identity: Set<Place>] = [:]
    private var perAddress: [AddressPrefix: Set<Place>] = [:]
    private var openPer: [Key: Int] = [:]
    private var nextNumber: UInt64 = 0

    /// The key for counting owners that aren't verified.
    private enum Key: Hashable {
        case owner(Identity)
        case anonymous(AddressPrefix)

        init(_ owner: Identity, _ address: IPAddress) {
            self = owner.isAnonymous ? .anonymous(address.prefix) : .owner(owner)
        }
    }

    package init(limits: SessionPlaceLimits = SessionPlaceLimits()) { self.limits = limits }

    // MARK: Places

    /// Takes a place. At the owner's limit, the owner's session that has been detached for longest is evicted: its place is released and
    /// its holder is returned. At an address' limit, the same applies to sessions from that address that are the owner's or anonymous. If
    /// none of them is detached, nothing changes.
    package mutating func reserve(for owner: Identity, from address: IPAddress) -> SessionReservation<Holder> {
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
            // Evicting a session of the owner at another address wouldn't help the limit of this one.
            guard oldest == nil, let found = oldestDetached(of: mayGo) else { return .refused(.address) }
            oldest = found
        }
        guard let oldest else { return .reserved(take(for: owner, from: address)) }
        release(oldest.place)
        return .reservedInPlaceOf(take(for: owner, from: address), evicted: oldest.holder)
    }

    /// Releases a place. Has no effect if it is no longer taken.
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

    private mutating func take(for owner: Identity, from address: IPAddress) -> Place {
        let place = Place(number: nextNumber)
        nextNumber &+= 1
        entries[place] = Entry(owner: owner, address: address)
        if !owner.isAnonymous { owned[owner, default: []].insert(place) }
        perAddress[address.prefix, default: []].insert(place)
        return place
    }

    /// Iterates over the places of one owner or address; the limits bound their number. Sessions that are being moved are skipped.
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

    /// Makes the session of a place available for resuming by its id.
    ///
    /// - Parameter id: the gateway's own; at most ``SessionPlaceLimits/maximumIDBytes``.
    /// - Parameter principal: the client. One that was admitted by a ticket may resume with the token alone.
    /// - Returns: false, without any change, if the place isn't taken or already has a session, or if the id is in use or too long.
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

    /// The session has lost its client and may be evicted from now on. A session that can't be resumed can't be detached.
    package mutating func detached(_ place: Place, at time: MonotonicTime) {
        guard let entry = entries[place], entry.session != nil, entry.detachedAt == nil else { return }
        entries[place]?.detachedAt = time
    }

    /// The claimed session belongs to `holder` from now on.
    ///
    /// - Parameter detachedAt: nil if its client is attached.
    /// - Returns: false if its place was released meanwhile; then the session has to end.
    package mutating func arrived(_ place: Place, at holder: Holder, detachedAt: MonotonicTime?) -> Bool {
        guard entries[place]?.session != nil else { return false }
        entries[place]?.session?.holder = holder
        entries[place]?.session?.tokensBefore = nil
        entries[place]?.detachedAt = detachedAt
        return true
    }

    /// The claimed session stays with its holder, and its previous tokens are restored.
    package mutating func claimFailed(_ place: Place) {
        guard let before = entries[place]?.session?.tokensBefore else { return }
        entries[place]?.session?.tokens = before
        entries[place]?.session?.tokensBefore = nil
    }

    // MARK: Looking

    func place(of id: String) -> Place? { places[id] }

    /// For a session that is being moved, changes the tokens from before the claim: its client doesn't have the new one yet.
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

    /// Whether a client may be resuming a session: `owner` has one or, if it is anonymous, the address has an anonymous one. Attached
    /// sessions count too, because a client often reconnects before the gateway notices the loss of its old connection.
    package func hasSession(_ owner: Identity, from address: IPAddress) -> Bool {
        openPer[Key(owner, address)] != nil
    }

    /// The matching holders of all sessions that can be resumed. Iterates over all of them.
    package func holders(where isMeant: (Identity, IPAddress) -> Bool) -> [Holder] {
        entries.values.compactMap { entry in
            isMeant(entry.owner, entry.address) ? entry.session?.holder : nil
        }
    }

    /// Places that are taken.
    package var count: Int { entries.count }
    package var detachedCount: Int { entries.values.count { $0.detachedAt != nil } }

    /// The total number of entries in all tables; for tests.
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
    /// The other session was evicted; its holder must be told.
    case reservedInPlaceOf(SessionRegister<Holder>.Place, evicted: Holder)
    case refused(SessionPlaceLimit)
}

extension SessionReservation: Sendable where Holder: Sendable {}

/// The limit that refused a session.
package enum SessionPlaceLimit: Hashable, Sendable {
    /// `MAX_SESSIONS_PER_DEVICE`
    case device
    /// `MAX_SESSIONS_PER_IP`
    case address
}

package struct SessionPlaceLimits: Hashable, Sendable {
    /// Longer ids aren't looked up: the gateway's own have 16 characters.
    package static let maximumIDBytes = 64

    /// `MAX_SESSIONS_PER_DEVICE`: sessions of one owner with a subject.
    package var perDevice: Int
    /// `MAX_SESSIONS_PER_IP`: sessions of one ``AddressPrefix``.
    package var perAddress: Int

    package init(perDevice: Int = 5, perAddress: Int = 10) {
        self.perDevice = perDevice
        self.perAddress = perAddress
    }
}
