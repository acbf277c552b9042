/// How the gateways of a fleet reach each other.
package struct FleetSection: SettingSection {
    package static let title = "Other gateways of a fleet"

    package let binding = StartSetting<FleetBinding?>.text(
        "FLEET_BIND", default: nil, "an IP address, perhaps with a port and `,advertise=HOST`",
        "The local address on which other gateways of the fleet reach this one; unset, sessions can be resumed at their own gateway only.",
        details: """
            Without a port it is \(FleetBinding.defaultPort); `0` takes any free one: the other gateways learn it from the database. For example \
            10.0.0.11:6210,advertise=gw1.internal.example.org. `advertise=` is where they find this one, and the certificate has to have this name \
            or address; without it, it is the address itself. It is required for `0.0.0.0` and `::`.
            It needs STORE_URL, a certificate and an authority: the settings below. A client whose session another gateway has is served through both. Only \
            gateways can use the listener, but keep it in a network of your own all the same.
            """, SettingGrammar.fleetBinding)
    package let certificatePath = LiveSetting<String?>.path(
        "FLEET_TLS_CERT_PATH", "a PEM file",
        "This gateway's certificate toward the others, followed by its intermediates.",
        details: """
            It is shown by both ends of a connection, so its purposes must be those of a server and of a client (extendedKeyUsage), or none must be given. Its names \
            (subjectAltName) are what FLEET_BIND advertises, and `\(GatewayConfiguration.FleetListener.peerName)`, which no other \
            certificate of the authority may have. That name need not exist in DNS.
            """)
    package let keyPath = LiveSetting<String?>.path(
        "FLEET_TLS_KEY_PATH", "a PEM file", "The private key of that certificate, without a passphrase.")
    package let authorityPath = LiveSetting<String?>.path(
        "FLEET_CA_PATH", "a PEM file", "The authorities of the gateways' certificates.",
        details: """
            Use an authority for this alone.
            Danger: who has a gateway's certificate can resume sessions in the name of every address, and is believed about clients' certificates.
            """)
}
