/// A name that was a setting. If it is still set the start is refused: the operator's limit wouldn't apply any more.
package struct RemovedSetting: Sendable {
    package let name: String
    /// A sentence that says what replaces it.
    package let advice: String

    private init(_ name: String, _ advice: String) { (self.name, self.advice) = (name, advice) }

    private static func merged(_ names: String..., into setting: String, _ how: String) -> [RemovedSetting] {
        names.map { RemovedSetting($0, "Set \(setting) instead: \(how).") }
    }

    private static func fixed(_ name: String, at value: String) -> RemovedSetting {
        RemovedSetting(name, "Remove it: it is always \(value).")
    }

    package static let all: [RemovedSetting] =
        merged(
            "TLS_HANDSHAKE_TIMEOUT_MS", "HTTP_HEADER_TIMEOUT_MS", "HTTP_BODY_TIMEOUT_MS", "UPGRADE_TIMEOUT_MS",
            into: "REQUEST_TIMEOUT_MS", "it is the limit of each step of a request")
        + merged("REGISTRATIONS_PER_MINUTE", into: "CHALLENGES_PER_MINUTE", "registrations may be a tenth of it")
        + merged("TOKENS_PER_MINUTE", into: "CHALLENGES_PER_MINUTE", "as many requests for tokens are allowed")
        + merged(
            "VERIFICATIONS_PER_SECOND", into: "FAILED_UPGRADES_PER_MINUTE",
            "as many as its double are verified in a second")
        + merged("PEER_SILENCE_SECONDS", into: "PING_INTERVAL_SECONDS", "a client may be silent for three intervals")
        + merged("SLOW_CLIENT_SECONDS", into: "PING_INTERVAL_SECONDS", "a client may leave its output unread for one")
        + merged("CONNECT_WAIT_SECONDS", into: "PING_INTERVAL_SECONDS", "a client has two intervals to name its target")
        + merged("FLEET_IDLE_SECONDS", into: "PING_INTERVAL_SECONDS", "a gateway may be silent for five intervals")
        + merged("MAX_SPENT_CHALLENGES", into: "MAX_SPENT_PROOFS", "it is the limit of both")
        + merged("FLEET_PORT", into: "FLEET_BIND", "write the port behind the address, like 10.0.0.11:6210")
        + merged("FLEET_ADVERTISE", into: "FLEET_BIND", "add `,advertise=HOST` to the address")
        + merged("ADMIN_SOCKET_GROUP", into: "ADMIN_BIND", "write `unix:FILE,group=NAME`")
        + merged("ALLOW_INSECURE_ADMIN_NO_TLS", into: "ADMIN_BIND", "write `ADDRESS:PORT,tls=off`")
        + merged(
            "ACCESS_TOKEN_ISSUER", "ACCESS_TOKEN_AUDIENCE", into: "PUBLIC_ORIGIN",
            "it is the issuer of access tokens and their audience")
        + merged("COPYOVER_SETTLE_MS", into: "COPYOVER_READY_MS", "a tenth of it is the time to finish requests")
        + [
            RemovedSetting(
                "SIGNING_KEY_PUBLISH_SECONDS",
                "Remove it: it is a day. `portcullis signing-keys rotate --after SECONDS` gives another time."),
            RemovedSetting(
                "SIGNING_KEY_DAYS",
                "Remove it: a key signs for 90 days. `portcullis signing-keys rotate` replaces it before."),
            fixed("WS_COMPRESSION_WINDOW_BITS", at: "12"),
            fixed("WS_COMPRESSION_MIN_BYTES", at: "64"),
            fixed("WS_COMPRESSION_LEVEL", at: "6"),
            fixed("WS_COMPRESSION_SESSION_BYTES", at: "98304; WS_COMPRESSION_TOTAL_BYTES limits all sessions"),
            fixed("DRAIN_RECONNECT_MS", at: "5000"),
            fixed("COPYOVER_RECONNECT_MS", at: "250"),
            fixed("MAX_HEADER_BYTES", at: "16384"),
            fixed("CLIENT_BUFFER_BYTES", at: "65536"),
            fixed("TARGET_BUFFER_BYTES", at: "65536"),
            fixed("MAX_COMPRESSION_RATIO", at: "100"),
            fixed("MAX_INFLATED_BYTES_PER_SECOND", at: "4194304"),
            fixed("MAX_TICKETS", at: "10000"),
            fixed("STORE_BUSY_MS", at: "50"),
            fixed("STORE_CONNECTIONS", at: "4"),
            fixed("FLEET_MAX_CONNECTIONS", at: "10000"),
            fixed("FLEET_QUEUE_BYTES", at: "65536"),
            RemovedSetting(
                "FLEET_PEER_NAME",
                "Remove it: the gateways' certificates have the name \(GatewayConfiguration.FleetListener.peerName)."
                    + " Use an authority of its own for each fleet."),
            fixed("ADMIN_MAX_CONNECTIONS_PER_ADDRESS", at: "64"),
        ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Nil: the name has never been a setting.
    static func named(_ name: String) -> RemovedSetting? { byName[name] }
}
