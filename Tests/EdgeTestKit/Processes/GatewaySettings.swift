import AppAttest

/// The environment of a gateway under test.
///
/// The defaults are those of a quiet loopback gateway without TLS; each test adds its own settings.
package struct GatewaySettings: Sendable {
    package var values: [String: String]

    /// A plain-text gateway on a free port of 127.0.0.1 that relays to `targetPort` and admits every client.
    package init(targetPort: Int) {
        values = [
            "WS_PORT": "0", "BIND_HOST": "127.0.0.1", "TN_HOST": "127.0.0.1", "TN_PORT": "\(targetPort)",
            "INBOUND_TLS_MODE": "off", "REQUIRE_APP_AUTH": "false", "REACTOR_THREADS": "2",
            // No other process needs to notice the shutdown.
            "SHUTDOWN_GRACE_MS": "0",
            // All clients of a test come from one address, and some send fast.
            "MAX_SESSIONS_PER_IP": "100000", "TLS_HANDSHAKES_PER_SECOND": "100000",
            "TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS": "100000", "REQUESTS_PER_SECOND_PER_ADDRESS": "0",
            "MESSAGES_PER_SECOND": "0", "MESSAGES_PER_SECOND_PER_IP": "0", "CLIENT_BYTES_PER_SECOND": "0",
            "TARGET_BYTES_PER_SECOND": "0",
        ]
    }

    package subscript(name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }

    package func setting(_ name: String, _ value: some CustomStringConvertible) -> GatewaySettings {
        var changed = self
        changed[name] = "\(value)"
        return changed
    }

    package func removing(_ name: String) -> GatewaySettings {
        var changed = self
        changed[name] = nil
        return changed
    }

    /// With TLS, and the test CA's certificate for localhost.
    package func tls(_ certificates: DevCertificates) -> GatewaySettings {
        setting("INBOUND_TLS_MODE", "required")
            .setting("TLS_CERT_PATH", certificates.server.certificate)
            .setting("TLS_KEY_PATH", certificates.server.key)
    }

    /// With the guide's client CA as the only trusted client CA.
    package func clientCA(_ certificates: DevCertificates) -> GatewaySettings {
        setting("MTLS_CLIENT_CA_PATH", certificates.clientCA)
    }

    /// With App Attest required, for devices of the simulated Apple.
    package func appAttest(_ apple: SimulatedApple) -> GatewaySettings {
        setting("REQUIRE_APP_AUTH", "true")
            .setting("APPATTEST_TEAM_ID", apple.app.teamID)
            .setting("APPATTEST_BUNDLE_ID", apple.app.bundleID)
            .setting("APPATTEST_ROOT_CA_PATH", apple.rootPath)
            .setting("APPATTEST_ALLOW_CUSTOM_ROOT", "true")
    }
}
