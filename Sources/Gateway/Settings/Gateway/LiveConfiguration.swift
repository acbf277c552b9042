package import Admission
package import RelayCore

/// What a reload changes, all of it at once: immutable, read where it is used. It has no setting that only a start
/// reads, so a setting whose change would have no effect can't be reported as changed.
@dynamicMemberLookup
package struct LiveConfiguration: Sendable, Equatable {
    private let configuration: GatewayConfiguration

    init(_ configuration: GatewayConfiguration) { self.configuration = configuration }

    package subscript<Section: SettingSection>(
        dynamicMember section: KeyPath<GatewaySettings, Section>
    ) -> LiveValues<Section> {
        LiveValues(GatewaySettings.all[keyPath: section], configuration.values)
    }

    /// Nil means plain text. Whether there is TLS, App Attest or TLS of the internal listener changes with a restart
    /// only: ``SettingPart``.
    package var tls: GatewayConfiguration.TLS? { configuration.tls }
    package var clientCertificates: GatewayConfiguration.ClientCertificates? { configuration.clientCertificates }
    package var internalTLS: GatewayConfiguration.InternalTLS? { configuration.internalTLS }
    package var appAttest: GatewayConfiguration.Attestation? { configuration.appAttest }
    package var targetPolicy: TargetPolicy { configuration.targetPolicy }
    package var sharedSecrets: SharedSecrets? { configuration.sharedSecrets }
    package var blockList: BlockList { configuration.blockList }
    package var trustedProxies: TrustedProxies { configuration.trustedProxies }
    package var internalToken: InternalToken? { configuration.internalToken }
    /// Whether these settings say who may use the internal listener: without ADMIN_BIND they say nothing, though it
    /// lasts until a restart.
    package var limitsInternalListener: Bool { configuration.internalListener.address != nil }
    /// Nil without FLEET_BIND.
    package var fleetFiles: GatewayConfiguration.FleetFiles? { configuration.fleetListener?.files }
}

/// What a process reads once, at its start.
@dynamicMemberLookup
package struct StartConfiguration: Sendable {
    private let configuration: GatewayConfiguration

    init(_ configuration: GatewayConfiguration) { self.configuration = configuration }

    package subscript<Section: SettingSection>(
        dynamicMember section: KeyPath<GatewaySettings, Section>
    ) -> StartValues<Section> {
        StartValues(GatewaySettings.all[keyPath: section], configuration.values)
    }

    package var internalSocketGroup: UInt32? { configuration.internalSocketGroup }
    package var fleetStore: FleetStoreConfiguration? { configuration.fleetStore }
    package var fleetListener: GatewayConfiguration.FleetListener? { configuration.fleetListener }
    package var usesStoreFile: Bool { configuration.usesStoreFile }
    package var hasAppAttest: Bool { configuration.appAttest != nil }
    package var passkeys: GatewayConfiguration.Passkeys? { configuration.passkeys }
}

extension GatewayConfiguration {
    package var live: LiveConfiguration { LiveConfiguration(self) }
    package var atStart: StartConfiguration { StartConfiguration(self) }
}
