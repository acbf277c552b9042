package import Admission
package import AppAttest
package import RelayCore

/// Everything that an operator can decide about the gateway, checked. A gateway reads it in two parts:
/// ``LiveConfiguration`` and ``StartConfiguration``. Only the loader makes one, so its parts are consistent and its
/// files were readable.
///
/// `configuration.session.pingIntervalSeconds` is the value of a setting: `session` is a section of
/// ``GatewaySettings``, and `pingIntervalSeconds` a setting of that section. The stored properties are derived from
/// several settings or from files.
///
/// Times are whole numbers with their unit in the name; sizes are bytes. It is a value: changing the environment or a
/// file later changes nothing here.
@dynamicMemberLookup
package struct GatewayConfiguration: Sendable, Equatable {
    let values: SettingValues

    /// Nil means plain text.
    package let tls: TLS?
    /// The target of clients that name none: TARGET_HOST and TARGET_PORT.
    package let standardTarget: TargetEndpoint
    /// The targets that clients may be connected to.
    package let targetPolicy: TargetPolicy
    /// Every client must present one of them. Nil: AUTH_MODE is none.
    package let sharedSecrets: SharedSecrets?
    /// Empty if BLOCK_LIST_PATH isn't set.
    package let blockList: BlockList
    /// Nil if no app is configured: `/attest/…` is then answered 404.
    package let appAttest: Attestation?
    /// Nil: there are no accounts, and `/api/auth/…` is answered 404.
    package let passkeys: Passkeys?
    /// Nil if client certificates admit no client.
    package let clientCertificates: ClientCertificates?
    package let trustedProxies: TrustedProxies
    /// Nil if the internal listener requires no token.
    package let internalToken: InternalToken?
    /// Nil if the internal listener has no TLS.
    package let internalTLS: InternalTLS?
    /// The number of the group of ADMIN_BIND; nil: the process' own group.
    package let internalSocketGroup: UInt32?
    /// Nil: the store is the file of ATTESTED_KEYS_PATH.
    package let fleetStore: FleetStoreConfiguration?
    /// Nil: other gateways don't pass clients on to this one, nor it to them.
    package let fleetListener: FleetListener?
    /// Whether the gateway has a store of its own: for App Attest, or for the next tickets of sessions.
    package let usesStoreFile: Bool

    package subscript<Section: SettingSection>(
        dynamicMember section: KeyPath<GatewaySettings, Section>
    ) -> SectionValues<Section> {
        SectionValues(GatewaySettings.all[keyPath: section], values)
    }

    package struct TLS: Sendable, Equatable {
        /// PEM: the leaf, then its intermediates. Parsed, and known to belong to the key.
        package let certificatePath: String
        /// PEM, not encrypted.
        package let keyPath: String
        /// Of the certificate.
        package let names: ServerNames
        package var keys = CertificateKeys()
    }

    /// The public keys of the certificate and of the announced one (SubjectPublicKeyInfo, DER): what clients pin. Nil
    /// for one that isn't there.
    package struct CertificateKeys: Sendable, Equatable {
        package var inUse: [UInt8]?
        package var next: [UInt8]?

        package init(inUse: [UInt8]? = nil, next: [UInt8]? = nil) { (self.inUse, self.next) = (inUse, next) }

        /// Whether clients that pin these keys refuse a certificate that replaces the one in use.
        package func refuse(_ later: CertificateKeys) -> Bool {
            guard let next, let key = later.inUse, key != inUse else { return false }
            return key != next
        }
    }

    /// The TLS of the internal listener.
    package struct InternalTLS: Sendable, Equatable {
        /// As in ``TLS``; perhaps the server's.
        package let certificatePath: String
        package let keyPath: String
        /// False: it presents the server's certificate.
        package let hasOwnCertificate: Bool
        /// Nil: client certificates don't admit.
        package let clients: ClientCertificates?
    }

    package struct Attestation: Sendable, Equatable {
        /// At least one, each once.
        package let apps: [AppID]
        package let environments: Set<AttestationEnvironment>
        /// Nil: not checked. Never empty.
        package let validationCategories: Set<UInt32>?
        /// Nil: Apple's.
        package let customRoot: CustomRoot?
    }

    /// A trust root instead of Apple's: the holder of its key can register any device.
    package struct CustomRoot: Sendable, Equatable {
        package let path: String
        /// One certificate, as it was read.
        package let pem: String
    }

    package struct ClientCertificates: Sendable, Equatable {
        /// PEM with at least one certificate.
        package let authorityPath: String
        /// PEM with at least one list, all of them by an authority of `authorityPath`.
        package let revocationListPath: String?
    }
}

extension GatewayConfiguration: CustomStringConvertible {
    /// A summary of the listener, the targets and the admission methods. It never contains a secret or a file's
    /// content.
    package var description: String {
        let scheme = tls == nil ? "ws" : "wss"
        let ways = [
            appAttest.map { "App Attest for \($0.apps.map(\.description).joined(separator: ", "))" },
            passkeys.map { "passkeys of \($0.relyingPartyID)" },
            clientCertificates.map { _ in "client certificates" },
            self.tickets.controlSocketPath.map { _ in "operator's tickets" },
            anyone,
        ]
        let secret = sharedSecrets == nil ? "" : ", each with a shared secret"
        let addresses = self.listener.hosts.map { "\(scheme)://\($0):\(self.listener.port)" }.joined(separator: " and ")
        return "\(addresses) to \(standardTarget.text), admitting "
            + ways.compactMap { $0 }.joined(separator: ", ") + secret
    }

    private var anyone: String? {
        switch self.gate.appAuth {
        case .required: nil
        case .off: "anyone"
        case .report: self.gate.reportUntil.map { "anyone until \($0)" }
        }
    }
}
