import Admission
import DPoP
import FoundationEssentials
import KeyStore
import Relay
import Settings

/// The state of access tokens, which is kept through every reload: signing keys, used proofs, and what the settings say
/// of the issuer.
struct TokenState: Sendable {
    let keys: TokenKeys
    private let store: any GatewayStore
    private let publicOrigin: String?
    /// On which clients reach the gateway.
    let port: ListeningPort
    private let replays: ProofReplays

    /// Seconds for which verifiers may keep the key set: far less than a new key is published before it signs.
    static let keySetMaximumAge = 3_600

    /// Creates the first signing key and the secret of nonces if the store has none.
    ///
    /// - Parameter schedule: when signing keys are replaced, and for how long they are kept; read at each use.
    init(
        _ start: StartConfiguration, _ store: any GatewayStore,
        _ schedule: @autoclosure @escaping @Sendable () -> SigningKeySchedule
    ) throws(GatewayError) {
        let now = Date.now
        let isFirst: Bool
        do throws(SigningKeyError) {
            isFirst = try signingKeyErrors { () throws(KeyRegistryError) in
                try store.signingKeys.signingKeys().keys.isEmpty
            }
            keys = try Self.open(store, schedule, at: now)
        } catch { throw store.failure("\(error)") }
        self.store = store
        publicOrigin = start.tickets.publicOrigin
        port = ListeningPort(start.listener.port)
        // What an earlier process has accepted it has accepted before this moment, unless the store remembers it.
        replays = ProofReplays(
            maximum: start.tokens.maximumProofs, followingAt: isFirst || store.remembersProofs ? nil : .now)
    }

    /// - Parameters:
    ///   - devices: App Attest's settings; nil: it isn't configured.
    ///   - names: of the server's certificate; nil without TLS.
    ///   - allowsDevelopment: `ALLOW_DEV_TOKENS`
    func settings(
        _ tokens: LiveValues<TokenSection>, devices: AppAttestSettings?, names: ServerNames?, allowsDevelopment: Bool
    ) -> TokenSettings {
        var settings = TokenSettings(
            issuer: publicOrigin, audience: nil, lifetimeSeconds: tokens.lifetimeSeconds, keys: keys,
            replays: replays, devices: devices)
        settings.nonces = tokens.nonces
        settings.sessionOutlivesToken = tokens.sessionOutlivesToken
        settings.origins =
            publicOrigin.map(OwnOrigins.setting) ?? names.map { .certificate($0, at: port) } ?? .unknown
        if allowsDevelopment { settings.development = DevelopmentTokens(store.developmentTokens) }
        return settings
    }

    /// What the process that replaces this one must refuse.
    var carried: CarriedTokenState {
        CarriedTokenState(
            life: replays.carriedLife, forRegistrations: replays.registration.carried, forTokens: replays.token.carried,
            forResources: replays.resource.carried)
    }

    /// Before the first use of a proof: an earlier process says exactly which were used, so its life goes on.
    func restore(_ carried: CarriedTokenState) throws {
        try replays.restore(carried.life)
        try replays.registration.restore(carried.forRegistrations)
        try replays.token.restore(carried.forTokens)
        try replays.resource.restore(carried.forResources)
    }

    /// Adds a signing key if one is due. It waits for the disk.
    func rotateIfDue(_ tokens: LiveValues<TokenSection>, at time: Date) throws(SigningKeyError) {
        guard keys.isRotationDue(at: time) else { return }
        keys.replace(try SigningKeyRotation(store.signingKeys, schedule: Self.schedule(tokens)).keepUp(at: time))
    }

    /// - Parameter lead: seconds for which a new key is published before it signs.
    static func schedule(
        _ tokens: LiveValues<TokenSection>, lead: Double = SigningKeySchedule.defaultPublicationLead
    ) -> SigningKeySchedule {
        let longest = max(tokens.lifetimeSeconds, tokens.accountLifetimeSeconds)
        let schedule = SigningKeySchedule(tokenLifetime: Double(longest), publicationLead: lead)
        guard let schedule else { preconditionFailure("The signing period is longer.") }
        return schedule
    }

    private static func open(
        _ store: any GatewayStore, _ schedule: @escaping @Sendable () -> SigningKeySchedule, at time: Date
    ) throws(SigningKeyError) -> TokenKeys {
        let stored = try SigningKeyRotation(store.signingKeys, schedule: schedule()).keepUp(at: time)
        let secret = try signingKeyErrors { () throws(KeyRegistryError) in
            try store.signingKeys.secret(
                named: TokenKeys.nonceSecretName, creating: RandomBytes.make(TokenKeys.nonceSecretBytes))
        }
        guard let keys = TokenKeys(stored, schedule: schedule(), nonceSecret: secret) else { throw .damaged }
        return keys
    }
}

/// The used proofs of a gateway on their way to its successor.
struct CarriedTokenState: Codable, Sendable {
    let life: GatewayLife
    let forRegistrations, forTokens, forResources: CarriedProofs
}

private func signingKeyErrors<Value>(
    _ body: () throws(KeyRegistryError) -> Value
) throws(SigningKeyError) -> Value {
    do throws(KeyRegistryError) { return try body() } catch { throw .store(error) }
}
