/// Players who sign in with passkeys: their accounts at the gate.
///
/// ```swift
/// _ = try await client.accounts.signUp(label: "my phone")
/// try await client.accounts.signIn()
/// let connection = client.connect(ConnectionOptions(.account))
/// ```
///
/// Making a passkey and signing in are two dialogs of the system. An access token is in memory only, for some minutes.
/// The refresh token that brings the next one is stored where ``ClientPlatform/unlock`` can unlock it; without that the
/// player signs in again: ``GateError/signInRequired``.
public final class PlayerAccounts: Sendable {
    /// The longest label, in bytes of UTF-8.
    public static let maximumLabelBytes = 64

    /// For requests to services behind the gate by the player who has signed in.
    public let tokens: AccessTokens

    let issuer: TokenIssuer
    let custody: RefreshCustody
    let requests: AccountRequests
    private let passkeys: any PasskeyAuthenticator
    private let clock: any ClientClock
    private let attempts: OperationGuard
    private let signIns = SingleFlight<Void>()
    /// The tokens of one sign-in are kept before those of another.
    private let keeping = Turnstile()
    /// One dialog at a time.
    private let dialogs = Turnstile()

    init(
        _ issuer: TokenIssuer, _ requests: AccountRequests, _ configuration: GateConfiguration,
        _ platform: ClientPlatform, attempts: OperationGuard
    ) {
        (self.issuer, self.requests, self.attempts) = (issuer, requests, attempts)
        (passkeys, clock) = (platform.passkeys, platform.clock)
        custody = RefreshCustody(configuration, platform)
        tokens = AccessTokens(
            PlayerTokenSource(issuer: issuer, custody: custody), requests.caller, configuration, platform.clock,
            attempts: attempts)
    }

    // MARK: Begin an account

    /// Makes a passkey, and an account with it. It doesn't sign in.
    ///
    /// - Parameters:
    ///   - proof: where the gate wants one.
    ///   - label: of the passkey, the player's own words.
    public func signUp(
        by proof: AccountProof = .device, label: String = ""
    ) async throws(GateError) -> RegisteredPasskey {
        do {
            try Self.check(label)
            let options = try await requests.post(
                AccountPath.registrationOptions, Array("{}".utf8), by: proof, isFirst: true)
            let body = try await newPasskey(options, label)
            let made = try RegisteredPasskey(
                try await requests.post(AccountPath.registration, body, by: proof, isFirst: false))
            requests.caller.log.info("registered a passkey")
            return made
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// The way back for a player who has lost all passkeys and devices: the gateway's operator issues a ticket for the
    /// account, and a new passkey is added to it. Then sign in.
    public func recover(ticket: String, label: String = "") async throws(GateError) -> RegisteredPasskey {
        try await signUp(by: .ticket(ticket), label: label)
    }

    // MARK: Sign in

    /// Has the player choose a passkey, and gets tokens for its account. Callers at the same time share one dialog.
    ///
    /// Where the refresh token can't be stored, as when the player chooses no PIN, the sign-in lasts as long as its
    /// access token.
    public func signIn() async throws(GateError) {
        do {
            try await signIns.run { [self] in
                let credential = try await usedPasskey()
                try await keep { [issuer] in try await issuer.signIn(with: credential) }
                requests.caller.log.info("signed in with a passkey")
            }
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// Stores the refresh token, if the platform can unlock one, before the access token is used.
    func keep(_ signIn: @Sendable () async throws -> TokenIssuer.Answer) async throws {
        try await keeping.pass { [self] in
            let requested = clock.now
            let answer = try await signIn()
            do { try await custody.begin(answer.refreshToken) } catch {
                requests.caller.log.warning("the refresh token isn't stored: \(GateError(wrapping: error))")
            }
            await tokens.keep(answer, requested: requested)
        }
    }

    /// Whether there is an access token that isn't about to end.
    public var isSignedIn: Bool { get async { await tokens.isHeld } }

    /// Forgets the tokens, without telling the gate: see ``logOut(everywhere:)``.
    public func signOut() async {
        do { try await custody.clear(.loggedOut) } catch {
            requests.caller.log.error("the refresh token is forgotten until the app ends: \(error)")
        }
        await tokens.clearCachedState()
    }

    // MARK: Passkeys

    static func check(_ label: String) throws(ConfigurationProblem) {
        guard label.utf8.count <= maximumLabelBytes else { throw .invalidValue("label") }
    }

    /// A new passkey, as the gate registers it.
    func newPasskey(_ options: JSONMembers, _ label: String) async throws -> [UInt8] {
        let options = try PasskeyCreationOptions(options)
        let credential = try await dialogs.pass { [passkeys] in try await passkeys.create(options) }
        return JSONText.object {
            credential.add(to: &$0)
            $0.add("label", label)
        }
    }

    /// What a passkey has signed, for a sign-in or for a change.
    private func usedPasskey() async throws -> PasskeyCredential {
        let thumbprint = try await issuer.thumbprint()
        let options = try PasskeyRequestOptions(try await signInOptions(AccountPath.signInOptions, for: thumbprint))
        return try await dialogs.pass { [passkeys] in try await passkeys.get(options) }
    }

    /// What the gate wants to be signed for a sign-in.
    ///
    /// - Parameter thumbprint: of the key that the tokens will belong to.
    func signInOptions(_ path: String, for thumbprint: String) async throws -> JSONMembers {
        try await attempts.run { [requests] in
            let body = JSONText.object { $0.add("dpop_jkt", thumbprint) }
            return try requests.caller.members(of: try await requests.caller.post(path, body))
        }
    }

    /// What a passkey signs for a change, which only a player makes who has signed in: the body's member `passkey`.
    func freshPasskey() async throws -> [UInt8] {
        try await tokens.bring()
        return try await usedPasskey().bytes
    }
}
