import AppAttest
import KeyStore

/// One signed request: its form, the challenge as it is, key, signature; then what is used up, challenge and counter. A
/// challenge is spent by a right signature alone, so nobody spends another's.
struct SignedRequestSteps: DecisionSteps {
    private let signature: PresentedSignature
    private let bound: BoundSignature
    private let settings: SignedRequestSettings
    private let check: AssertionCheck
    private let admitsLower: Bool
    private var signed: AssertionCheck.Signed?

    /// - Parameter admitsLower: whether `ASSERTION_WINDOW` applies.
    init(
        _ fields: SignedFields, _ resource: SignedResource, _ settings: SignedRequestSettings, admitsLower: Bool
    ) throws(RefusedRequest) {
        do throws(SignedRequestFault) {
            signature = try PresentedSignature(
                fields, maximumAssertionBytes: settings.appAttest.maximumAssertionBytes)
            bound = try signature.bound(to: resource)
        } catch { throw RefusedRequest(error.refusal) }
        self.settings = settings
        self.admitsLower = admitsLower
        check = AssertionCheck(settings: settings.appAttest, id: signature.key)
    }

    mutating func next(
        _ answer: StoreAnswer?, at moment: Moment
    ) -> Step<Result<VerifiedSignedRequest, RefusedRequest>> {
        do throws(AssertionFault) {
            switch (answer, signed) {
            case (nil, _):
                if let spending = challenges.refusalOfSigned(signature.challenge, at: moment.monotonic) {
                    throw .challenge(spending)
                }
                return .ask(check.question, of: check.settings.store)
            case (.standing(let standing, let counter), _): return try verify(standing, above: counter, at: moment)
            case (.admit(let spending), let signed?):
                try check.conclude(spending, signed)
                return .decided(.success(VerifiedSignedRequest(signed, by: check.id, bound.digest)))
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.failure(RefusedRequest(error.signedRefusal)))
        }
    }

    private var challenges: Challenges { settings.appAttest.challenges }

    private mutating func verify(
        _ standing: KeyStanding?, above counter: UInt32, at moment: Moment
    ) throws(AssertionFault) -> Step<Result<VerifiedSignedRequest, RefusedRequest>> {
        let key = try check.accept(standing, above: lowest(counter))
        let signed = try check.verify(signature.assertion, over: bound.clientDataHash, by: key)
        let challenge = try settings.appAttest.spendSigned(signature.challenge, at: moment)
        self.signed = signed
        let question = check.use(
            signed, of: challenge, admitsLower: admitsLower, maximumRise: UInt32(SignedRequestSettings.maximumRise))
        return .ask(question, of: check.settings.store)
    }

    /// The store decides about those in the window.
    private func lowest(_ counter: UInt32) -> UInt32 {
        admitsLower ? settings.appAttest.lowest(counter) : counter
    }
}

extension AppAttestSettings {
    /// A counter that isn't above this has no place in the window.
    func lowest(_ counter: UInt32) -> UInt32 {
        let size = UInt32(window.size)
        return size > 1 ? counter > size ? counter - size : 0 : counter
    }

    func spendSigned(_ text: String, at moment: Moment) throws(AssertionFault) -> SpentChallenge {
        let spending = challenges.spendSigned(text, at: moment.monotonic)
        guard case .spent(let challenge) = spending else { throw .challenge(spending) }
        return challenge
    }
}
