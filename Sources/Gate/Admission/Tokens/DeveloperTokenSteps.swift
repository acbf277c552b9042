import DPoP
import KeyStore

/// Whether who presents a development token gets an access token: its registry, the caller's check of the grant, then
/// the proof of possession, which is used up last. A demand for a nonce comes before the registry counts the device.
struct DeveloperTokenSteps: DecisionSteps {
    typealias Granted = (grant: DevelopmentGrant, proof: VerifiedProof)
    typealias Objection = @Sendable (DevelopmentGrant) -> Refusal?

    private let token: String
    /// The thumbprint of its key.
    private let device: [UInt8]
    private let proof: UnspentProof
    private let settings: TokenSettings
    private let began: Moment
    private let refuse: Objection
    private var grant: DevelopmentGrant?

    init(
        _ token: String, _ device: [UInt8], _ proof: UnspentProof, _ settings: TokenSettings, at moment: Moment,
        unless refuse: @escaping Objection
    ) {
        self.token = token
        self.device = device
        self.proof = proof
        self.settings = settings
        self.refuse = refuse
        began = moment
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Result<Granted, RefusedRequest>> {
        do throws(RefusedRequest) {
            switch (answer, grant) {
            case (nil, _):
                try settings.refuseUsed(proof, at: .token, in: began, freshBy: .proof)
                return .ask(.redeem(token, device: device), of: settings.store)
            case (.redeem(let standing), nil): return try spend(accept(standing))
            case (.spend(let spending), let grant?): return .decided(.success(try conclude(grant, by: spending)))
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.failure(error))
        }
    }

    private func accept(_ standing: GrantStatus) throws(RefusedRequest) -> DevelopmentGrant {
        switch standing {
        case .refused(let reason):
            throw RefusedRequest(
                .token(
                    .invalidToken, detail: "development token: \(reason)", reason: reason.reason,
                    failed: FailedCheck(
                        .developmentToken, expected: "a development token that is good", received: "\(reason)")))
        case .granted(let grant):
            if let refusal = refuse(grant) { throw RefusedRequest(refusal) }
            return grant
        }
    }

    private mutating func spend(
        _ grant: DevelopmentGrant
    ) throws(RefusedRequest) -> Step<Result<Granted, RefusedRequest>> {
        self.grant = grant
        let (own, claim) = settings.claim(proof, at: .token, began, freshBy: .proof)
        guard own == .spent else { return .decided(.success(try conclude(grant, by: own))) }
        return .ask(.spend(claim), of: settings.store)
    }

    private func conclude(
        _ grant: DevelopmentGrant, by spending: ReplaySpending
    ) throws(RefusedRequest) -> Granted {
        (grant, try settings.conclude(proof, by: spending.found(with: .proof), in: began))
    }
}
