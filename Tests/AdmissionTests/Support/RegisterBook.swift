import WireText

@testable import Admission

/// A register whose mutating calls can be used inside an expectation, which doesn't allow mutation of a value.
final class RegisterBook<Holder> {
    typealias Lease = SessionRegister<Holder>.Lease
    var register: SessionRegister<Holder>

    init(_ register: SessionRegister<Holder> = SessionRegister()) { self.register = register }

    init(perDevice: Int, perAddress: Int) {
        register = SessionRegister(limits: SessionLeaseLimits(perDevice: perDevice, perAddress: perAddress))
    }

    func reserve(for owner: Identity, from address: IPAddress) -> SessionReservation<Holder> {
        register.reserve(for: owner, from: address)
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
        register.entries.values.compactMap { isMeant($0.owner, $0.address) ? $0.session?.holder : nil }
    }

    func claim(id: String, token: String, owner: Identity, at moment: Moment) -> SessionClaim<Holder> {
        var generator = SystemRandomNumberGenerator()
        return register.claim(id: id, token: token, owner: owner, at: moment.monotonic, using: &generator)
    }
}
