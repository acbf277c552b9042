/// A gateway as a benchmark sets it up.
struct GatewayInstance: Sendable {
    enum Kind: String, Sendable {
        /// Nobody has to show anything, and nothing is counted by rate.
        case open
        /// The same, and every rate counted, at figures that nobody reaches.
        case limited
        /// App Attest, by a root of the benchmark's own.
        case gated
        /// As `open`: for sessions that do nothing.
        case crowded
    }

    let kind: Kind
    let reactors: Int

    /// - Parameter targetPort: of the echo.
    func environment(_ settings: BenchSettings, port: UInt16, targetPort: UInt16) -> [String: String] {
        var environment = [
            "WS_PORT": "\(port)", "REACTOR_THREADS": "\(reactors)", "TN_HOST": "127.0.0.1", "TN_PORT": "\(targetPort)",
            "TLS_CERT_PATH": "\(settings.certificates)/server.crt",
            "TLS_KEY_PATH": "\(settings.certificates)/server.key",
            "LOG_LEVEL": "warning", "REQUIRE_APP_AUTH": kind == .gated ? "true" : "false",
            "APPATTEST_TEAM_ID": "ABCDE12345", "APPATTEST_BUNDLE_ID": "com.example.mud",
            "APPATTEST_ROOT_CA_PATH": "\(settings.folder)/root.pem", "APPATTEST_ALLOW_CUSTOM_ROOT": "true",
            "ATTESTED_KEYS_PATH": "\(settings.folder)/keys-\(port).sqlite",
            // The load has few addresses and many clients.
            "MAX_SESSIONS_PER_IP": "1000000", "MAX_SESSIONS_PER_DEVICE": "10000", "MAX_CONNECTIONS": "18000",
            "MAX_SESSIONS_GLOBAL": "18000", "MAX_CONNECTIONS_PER_ADDRESS": "1000000",
            "TLS_HANDSHAKES_PER_SECOND": "1000000", "TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS": "1000000",
            "CHALLENGES_PER_MINUTE": "1000000", "REGISTRATIONS_PER_MINUTE": "1000000",
            "MAX_SPENT_CHALLENGES": "1000000",
        ]
        if kind == .limited { environment["DEFAULT_DIALECT"] = "typed" }
        for rate in Self.rates { environment[rate] = kind == .limited ? "1000000000" : "0" }
        return environment
    }

    private static let rates = [
        "REQUESTS_PER_SECOND_PER_ADDRESS", "MESSAGES_PER_SECOND", "MESSAGES_PER_SECOND_PER_IP",
        "CLIENT_BYTES_PER_SECOND", "TARGET_BYTES_PER_SECOND",
    ]
}
