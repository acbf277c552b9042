/// A gateway configured by a benchmark.
struct GatewayInstance: Sendable {
    enum Kind: String, Sendable {
        /// No credentials are required and no rates are counted.
        case open
        /// Like `open`, but every rate is counted, with limits that are never reached.
        case limited
        /// App Attest with the benchmark's own root.
        case gated
        /// Like `gated`, and players have accounts.
        case accounts
        /// Like `open`, for idle sessions.
        case crowded
    }

    let kind: Kind
    let reactors: Int

    /// - Parameter targetPort: the port of the echo target.
    func environment(_ settings: BenchSettings, port: UInt16, targetPort: UInt16) -> [String: String] {
        var environment = [
            "WS_PORT": "\(port)", "REACTOR_THREADS": "\(reactors)", "TN_HOST": "127.0.0.1", "TN_PORT": "\(targetPort)",
            "TLS_CERT_PATH": "\(settings.certificates)/server.crt",
            "TLS_KEY_PATH": "\(settings.certificates)/server.key",
            "LOG_LEVEL": "warning", "REQUIRE_APP_AUTH": [.gated, .accounts].contains(kind) ? "true" : "false",
            "APPATTEST_TEAM_ID": "ABCDE12345", "APPATTEST_BUNDLE_ID": "com.example.mud",
            "APPATTEST_ROOT_CA_PATH": "\(settings.folder)/root.pem", "APPATTEST_ALLOW_CUSTOM_ROOT": "true",
            "ATTESTED_KEYS_PATH": "\(settings.folder)/keys-\(port).sqlite",
            // The load has few addresses and many clients.
            "MAX_SESSIONS_PER_IP": "1000000", "MAX_SESSIONS_PER_DEVICE": "10000", "MAX_CONNECTIONS": "18000",
            "MAX_SESSIONS_GLOBAL": "18000", "MAX_CONNECTIONS_PER_ADDRESS": "1000000",
            "TLS_HANDSHAKES_PER_SECOND": "1000000", "TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS": "1000000",
            "CHALLENGES_PER_MINUTE": "1000000", "MAX_SPENT_PROOFS": "1000000",
        ]
        if kind == .accounts {
            environment["PUBLIC_ORIGIN"] = "https://localhost:\(port)"
            environment["PASSKEY_RP_ID"] = "localhost"
        }
        if kind == .limited { environment["DEFAULT_DIALECT"] = "typed" }
        for rate in Self.rates { environment[rate] = kind == .limited ? "1000000000" : "0" }
        return environment
    }

    /// Settings that earlier builds have besides.
    static let former = [
        "REGISTRATIONS_PER_MINUTE": "1000000", "TOKENS_PER_MINUTE": "1000000", "MAX_SPENT_CHALLENGES": "1000000",
    ]

    private static let rates = [
        "REQUESTS_PER_SECOND_PER_ADDRESS", "MESSAGES_PER_SECOND", "MESSAGES_PER_SECOND_PER_IP",
        "CLIENT_BYTES_PER_SECOND", "TARGET_BYTES_PER_SECOND",
    ]
}
