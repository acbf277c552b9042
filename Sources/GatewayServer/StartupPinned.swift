import Settings

/// The parts of a configuration that are switched on or off at the start only: TLS toward clients and App Attest. If a reload would switch
/// one of them, its last usable settings stay in effect.
struct StartupPinned: Sendable {
    let tls: GatewayConfiguration.TLS?
    let clientCertificates: GatewayConfiguration.ClientCertificates?
    let appAttest: GatewayConfiguration.Attestation?
    /// The parts that the last reload would have switched.
    let kept: Set<SettingPart>

    init(_ configuration: GatewayConfiguration) {
        tls = configuration.tls
        clientCertificates = configuration.clientCertificates
        appAttest = configuration.appAttest
        kept = []
    }

    init(_ configuration: GatewayConfiguration, after old: StartupPinned) {
        let keepsTLS = (configuration.tls == nil) != (old.tls == nil)
        let keepsAppAttest = (configuration.appAttest == nil) != (old.appAttest == nil)
        tls = keepsTLS ? old.tls : configuration.tls
        clientCertificates = keepsTLS ? old.clientCertificates : configuration.clientCertificates
        appAttest = keepsAppAttest ? old.appAttest : configuration.appAttest
        kept = Set((keepsTLS ? [.clientTLS] : []) + (keepsAppAttest ? [.appAttest] : []))
    }
}
