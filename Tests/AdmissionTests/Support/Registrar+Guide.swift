import WireText

@testable import Admission

extension Registrar {
    /// A registration in the guide's dialect, which has no proof.
    func register(
        body: [UInt8], from address: IPAddress, at moment: Moment,
        unless refuse: @escaping Registrar.Objection = { _ in nil }
    ) async -> RegistrationOutcome {
        await register(
            TokenRequest(body: body, proofs: [], method: "POST", url: "", address: address, moment: moment),
            unless: refuse)
    }
}
