package import KeyStore

/// The settings of players' accounts, as the methods need them that verify access tokens.
package struct AccountSettings: Sendable {
    /// `ACCOUNT_TOKEN_TTL_SECONDS`
    package static let defaultLifetimeSeconds = 900

    package var registry: AccountRegistry
    /// The part of the same store that waits.
    package var store: any AccountStore
    /// For accounts that began with a client certificate; nil: none is trusted any more.
    package var certificates: (any CertificateStatus)?
    package var lifetimeSeconds: Int

    package init(
        registry: AccountRegistry, store: any AccountStore, certificates: (any CertificateStatus)?,
        lifetimeSeconds: Int = defaultLifetimeSeconds
    ) {
        (self.registry, self.store, self.certificates) = (registry, store, certificates)
        self.lifetimeSeconds = lifetimeSeconds
    }
}

/// Where the gate finds accounts.
package enum AccountRegistry: Sendable {
    /// Of one gateway: it answers at once, on the reactor.
    case immediate(any ImmediateAccountRegistry)
    /// Of a fleet: it answers later.
    case shared(AccountStandings)
}

extension Identity {
    /// A player who has signed in.
    package static func account(_ id: AccountID) -> Identity {
        Identity(method: AccessTokenMethod.accountName, subject: id.text)
    }
}

extension AccessTokenMethod {
    /// A player who has signed in to an account that began with a device or an operator's ticket.
    package static let accountName = MethodName(label: "passkey", route: "passkey", holders: .one)

    /// The same method for accounts that other routes are open to: it has the same label everywhere.
    enum AccountNames {
        /// Anyone could make it.
        static let open = MethodName(label: "passkey", route: "passkey", holders: .one, isOnlyByName: true)
        /// It counts as what it began with.
        static let certificate = MethodName(label: "passkey", route: "cert", holders: .one)
        static let development = MethodName(label: "passkey", route: "dev", holders: .one)

        /// - Parameter kind: nil: it isn't known, so it is treated as what anyone could make.
        static func name(of kind: AccountOrigin.Kind?) -> MethodName {
            switch kind {
            case .device, .ticket: accountName
            case .certificate: certificate
            case .development: development
            case .open, nil: open
            }
        }
    }

    package static let accountBlockListKind = BlockListKind(
        word: "account", methods: accountName, problem: "holds no account",
        remedy: "Write it as `portcullis accounts list` shows it."
    ) { AccountID(text: $0)?.text }
}
