package import Admission
import Observability

/// One admission method of the gateway, as the configuration and the composition root see it.
package struct ConfiguredMethod: Sendable {
    /// The names of its identities.
    package let names: [MethodName]
    /// The notation of its identities in a block list; nil: it has none of its own.
    package let blockListKind: BlockListKind?
    /// Whether these settings allow this method to admit clients.
    package let isOn: @Sendable (AdmissionConfiguration) -> Bool
    /// The names of the identities that it can admit under these settings, where not all of them depend on the same
    /// ones; nil: all or none, by ``isOn``.
    private var namesOn: (@Sendable (AdmissionConfiguration) -> [MethodName])?
    /// Makes the method, even if it isn't configured: then it refuses or ignores its credential.
    package let make: @Sendable (LiveConfiguration, MethodParts) -> any AdmissionMethod

    package init(
        _ names: MethodName..., blockListKind: BlockListKind?,
        isOn: @escaping @Sendable (AdmissionConfiguration) -> Bool,
        make: @escaping @Sendable (LiveConfiguration, MethodParts) -> any AdmissionMethod
    ) {
        self.names = names
        self.blockListKind = blockListKind
        self.isOn = isOn
        self.make = make
    }

    func namesOn(_ names: @escaping @Sendable (AdmissionConfiguration) -> [MethodName]) -> ConfiguredMethod {
        var method = self
        method.namesOn = names
        return method
    }

    func names(on configuration: AdmissionConfiguration) -> [MethodName] {
        namesOn?(configuration) ?? (isOn(configuration) ? names : [])
    }
}

/// The settings of admission.
package struct AdmissionConfiguration: Sendable {
    package let gate: SectionValues<GateSection>
    package let appAttest: GatewayConfiguration.Attestation?
    package let passkeys: GatewayConfiguration.Passkeys?
    package let clientCertificates: GatewayConfiguration.ClientCertificates?
    package let tickets: SectionValues<TicketSection>
    package let signedRequests: SectionValues<SignedRequestSection>
}

extension ValuesOfSection where Section == GateSection, Access: ReadsLiveSettings {
    /// `REQUIRE_APP_AUTH` with its date. Without a date, which stops the start, nothing is only reported.
    package var appAuthDemand: AppAuthDemand {
        switch self.appAuth {
        case .required: .required
        case .off: .notRequired
        case .report: .reported(until: self.reportUntil?.unixMilliseconds ?? .min)
        }
    }
}

extension [ConfiguredMethod] {
    /// All admission methods, in the order in which the gate looks for a request's credential. **A new method is one
    /// line here**: before the session's token, which is for clients without other credentials, and before the
    /// certificate, which browsers send with any page's request.
    package static let all: [ConfiguredMethod] = [
        ConfiguredMethod(
            TicketMethod.name, blockListKind: nil, isOn: { $0.tickets.controlSocketPath != nil }
        ) { TicketMethod(office: $1.tickets) },
        ConfiguredMethod(
            AppAttestMethod.name, blockListKind: AppAttestMethod.blockListKind, isOn: { $0.appAttest != nil }
        ) { AppAttestMethod($1.appAttest) },
        ConfiguredMethod(
            // The kind of App Attest has its identities, too.
            SignedRequestMethod.name, blockListKind: nil,
            isOn: { $0.appAttest != nil && $0.signedRequests.isOn == .on }
        ) { SignedRequestMethod($1.signedRequests) },
        ConfiguredMethod(
            AccessTokenMethod.name, AccessTokenMethod.developmentName, AccessTokenMethod.accountName,
            blockListKind: AccessTokenMethod.accountBlockListKind, isOn: { $0.appAttest != nil || $0.passkeys != nil }
        ) { AccessTokenMethod($1.tokens) }.namesOn {
            ($0.appAttest == nil ? [] : [AccessTokenMethod.name, AccessTokenMethod.developmentName])
                + ($0.passkeys == nil ? [] : [AccessTokenMethod.accountName])
        },
        ConfiguredMethod(SessionTokenMethod.name, blockListKind: nil, isOn: { _ in false }) {
            SessionTokenMethod(bearer: $1.sessionBearer)
        },
        ConfiguredMethod(
            ClientCertificateMethod.name, blockListKind: ClientCertificateMethod.blockListKind,
            isOn: { $0.clientCertificates != nil }
        ) { ClientCertificateMethod(status: $1.clientCertificates) },
        ConfiguredMethod(
            AnonymousMethod.name, blockListKind: nil, isOn: { $0.gate.appAuthDemand == .notRequired }
        ) { configuration, _ in AnonymousMethod(configuration.gate.appAuthDemand) },
    ]

    /// The names for the `admit=` of routes.
    package var routeNames: [String] { flatMap { $0.names.compactMap(\.route) } }
    package var blockListKinds: [BlockListKind] { compactMap(\.blockListKind) }

    /// The route names of the methods that can admit clients under this configuration.
    func routeNames(on configuration: AdmissionConfiguration) -> Set<String> {
        Set(flatMap { $0.names(on: configuration).compactMap(\.route) })
    }
}
