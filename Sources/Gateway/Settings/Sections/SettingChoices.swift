package import AppAttest

/// WS_COMPRESSION_CONTEXT
package enum CompressionContext: String, CaseIterable, Sendable {
    case both, server, client, none
}

/// REQUIRE_APP_AUTH
package enum AppAuthMode: String, CaseIterable, Sendable {
    case required = "true"
    case off = "false"
    case report
}

/// AUTH_MODE
package enum AuthMode: String, CaseIterable, Sendable {
    case none
    case sharedSecret = "shared-secret"
}

/// INBOUND_TLS_MODE
package enum InboundTLSMode: String, CaseIterable, Sendable {
    case required, off
}

/// TLS_MIN_VERSION
package enum TLSMinimumVersion: String, CaseIterable, Sendable {
    case tls12 = "1.2"
    case tls13 = "1.3"
}

/// LOG_FORMAT
package enum LogFormat: String, CaseIterable, Sendable {
    case text, json
}

/// APPATTEST_ENVIRONMENT
package enum AppAttestEnvironment: String, CaseIterable, Sendable {
    case production, development, any

    package var environments: Set<AttestationEnvironment> {
        switch self {
        case .production: [.production]
        case .development: [.development, .sandbox]
        case .any: Set(AttestationEnvironment.allCases)
        }
    }
}
