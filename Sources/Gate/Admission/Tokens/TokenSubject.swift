import AppAttest
import KeyStore
import WireText

/// Whether the subject of an access token may still use it. Checked at every use of a token, and again for tickets and
/// resumes.
struct TokenSubject {
    enum Status {
        /// - Parameter grant: nil for an attested device, and an account that didn't begin with one.
        case good(DevelopmentGrant?)
        case refused(Refusal)
        /// It ends with something else, which the store has to be asked about.
        case unfinished(StoreQuestion)
    }

    /// The same for a key that is unknown and for one whose app isn't configured: who has only the token isn't told
    /// which.
    private static let notAccepted = "the key that the access token was issued for is no longer accepted here"

    let settings: TokenSettings

    init(_ settings: TokenSettings) { self.settings = settings }

    /// What the store has to be asked, or what is known without it.
    enum Look {
        case ask(StoreQuestion)
        case known(Status)
    }

    func look(at proof: AccessTokenProof, for use: StandingUse) -> Look {
        switch proof.subject {
        case .device where settings.devices == nil: .known(.refused(Self.unregistered))
        case .device(let id): .ask(.standing(id, for: use))
        case .grant where settings.development == nil:
            .known(
                .refused(
                    .token(
                        .invalidToken, detail: "development tokens are off",
                        reason: DevelopmentTokenRefusal.switchedOff, failed: FailedCheck(.developmentToken))))
        case .grant(let id): .ask(.grant(id))
        case .account(let account): lookAt(account)
        case .unknown:
            .known(
                .refused(
                    .token(
                        .invalidToken, detail: "the subject of the token is malformed",
                        failed: FailedCheck(.tokenSubject))))
        }
    }

    func standing(of proof: AccessTokenProof, by answer: StoreAnswer, at moment: Moment) -> Status {
        switch (proof.subject, answer) {
        case (.device, .standing(let key, _)): standing(of: key, proof)
        case (.grant(let id), .grant(let standing)): Self.status(ofGrant: id, standing)
        case (.account(let account), .account(let found)): standing(of: account, found, at: moment)
        case (.account(let account), .grant(let standing)):
            Self.status(ofGrant: "of the account \(account.id)", standing)
        default: wrongAnswer(answer)
        }
    }

    private static var unregistered: Refusal {
        .token(
            .invalidToken, detail: "the token's key is not registered any more", reason: notAccepted,
            failed: FailedCheck(.keyRegistered))
    }

    private func standing(of key: KeyStanding?, _ proof: AccessTokenProof) -> Status {
        guard let devices = settings.devices, let key else { return .refused(Self.unregistered) }
        guard !key.isRevoked else {
            return .refused(
                .token(.deviceBlocked, detail: "the token's key is revoked", failed: FailedCheck(.keyRevoked)))
        }
        guard devices.scope.app(of: key)?.description.hasSameBytes(as: proof.app) == true else {
            return .refused(
                .token(
                    .invalidToken, detail: "the key's app, environment or trust root is not configured any more",
                    reason: Self.notAccepted,
                    failed: FailedCheck(.keyScope)))
        }
        guard proof.deviceAccount == nil || proof.deviceAccount == key.account else {
            return .refused(Self.accountEnded("the token's device has left its account, or that is closed"))
        }
        return .good(nil)
    }

    static func status(ofGrant id: String, _ standing: GrantStatus) -> Status {
        switch standing {
        case .granted(let grant): .good(grant)
        case .refused(let reason):
            .refused(
                .token(
                    .invalidToken, detail: "development token \(id): \(reason)", reason: reason.reason,
                    failed: FailedCheck(
                        .developmentToken, expected: "a development token that is good", received: "\(reason)")))
        }
    }
}
