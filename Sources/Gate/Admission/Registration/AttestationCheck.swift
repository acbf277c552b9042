import AppAttest
import KeyStore

/// The attestation of one request: what is asked about it, and what is said of one that isn't good.
struct AttestationCheck: Sendable {
    let id: KeyID
    private let object: [UInt8]
    private let verifier: AttestationVerifier
    private let began: Moment
    /// The app that the request names, if it names one.
    private let claimed: AppID?

    init(
        _ object: [UInt8], of id: KeyID, for claimed: AppID? = nil, by verifier: AttestationVerifier, at moment: Moment
    ) {
        self.id = id
        self.object = object
        self.claimed = claimed
        self.verifier = verifier
        began = moment
    }

    func question(over clientDataHash: [UInt8]) -> StoreQuestion {
        .attestation(PresentedAttestation(object: object, id: id, clientDataHash: clientDataHash))
    }

    func failed(_ error: AttestationError) -> FailedCheck {
        FailedCheck(
            error.check,
            verifier.discrepancy(error, in: object, keyID: id.bytes, claimed: claimed, at: began.date))
    }

    /// For the client.
    func reason(_ error: AttestationError) -> String {
        guard error == .rpIDHashMismatch else { return error.clientDescription }
        return verifier.mismatchingPart(of: object, claimed: claimed).reason("the attestation is")
    }
}
