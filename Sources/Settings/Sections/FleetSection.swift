/// How the gateways of a fleet reach each other.
package struct FleetSection: SettingSection {
    package static let title = "Other gateways of a fleet"

    package let host = Setting<NetworkHost?>.text(
        "FLEET_BIND", default: nil, "an IP address",
        "The local address on which other gateways of the fleet reach this one; unset, sessions can be resumed at their own gateway only.",
        details: """
            It needs STORE_URL, a certificate and an authority: the settings below. A client whose session another gateway has is served through both. Only \
            gateways can use the listener, but keep it in a network of your own all the same.
            """, reload: .restart, SettingGrammar.optionalAddress)
    package let port = Setting<Int>.integer(
        "FLEET_PORT", default: 6_210, 0...65_535, "port", "The port of FLEET_BIND; `0` takes any free one.",
        details: "The other gateways learn it from the database.", reload: .restart)
    package let advertised = Setting<NetworkHost?>.text(
        "FLEET_ADVERTISE", default: nil, "a host name or an IP address",
        "Where the other gateways find FLEET_BIND; unset, it is FLEET_BIND itself.",
        details: "The certificate has to have this name or address. Required if FLEET_BIND is `0.0.0.0` or `::`.",
        reload: .restart, SettingGrammar.host)
    package let certificatePath = Setting<String?>.path(
        "FLEET_TLS_CERT_PATH", "a PEM file",
        "This gateway's certificate toward the others, followed by its intermediates.",
        details: """
            It is shown by both ends of a connection, so its purposes must be those of a server and of a client (extendedKeyUsage), or none must be given. Its names \
            (subjectAltName) are FLEET_ADVERTISE and FLEET_PEER_NAME.
            """)
    package let keyPath = Setting<String?>.path(
        "FLEET_TLS_KEY_PATH", "a PEM file", "The private key of that certificate, without a passphrase.")
    package let authorityPath = Setting<String?>.path(
        "FLEET_CA_PATH", "a PEM file", "The authorities of the gateways' certificates.",
        details: """
            Use an authority for this alone.
            Danger: who has a gateway's certificate can resume sessions in the name of every address, and is believed about clients' certificates.
            """)
    package let peerName = Setting<String>.text(
        "FLEET_PEER_NAME", default: "gateway.portcullis.internal", written: "gateway.portcullis.internal",
        "a host name",
        "The name that the certificates of all gateways have, and no other certificate of that authority.",
        details: "It need not exist in DNS. Two fleets with one authority need two names.", reload: .restart,
        SettingGrammar.roleName)
    package let maximumConnections = Setting<Int>.integer(
        "FLEET_MAX_CONNECTIONS", default: 10_000, 1...1_000_000, "connections",
        "Clients that other gateways pass on to this one, and, separately, that this one passes on; above it they are refused.",
        reload: .restart)
    package let idleSeconds = Setting<Int>.integer(
        "FLEET_IDLE_SECONDS", default: 150, 2...86_400, "s",
        "How long another gateway may be silent about a client, or the client may take nothing of what waits for it, before it counts as lost.",
        details: "It is heard at each ping of the client, so it has to be longer than PING_INTERVAL_SECONDS.",
        reload: .restart)
    package let queueBytes = Setting<Int>.integer(
        "FLEET_QUEUE_BYTES", default: 65_536, 4_096...16_777_216, "bytes",
        "What may wait in each direction of a client that is passed on, before the sender isn't read.", reload: .restart
    )
}

extension SettingGrammar {
    static func optionalAddress(_ text: String) throws(SettingProblem) -> NetworkHost? { try address(text) }

    /// A name that no address could be taken for.
    static func roleName(_ text: String) throws(SettingProblem) -> String {
        guard isHostName(text) else {
            throw SettingProblem(problem: "isn't a host name", remedy: "Write one like `gateway.portcullis.internal`.")
        }
        return text
    }
}
