package import Admission
import Crypto
import DPoP
package import KeyStore
import WebAuthn

package struct RegisteredPasskey: Sendable {
    package let account: AccountID
    package let credentialID: [UInt8]
    /// It is the first one of a new account.
    package let isFirst: Bool
}

/// Makes accounts, and adds passkeys to them: `POST /api/auth/passkey/register` and its options, without the HTTP. Not
/// for reactors.
///
/// The caller has counted the request against the limits of its address, and has authenticated the client, if it shows
/// anything. The order is body, challenge (which is used up), the ceremony, the store.
package struct PasskeyRegistration: Sendable {
    private let services: AccountServices

    package init(_ services: AccountServices) { self.services = services }

    /// Whether clients without credentials may make accounts.
    package var isOpen: Bool { services.signUp == .open }

    // MARK: Options

    /// - Parameter principal: nil: a client without credentials.
    package func options(
        _ request: TokenRequest, for principal: Principal?
    ) async -> Result<[UInt8], RefusedRequest> {
        do throws(RefusedRequest) {
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let (grant, known) = try await grant(body, for: principal, at: request.moment)
            let challenge = services.challenges.issue(
                for: .registration, payload: grant.payload, binding: Self.binding(grant, principal),
                at: request.moment)
            return .success(OptionsJSON.creation(challenge, for: grant.account, known: known, services))
        } catch {
            return .failure(error)
        }
    }

    private static func binding(_ grant: RegistrationGrant, _ principal: Principal?) -> [UInt8] {
        grant.needsProof ? principal?.identity.mark ?? [] : []
    }

    private func grant(
        _ body: AccountBody, for principal: Principal?, at moment: Moment
    ) async throws(RefusedRequest) -> (RegistrationGrant, known: [Passkey]) {
        switch principal?.accountEvidence {
        case .account(let id, let key, _):
            try await FreshPasskey(services).require(body, of: id, key: key, at: moment)
            return (RegistrationGrant(.add, id), try await passkeys(of: id))
        case .device(let device, let isFresh):
            guard let id = try await account(of: device) else { return (try begin(.begin), []) }
            guard isFresh else {
                throw RefusedRequest(
                    Refusal(
                        .freshPasskeyRequired, detail: "a device of the account, without an assertion",
                        reason: "a fresh assertion of the device, or a sign-in with a passkey, is needed"))
            }
            return (RegistrationGrant(.add, id), try await passkeys(of: id))
        case .reclaimed(let id):
            guard let account = try await account(id), !account.isClosed else { throw Self.accountEnded }
            return (RegistrationGrant(.addByBearer, id), account.passkeys)
        case .origin(let origin) where origin.kind == .ticket:
            guard services.signUp != .off else { throw Self.signUpRefused }
            return (RegistrationGrant(bearer: origin, try await first(of: principal)), [])
        case .origin: return (try begin(.begin), [])
        case nil where principal?.account != nil:
            throw RefusedRequest(
                Refusal(
                    .freshPasskeyRequired, detail: "a ticket of a player who has signed in",
                    reason: "an access token of a sign-in is needed"))
        case nil:
            switch services.signUp {
            // Whoever shows something else proves too little.
            case .open where principal?.identity.isAnonymous == false: throw Self.appAuthRequired
            case .open: return (RegistrationGrant(bearer: .open, .random()), [])
            case .off: throw Self.signUpRefused
            case .proven: throw Self.appAuthRequired
            }
        }
    }

    private static let appAuthRequired = RefusedRequest(
        Refusal(.appAuthRequired, detail: "no credentials that an account may begin with"))

    /// The account that an operator's ticket begins: the tickets of its session are for the same one, so there is no
    /// other. The authenticator isn't asked for a passkey that would take the place of the account's own.
    private func first(of principal: Principal?) async throws(RefusedRequest) -> AccountID {
        let id = AccountID.of(principal?.identity.mark ?? [])
        guard try await account(id) == nil else { throw Self.signUpRefused }
        return id
    }

    private func begin(_ purpose: RegistrationGrant.Purpose) throws(RefusedRequest) -> RegistrationGrant {
        guard services.signUp != .off else { throw Self.signUpRefused }
        return RegistrationGrant(purpose, .random())
    }

    private static let signUpRefused = RefusedRequest(
        Refusal(.signUpRefused, detail: "ACCOUNT_SIGN_UP doesn't allow it with what the client has shown"))

    private func account(of device: KeyID) async throws(RefusedRequest) -> AccountID? {
        try await stored { () throws(KeyRegistryError) in try await services.store.account(ofDevice: device) }
    }

    private func account(_ id: AccountID) async throws(RefusedRequest) -> Account? {
        try await stored { () throws(KeyRegistryError) in try await services.store.account(id) }
    }

    private func passkeys(of id: AccountID) async throws(RefusedRequest) -> [Passkey] {
        try await account(id)?.passkeys ?? []
    }

    // MARK: Registration

    /// - Parameter principal: as for the options, with the same identity.
    package func register(
        _ request: TokenRequest, by principal: Principal?, unless record: AccountAct.Record
    ) async -> Result<RegisteredPasskey, RefusedRequest> {
        do throws(RefusedRequest) {
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let (credential, label) = (try body.credential(), try body.label())
            let response = RegistrationResponse(
                clientDataJSON: try credential.bytes("clientDataJSON"),
                attestationObject: try credential.bytes("attestationObject"))
            let clientData = try CollectedClientData.read(response.clientDataJSON, of: services.relyingParty)
            let challenge = try clientData.challengeBytes()
            guard let grant = RegistrationGrant(PasskeyChallenges.payload(of: challenge)) else {
                throw RefusedRequest.rejected("challenge is not one of a registration", .challenge)
            }
            let origin = try origin(of: grant, principal, request)
            let spent = try services.challenges.spend(
                challenge, for: .registration, binding: Self.binding(grant, principal), at: request.moment.monotonic
            ).spent()
            try await services.confirm(spent, at: request.moment)
            let passkey = try await verify(response, clientData, challenge, label, at: request.moment)
            guard let origin else {
                let moment = request.moment
                return .success(try await add(passkey, grant, by: principal, record, at: moment))
            }
            try refuseTooMany(of: origin, principal, request)
            return .success(try await begin(grant.account, origin, passkey, record, at: request.moment))
        } catch {
            return .failure(error)
        }
    }

    /// - Returns: nil for a further passkey of an account that is there.
    private func origin(
        of grant: RegistrationGrant, _ principal: Principal?, _ request: TokenRequest
    ) throws(RefusedRequest) -> AccountOrigin? {
        guard !grant.adds else { return nil }
        guard services.signUp != .off else { throw Self.signUpRefused }
        guard grant.needsProof else {
            guard let origin = grant.origin else {
                throw RefusedRequest.rejected("challenge is not one of a registration", .challenge)
            }
            guard origin.kind == .open else { return origin }
            guard services.signUp == .open else { throw Self.signUpRefused }
            let refusal = services.signUps.refuse(request.address, at: request.moment.monotonic)
            if let refusal { throw RefusedRequest(refusal) }
            return origin
        }
        switch principal?.accountEvidence {
        case .device: return .device
        case .origin(let origin): return origin
        case .account, .reclaimed, nil: throw .rejected("challenge: of another client", .challenge)
        }
    }

    /// Accounts that anyone may make were counted before anything was verified, and a ticket begins one.
    private func refuseTooMany(
        of origin: AccountOrigin, _ principal: Principal?, _ request: TokenRequest
    ) throws(RefusedRequest) {
        guard let principal, origin.kind != .open, origin.kind != .ticket else { return }
        let refusal = services.signUps.refuse(principal, at: request.address, request.moment.monotonic)
        if let refusal { throw RefusedRequest(refusal) }
    }

    private func verify(
        _ response: RegistrationResponse, _ clientData: CollectedClientData, _ challenge: [UInt8], _ label: String,
        at moment: Moment
    ) async throws(RefusedRequest) -> Passkey {
        let passkey: Passkey
        do throws(CeremonyError) {
            let verified = try await RegistrationVerifier(
                relyingParty: services.relyingParty, policy: services.policy
            ).verify(response, challenge: challenge, at: moment.date)
            passkey = Passkey(verified, label: label, at: moment)
        } catch {
            throw error.refusal(in: clientData, of: services.relyingParty)
        }
        // None has the name of an endpoint, and none is guessed.
        guard passkey.credentialID.count >= AccountLimits.minimumCredentialIDBytes else {
            throw .rejected("passkey: the identifier is too short", .credentialID)
        }
        return passkey
    }

    private func begin(
        _ id: AccountID, _ origin: AccountOrigin, _ passkey: Passkey, _ record: AccountAct.Record, at moment: Moment
    ) async throws(RefusedRequest) -> RegisteredPasskey {
        let account = Account(id: id, origin: origin, madeAt: moment.unixMilliseconds, passkeys: [passkey])
        let detail = "by \(origin.kind), passkey \(passkey.mark.text), attestation \(passkey.attestation)"
        if let refusal = record(AccountAct(.begun, of: id, detail)) { throw RefusedRequest(refusal) }
        let beginning = try await stored { () throws(KeyRegistryError) in
            try await services.store.begin(account, maximum: services.maximumAccounts)
        }
        switch beginning {
        case .begun: return RegisteredPasskey(account: id, credentialID: passkey.credentialID, isFirst: true)
        case .passkeyTaken: throw RefusedRequest(Refusal(.passkeyTaken, detail: "an account has the credential"))
        case .accountTaken: throw Self.signUpRefused
        case .full:
            throw RefusedRequest(Refusal(.accountsExhausted, detail: "at MAX_ACCOUNTS", retryAfter: Self.fullRetry))
        }
    }

    /// Seconds.
    private static let fullRetry = 3_600

    private func add(
        _ passkey: Passkey, _ grant: RegistrationGrant, by principal: Principal?, _ record: AccountAct.Record,
        at moment: Moment
    ) async throws(RefusedRequest) -> RegisteredPasskey {
        let id = grant.account
        if grant.needsProof { try await requireOwner(of: id, principal) }
        if let refusal = services.signUps.refuseChange(of: id, at: moment.monotonic) { throw RefusedRequest(refusal) }
        let way = grant.needsProof ? "" : "by the operator's ticket, "
        let detail = "\(way)passkey \(passkey.mark.text), attestation \(passkey.attestation)"
        if let refusal = record(AccountAct(.passkeyAdded, of: id, detail)) { throw RefusedRequest(refusal) }
        let addition = try await stored { () throws(KeyRegistryError) in
            try await services.store.add(passkey, to: id)
        }
        switch addition {
        case .added: return RegisteredPasskey(account: id, credentialID: passkey.credentialID, isFirst: false)
        case .taken: throw RefusedRequest(Refusal(.passkeyTaken, detail: "an account has the credential"))
        case .tooMany: throw RefusedRequest(Refusal(.tooManyPasskeys, detail: "the account has its passkeys"))
        case .closed, .unknownAccount: throw Self.accountEnded
        }
    }

    private static let accountEnded = RefusedRequest(
        Refusal(.deviceBlocked, detail: "the account has ended meanwhile", failed: FailedCheck(.account)))

    /// A device may have left the account since the options.
    private func requireOwner(of id: AccountID, _ principal: Principal?) async throws(RefusedRequest) {
        switch principal?.accountEvidence {
        case .account(let owner, _, _) where owner == id: return
        case .device(let device, _):
            if try await account(of: device) == id { return }
        default: break
        }
        throw .rejected("challenge: of another account", .challenge)
    }
}

extension AccountID {
    /// Of random bytes, such as the mark of a ticket.
    static func of(_ bytes: [UInt8]) -> AccountID {
        let hash = SHA256.hash(data: Array("portcullis account\0".utf8) + bytes)
        guard let id = AccountID(bytes: Array(hash.prefix(length))) else {
            preconditionFailure("SHA-256 has 32 bytes.")
        }
        return id
    }

    static func random() -> AccountID {
        guard let id = AccountID(bytes: RandomBytes.make(length)) else { preconditionFailure("There are as many.") }
        return id
    }
}

extension Passkey {
    fileprivate init(_ verified: VerifiedRegistration, label: String, at moment: Moment) {
        let record = verified.record
        // Its signature covers neither AAGUID nor flags.
        let isU2F = if case .trusted(.fidoU2F, _) = verified.attestation { true } else { false }
        self.init(
            mark: .of(record.id), credentialID: record.id, publicKey: record.publicKey.cose,
            signCount: record.signCount, isBackupEligible: record.isBackupEligible, isBackedUp: record.isBackedUp,
            isUserVerified: verified.isUserVerified && !isU2F,
            aaguid: isU2F ? [UInt8](repeating: 0, count: verified.aaguid.count) : verified.aaguid,
            attestation: verified.attestation.word, label: label, madeAt: moment.unixMilliseconds)
    }
}

extension CredentialAttestation {
    fileprivate var word: String {
        switch self {
        case .none: "none"
        case .selfSigned: "self"
        case .unverified: "unverified"
        case .untrusted: "untrusted"
        case .trusted(let format, _): format.rawValue
        }
    }
}
