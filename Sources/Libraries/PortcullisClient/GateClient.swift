/// The way to a service behind a Portcullis gate.
///
/// ```swift
/// let client = try GateClient(configuration: configuration, platform: .apple())
/// try await client.assertions.registerIfNeeded()
/// for await event in client.connect() { … }
/// ```
///
/// Make one for each gate, and keep it: it has the access token, and it makes sure that calls at the same time share
/// one registration.
public final class GateClient: Sendable {
    public let configuration: GateConfiguration
    /// The first dialect: an assertion for each connection.
    public let assertions: ConnectionAssertions
    /// The second: access tokens.
    public let tokens: AccessTokens
    /// The third: signed requests.
    public let signedRequests: SignedRequests
    /// Players who sign in with passkeys.
    public let accounts: PlayerAccounts

    private let platform: ClientPlatform
    private let caller: GateCaller
    private let key: AttestedKey
    private let guards: [GateOperation: OperationGuard]

    public init(configuration: GateConfiguration, platform: ClientPlatform) {
        let guards = Dictionary(uniqueKeysWithValues: GateOperation.allCases.map { ($0, OperationGuard($0, platform)) })
        func attempts(_ operation: GateOperation) -> OperationGuard {
            guards[operation] ?? OperationGuard(operation, platform)
        }
        let caller = GateCaller(configuration, platform)
        let key = AttestedKey(configuration, platform, attempts: attempts(.registration))
        let deviceKey = DeviceKeyCustody(configuration, platform)
        let issuer = TokenIssuer(key, deviceKey, caller, configuration, platform.clock)
        (self.configuration, self.platform, self.caller, self.key, self.guards) = (
            configuration, platform, caller, key, guards
        )
        assertions = ConnectionAssertions(key, caller, platform.clock)
        tokens = AccessTokens(issuer, caller, configuration, platform.clock, attempts: attempts(.token))
        signedRequests = SignedRequests(
            key, caller, platform.clock, attempts: attempts(.signedRequest), unregistration: attempts(.unregistration))
        accounts = PlayerAccounts(
            issuer, AccountRequests(caller, assertions, tokens, configuration), configuration, platform,
            attempts: attempts(.account))
    }

    /// Begins a session. It returns at once; the events tell how it goes.
    public func connect(_ options: ConnectionOptions = ConnectionOptions()) -> GatedConnection {
        let opener = ConnectionOpener(
            options: options, caller: caller, assertions: assertions, tokens: tokens, playerTokens: accounts.tokens,
            sharedSecret: configuration.sharedSecret,
            circuit: guards[.connection] ?? OperationGuard(.connection, platform))
        return GatedConnection(ConnectionDriver(opener, options, configuration, platform))
    }

    // MARK: State for the app

    /// Whether an operation may be tried. If it is open, show the user a button “Try again” that calls
    /// ``tryAgain(_:)``.
    public func circuit(_ operation: GateOperation) async -> CircuitState {
        if operation == .registration, let wait = await key.renewalWait { return .open(retryAfter: wait) }
        return await guards[operation]?.state ?? .closed
    }

    /// Permits an operation that has failed repeatedly; nil: all of them.
    public func tryAgain(_ operation: GateOperation? = nil) async {
        for (name, attempts) in guards where operation == nil || name == operation { await attempts.tryAgain() }
        if operation == nil || operation == .registration { await key.allowRenewals() }
    }

    /// Seconds by which the server's clock is ahead of the device's; nil before the first answer. Beyond 30 s, in
    /// either direction, proofs are refused.
    public var clockDifference: Double? { caller.clockDifference }
}
