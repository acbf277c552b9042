import WireText

@testable import Admission

/// A register whose mutating calls can be used inside an expectation, which doesn't allow mutation of a value.
final class RegisterBook<Holder> {
    typealias Place = SessionRegister<Holder>.Place
    var register: SessionRegister<Holder>

    init(_ register: SessionRegister<Holder> = SessionRegister()) { self.register = register }

    init(perDevice: Int, perAddress: Int) {
        register = SessionRegister(limits: SessionPlaceLimits(perDevice: perDevice, perAddress: perAddress))
    }

    func reserve(for owner: Identity, from address: IPAddress) -> SessionReservation<Holder> {
        register.reserve(for: owner, from: address)
    }

    func open(
        _ place: Place, id: String, token: SessionToken, of principal: Principal? = nil, holder: Holder
    ) -> Bool {
        register.open(place, id: id, token: token, of: principal, holder: holder)
    }

    /// Attached.
    func arrived(_ place: Place, at holder: Holder) -> Bool {
        register.arrived(place, at: holder, detachedAt: nil)
    }

    func claim(id: String, token: String, owner: Identity, at moment: Moment) -> SessionClaim<Holder> {
        var generator = SystemRandomNumberGenerator()
        return register.claim(id: id, token: token, owner: owner, at: moment.monotonic, using: &generator)
    }
}
