/// Every setting of the gateway. The order of the sections, and of the settings in each, is that of the documentation,
/// the example file and `check-config`.
///
/// Names of settings are stable, because operators' files contain them.
package struct GatewaySettings: Sendable {
    package let listener = ListenerSection()
    package let target = TargetSection()
    package let telnet = TelnetSection()
    package let dialects = DialectSection()
    package let inboundTLS = InboundTLSSection()
    package let gate = GateSection()
    package let attestation = AttestationSection()
    package let clientAuthorities = ClientAuthoritySection()
    package let keyStore = KeyStoreSection()
    package let signedRequests = SignedRequestSection()
    package let tokens = TokenSection()
    package let developmentTokens = DevelopmentTokenSection()
    package let accounts = AccountSection()
    package let internalListener = InternalListenerSection()
    package let internalTLS = InternalTLSSection()
    package let fleet = FleetSection()
    package let tickets = TicketSection()
    package let proxies = ProxySection()
    package let limits = LimitSection()
    package let connections = ConnectionSection()
    package let session = SessionSection()
    package let compression = CompressionSection()
    package let resume = ResumeSection()
    package let traffic = TrafficSection()
    package let process = ProcessSection()
    package let copyover = CopyoverSection()
    package let logs = LogSection()

    package static let all = GatewaySettings()
    package static let table = SettingTable(reflecting: all)
}
