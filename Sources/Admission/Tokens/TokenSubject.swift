import AppAttest
import KeyStore
import WireText

/// Whether the subject of an access token may still use it. Checked at every use of a token, and again for tickets and resumes.
struct TokenSubject {
    enum Standing {
        /// - Parameter grant: nil for an attested device.
        case good(DevelopmentGrant?)
        case refused(Refusal)
    }

    /// The same for a key that is unknown and for one whose app isn't configured: who has only the token isn't told which.
    private static let notAccepted = "the key that the access token was issued for is no longer accepted here"

    private let settings: TokenSettings

    init(_ settings: TokenSettings) { self.settings = settings }

    func standing(of proof: AccessTokenProof, at moment: Moment) throws(KeyRegistryError) -> Standing {
        switch proof.subject {
        case .device(let id): try standing(of: id, app: proof.app, at: moment)
        case .grant(let id): try standing(ofGrant: id, at: moment)
        case .unknown:
            .refused(
                .token(
                    .invalidToken, detail: "the subject of the token is malformed", failed: FailedCheck(.tokenSubject)))
        }
    }

    private func standing(of id: KeyID, app: String, at moment: Moment) throws(KeyRegistryError) -> Standing {
        guard let devices = settings.devices, let key = try devices.registry.standing(of: id, at: moment.monotonic)
        else {
            return .refused(
                .token(
                    .invalidToken, detail: "the token's key is not registered any more", reason: Self.notAccepted,
                    failed: FailedCheck(.keyRegistered)))
        }
        guard !key.isRevoked else {
            return .refused(
                .token(.deviceBlocked, detail: "the token's key is revoked", failed: FailedCheck(.keyRevoked)))
        }
        guard devices.scope.app(of: key)?.description.hasSameBytes(as: app) == true else {
            return .refused(
                .token(
                    .invalidToken, detail: "the key's app, environment or trust root is not configured any more",
                    reason: Self.notAccepted,
                    failed: FailedCheck(.keyScope)))
        }
        return .good(nil)
    }

    private func standing(ofGrant id: String, at moment: Moment) throws(KeyRegistryError) -> Standing {
        guard let development = settings.development else {
            return .refused(
                .token(
                    .invalidToken, detail: "development tokens are off", reason: DevelopmentTokenRefusal.switchedOff,
                    failed: FailedCheck(.developmentToken)))
        }
        switch try development.standing(ofGrant: id, at: moment.unixMilliseconds) {
        case .granted(let grant): return .good(grant)
        case .refused(let reason):
            return .refused(
                .token(
                    .invalidToken, detail: "development token \(id): \(reason)", reason: reason.reason,
                    failed: FailedCheck(
                        .developmentToken, expected: "a development token that is good", received: "\(reason)")))
        }
    }
}
