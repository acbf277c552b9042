import Accounts
import Admission
import AppAttest
import Relay
import Settings
import WebAuthn

extension GatewayParts {
    /// - Returns: nil without `PASSKEY_RP_ID`.
    static func accounts(
        _ live: LiveConfiguration, _ tokens: TokenSettings, state: GatewayState
    ) -> AccountServices? {
        guard let passkeys = state.start.passkeys, let store = state.store else { return nil }
        let policy = RegistrationPolicy(
            attestation: passkeys.anchors == nil ? .none : .required, anchors: passkeys.anchors ?? [:])
        var services = AccountServices(
            name: live.tickets.webClientTitle ?? passkeys.relyingPartyID,
            relyingParty: RelyingParty(id: passkeys.relyingPartyID, origins: passkeys.origins), policy: policy,
            signUp: live.accounts.signUp, maximumAccounts: live.accounts.maximumAccounts,
            maximumBodyBytes: live.connections.maximumBodyBytes, tokens: tokens, store: store.accountStore,
            keys: store.keys, challenges: state.passkeyChallenges, limits: state.endpoints, signUps: state.signUps,
            refresh: RefreshRules(
                lifetimeDays: live.tokens.refreshLifetimeDays, repeatSeconds: live.tokens.refreshRepeatSeconds))
        services.relatedOrigins = securePages(passkeys)
        return services
    }

    private static func securePages(_ passkeys: GatewayConfiguration.Passkeys) -> [String] {
        passkeys.pages.filter { $0.utf8.starts(with: "https://".utf8) }
    }

    static func platformFiles(_ pinned: StartupPinned, _ state: GatewayState) -> PlatformFiles? {
        state.start.passkeys.map { passkeys in
            PlatformFiles(
                apps: pinned.appAttest?.apps.map(\.description) ?? [], androidApps: passkeys.androidApps,
                origins: securePages(passkeys))
        }
    }
}
