import AppAttest
import KeyStore
import WireText

/// An assertion of an upgrade, whose challenge has been spent, whatever becomes of it: key, signature, counter.
struct AssertionSteps: DecisionSteps {
    private let check: AssertionCheck
    /// Base64.
    private let data: String
    private let challenge: SpentChallenge
    private var signed: AssertionCheck.Signed?

    /// Fields, challenge, and the form of the key's identifier.
    init(
        _ credential: AssertionCredential, _ settings: AppAttestSettings, at moment: Moment
    ) throws(RefusedRequest) {
        let fields = credential.fields
        guard let nonce = fields.nonce, let keyID = fields.keyID, let data = fields.data,
            !nonce.isEmpty, !keyID.isEmpty, !data.isEmpty
        else {
            throw RefusedRequest(
                Refusal(
                    .appAuthRequired, detail: "assertion headers are incomplete",
                    failed: FailedCheck(
                        .assertionFields, expected: AssertionFields.headers.joined(separator: ", "),
                        received: fields.present)))
        }
        let spending = settings.challenges.spend(nonce, at: moment.monotonic)
        guard case .spent(let challenge) = spending else { throw RefusedRequest(spending.refusal) }
        guard let id = credential.key else {
            throw RefusedRequest(
                Refusal(
                    .unknownKey, detail: "key identifier is malformed",
                    failed: FailedCheck(.keyRegistered, expected: "base64 of 32 bytes", received: "something else")))
        }
        check = AssertionCheck(settings: settings, id: id)
        self.data = data
        self.challenge = challenge
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Verification> {
        do throws(AssertionFault) {
            switch (answer, signed) {
            case (nil, _): return .ask(check.question, of: check.settings.store)
            case (.standing(let standing, let counter), _): return try verify(standing, above: counter)
            case (.admit(let spending), let signed?):
                try check.conclude(spending, signed)
                let proof = AppAttestProof(
                    signed.assertion, by: check.id, app: signed.app, account: signed.account)
                return .decided(.verified(.key(check.id), proof: proof))
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.refused(error.refusal))
        }
    }

    private mutating func verify(
        _ standing: KeyStanding?, above counter: UInt32
    ) throws(AssertionFault) -> Step<Verification> {
        let key = try check.accept(standing, above: counter)
        guard let assertion = Base64.decode(data, maximumBytes: check.settings.maximumAssertionBytes) else {
            return .decided(.refused(.assertionRejected, "assertion is not base64, or too long"))
        }
        let signed = try check.verify(assertion, over: challenge.clientDataHash, by: key)
        self.signed = signed
        return .ask(check.use(signed, of: challenge), of: check.settings.store)
    }
}
