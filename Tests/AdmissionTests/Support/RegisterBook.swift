import WireText

@testable import Admission

/// A register whose mutating calls can be used inside an expectation, which doesn't allow mutation of a value.
final class RegisterBook<Holder> {
    typealias Lease = SessionRegister<Holder>.Lease
    var register: SessionRegister<Holder>
    private let current: Current<SessionLeaseLimits>

    /// - Parameter register: of another book, with its limits.
    init(_ register: SessionRegister<Holder> = SessionRegister()) {
        self.register = register
        current = Current(register.limits)
    }

    init(perDevice: Int, perAddress: Int) {
        let current = Current(SessionLeaseLimits(perDevice: perDevice, perAddress: perAddress))
        self.current = current
        register = SessionRegister(limits: current.now)
    }

    /// What a reload changes.
    var limits: SessionLeaseLimits {
        get { current.now }
        set { current.replace(with: newValue) }
    }

    /// - Parameters:
    ///   - time: when every wait is over, if it isn't given.
    ///   - isShared: nil: as clients of this method share an identity.
    func reserve(
        for owner: Identity, from address: IPAddress, at time: Moment = start + 86_400_000, isShared: Bool? = nil
    ) -> SessionReservation<Holder> {
        let owner = SessionOwner(owner, isShared: isShared ?? (owner.method.holders == .several))
        return register.reserve(for: owner, from: address, at: time.monotonic)
    }

    func evictOldest(of owner: SessionOwner, from address: IPAddress?, at time: Moment) -> Holder? {
        register.evictOldest(of: owner, from: address, at: time.monotonic)
    }

    func open(
        _ lease: Lease, id: String, token: SessionToken, of principal: Principal? = nil, holder: Holder
    ) -> Bool {
        register.open(lease, id: id, token: token, of: principal, holder: holder)
    }

    /// Attached.
    func adopted(_ lease: Lease, by holder: Holder) -> Bool {
        register.adopted(lease, by: holder, detachedAt: nil)
    }

    /// The holders of all sessions that can be resumed.
    func holders(where isMeant: (Identity, IPAddress) -> Bool = { _, _ in true }) -> [Holder] {
        register.entries.values.compactMap { isMeant($0.owner.identity, $0.address) ? $0.session?.holder : nil }
    }

    func claim(id: String, token: String, owner: Identity, at moment: Moment) -> SessionClaim<Holder> {
        var generator = SystemRandomNumberGenerator()
        return register.claim(id: id, token: token, owner: owner, at: moment.monotonic, using: &generator)
    }
}
