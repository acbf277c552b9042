import AppAttest
import DPoP
import FoundationEssentials
package import KeyStore
import WireText

/// An access token, before it is sent.
package struct IssuedToken: Sendable {
    /// Secret.
    package let text: String
    package let lifetimeSeconds: Int
    /// The subject that it was issued to.
    package let identity: Identity
    package let isDevelopment: Bool
    /// `jti`, for the audit log.
    package let id: String
    /// For the audit log: the app, and the name of the development token.
    package let detail: String
    /// The client has asked for `token_type`.
    package let hasTokenType: Bool
    /// For `DPoP-Nonce`; nil if the client needs no new one.
    package let freshNonce: String?
}

package enum TokenOutcome: Sendable {
    case issued(IssuedToken)
    case refused(Refusal)
}

/// Issues access tokens: `POST /token` without the HTTP. Not for reactors: it verifies signatures and waits for the
/// store.
///
/// The order is rate, body, proof (with the server's nonce), then of an assertion: block list, key, challenge and
/// signature, which use nothing up, and then what is used up: proof, challenge, counter; of a development token: its
/// registry, block list, the proof's one use. So a client that has to send a request again with a nonce can send the
/// same assertion, and only the holder of a registered key or of a valid development token takes a place in the replay
/// store.
package struct TokenIssuer: Sendable {
    private let settings: TokenSettings
    private let registry: (any KeyRegistry)?
    private let limits: EndpointLimits
    private let maximumBodyBytes: Int

    /// - Parameter registry: the asynchronous part of the store in `settings.devices`.
    package init(
        _ settings: TokenSettings, registry: (any KeyRegistry)?, limits: EndpointLimits, maximumBodyBytes: Int
    ) {
        self.settings = settings
        self.registry = registry
        self.limits = limits
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// - Parameter refuse: called with the claimed identity before its assertion is spent; for the block list.
    package func issue(
        _ request: TokenRequest, unless refuse: @Sendable (Identity) -> Refusal?
    ) async -> TokenOutcome {
        if let refusal = limits.refuseToken(to: request.address, at: request.moment.monotonic) {
            return .refused(refusal.forTokenClient())
        }
        do throws(RefusedRequest) {
            let body = try TokenDialectBody(request.body, maximumBytes: maximumBodyBytes)
            let isDevelopment = body.hasDevelopmentToken
            guard body.hasAttestation != isDevelopment else {
                throw TokenDialectBody.malformed("exactly one of attestation and dev_token is needed")
            }
            // Before the proof, whose signature costs more.
            if isDevelopment, settings.development == nil { throw Self.developmentOff }
            let nonces = settings.serverNonces(at: request.moment)
            let proof = try settings.checkProof(
                of: request, body, settings.nonces == .off ? .recognised(nonces) : .required(nonces))
            let (holder, verified) =
                isDevelopment
                ? try await developer(body, proof, at: request.moment, unless: refuse)
                : try await device(body, proof, at: request.moment, unless: refuse)
            return .issued(try sign(holder, body, verified, at: request.moment))
        } catch {
            return .refused(error.refusal)
        }
    }

    /// The subject of a token to issue.
    private struct Holder {
        let identity: Identity
        let app: String
        let method: MethodName
        let detail: String
    }

    private func sign(
        _ holder: Holder, _ body: TokenDialectBody, _ proof: VerifiedProof, at moment: Moment
    ) throws(RefusedRequest) -> IssuedToken {
        let (time, nonces) = (moment.date, settings.serverNonces(at: moment))
        let isDevelopment = holder.identity.method == AccessTokenMethod.developmentName
        let id = TokenID.make()
        let claims = AccessTokenClaims(
            issuer: settings.issuer, audience: [settings.audience], subject: holder.identity.subject ?? "",
            app: holder.app, admissionMethod: holder.method.label, tokenID: id, issuedAt: time,
            expiresAt: time + Double(settings.lifetimeSeconds), boundKey: proof.key.thumbprint,
            isDevelopment: isDevelopment)
        guard let signer = settings.keys.signer(at: time), let text = try? claims.sign(with: signer) else {
            throw .unavailable("there is no signing key", FailedCheck(.signingKey))
        }
        let isRenewalDue = settings.nonces != .off && nonces.isRenewalDue(proof.nonce, at: time)
        return IssuedToken(
            text: text, lifetimeSeconds: settings.lifetimeSeconds, identity: holder.identity,
            isDevelopment: isDevelopment, id: id, detail: holder.detail, hasTokenType: body.wantsTokenType,
            freshNonce: isRenewalDue ? nonces.nonce(at: time) : nil)
    }

    private static var developmentOff: RefusedRequest {
        RefusedRequest(
            .token(
                .invalidToken, detail: "development tokens are off", reason: DevelopmentTokenRefusal.switchedOff,
                failed: FailedCheck(.developmentToken)))
    }
}

// MARK: With an assertion

extension TokenIssuer {
    private func device(
        _ body: TokenDialectBody, _ proof: UnspentProof, at moment: Moment,
        unless refuse: @Sendable (Identity) -> Refusal?
    ) async throws(RefusedRequest) -> (Holder, VerifiedProof) {
        guard let devices = settings.devices, let registry else {
            throw RefusedRequest(
                .token(
                    .attestationFailed, detail: "App Attest is not configured",
                    reason: "App Attest is not configured at this gateway"))
        }
        let assertion = SignedAssertion(
            id: try body.keyID(), app: try body.app(), nonce: try body.nonce(),
            object: try body.assertionObject(maximumBytes: devices.maximumAssertionBytes), key: body.key)
        let identity = Identity(method: AccessTokenMethod.name, subject: TokenSubjectName.device(assertion.id))
        if let refusal = refuse(identity) { throw RefusedRequest(refusal.forTokenClient()) }
        let steps = DeviceTokenSteps(assertion, proof, settings, devices, at: moment)
        let outcome = await Decision(steps).run(at: moment, asking: registry)
        let spentProof: VerifiedProof
        switch outcome {
        case .success(let decided): spentProof = try decided.get()
        case .failure(let error): throw .unavailable(error)
        }
        let holder = Holder(
            identity: identity, app: assertion.app.description, method: AppAttestMethod.name,
            detail: "app \(assertion.app)")
        return (holder, spentProof)
    }
}

// MARK: With a development token

extension TokenIssuer {
    private func developer(
        _ body: TokenDialectBody, _ proof: UnspentProof, at moment: Moment,
        unless refuse: @Sendable (Identity) -> Refusal?
    ) async throws(RefusedRequest) -> (Holder, VerifiedProof) {
        let (token, app) = (try body.developmentToken(), try body.unattestedApp())
        guard let development = settings.development else { throw Self.developmentOff }
        // A demand for a nonce comes before the registry counts the device.
        try settings.refuseUsed(proof, at: .token, in: moment, freshBy: .proof)
        let standing: DevelopmentStanding
        do throws(KeyRegistryError) {
            standing = try await development.redeem(
                token, by: body.key.thumbprint.bytes, at: moment.unixMilliseconds)
        } catch { throw .unavailable(error) }
        switch standing {
        case .refused(let reason):
            throw RefusedRequest(
                .token(
                    .invalidToken, detail: "development token: \(reason)", reason: reason.reason,
                    failed: FailedCheck(
                        .developmentToken, expected: "a development token that is good", received: "\(reason)")))
        case .granted(let grant):
            let identity = Identity(
                method: AccessTokenMethod.developmentName,
                subject: TokenSubjectName.development(grant, body.key.thumbprint))
            if let refusal = refuse(identity) { throw RefusedRequest(refusal.forTokenClient()) }
            let holder = Holder(
                identity: identity, app: app, method: AccessTokenMethod.developmentName,
                detail: "development token \(grant.id), app \(app)")
            return (holder, try await settings.spend(proof, at: .token, in: moment, freshBy: .proof))
        }
    }
}

/// The `jti` of an access token: 128 random bits in base64url.
enum TokenID {
    private static let byteCount = 16

    static func make() -> String { Base64URL.encode(RandomBytes.make(byteCount)) }
}
