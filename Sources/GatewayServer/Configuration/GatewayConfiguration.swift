package import Admission
package import AppAttest
package import Logging
package import Observability
package import RelayCore

/// Everything that an operator can decide about the gateway, checked. Only loading makes one: whoever holds a
/// configuration holds one whose parts fit together and whose files could be read.
///
/// Times are whole numbers with their unit in the name; sizes are bytes. It is a value: changing the environment or
/// a file later changes nothing here. The settings behind each property are in `SettingTable`.
package struct GatewayConfiguration: Sendable, Equatable {
    package let listener: Listener
    package let target: Target
    package let telnet: TelnetOptions
    package let dialects: Dialects
    package let gate: Gate
    /// Nil where no app is configured: `/attest/…` is then answered 404.
    package let appAttest: Attestation?
    /// Nil where client certificates admit nobody.
    package let clientCertificates: ClientCertificates?
    package let keyStore: KeyStorage
    package let tickets: Tickets
    package let proxies: Proxies
    package let limits: Limits
    package let connections: Connections
    package let session: Session
    package let compression: Compression
    package let resume: Resume
    package let traffic: Traffic
    package let process: Process
    package let logs: Logs

    package struct Listener: Sendable, Equatable {
        package let host: NetworkHost
        /// 0 takes any free port.
        package let port: Int
        /// Nil means plain text.
        package let tls: TLS?
    }

    package struct TLS: Sendable, Equatable {
        /// PEM: the leaf, then its intermediates. Parsed, and known to belong to the key.
        package let certificatePath: String
        /// PEM, not encrypted.
        package let keyPath: String
        package let handshakeTimeoutMilliseconds: Int
    }

    package struct Gate: Sendable, Equatable {
        /// False lets clients without credentials in as anonymous.
        package let requiresCredentials: Bool
        /// As browsers send them, compared as text.
        package let allowedOrigins: [String]
        /// False refuses clients without an `Origin`.
        package let allowsMissingOrigin: Bool
        /// One of them is demanded besides everything else. Nil: AUTH_MODE is none.
        package let sharedSecrets: SharedSecrets?
        /// Empty where BLOCK_LIST_PATH isn't set.
        package let blockList: BlockList
    }

    package struct Attestation: Sendable, Equatable {
        /// At least one, each once.
        package let apps: [AppID]
        package let environments: Set<AttestationEnvironment>
        /// Nil: not checked. Never empty.
        package let validationCategories: Set<UInt32>?
        /// Nil: Apple's.
        package let customRoot: CustomRoot?
    }

    /// A trust root in place of Apple's: anybody who holds its key can register.
    package struct CustomRoot: Sendable, Equatable {
        package let path: String
        /// One certificate, as it was read.
        package let pem: String
    }

    package struct ClientCertificates: Sendable, Equatable {
        /// PEM with at least one certificate.
        package let authorityPath: String
        /// PEM with at least one list, all of them by an authority of `authorityPath`.
        package let revocationListPath: String?
    }

    package struct KeyStorage: Sendable, Equatable {
        package let path: String
        package let busyMilliseconds: Int
    }
}

extension GatewayConfiguration {
    /// What one address (IPv6: one /64) may ask of the gate.
    package struct Limits: Sendable, Equatable {
        /// Requests of every kind. Nil: no limit.
        package let requestsPerSecond: Int?
        package let challengeLifetimeSeconds: Int
        package let maximumSpentChallenges: Int
        package let challengesPerMinute: Int
        package let registrationsPerMinute: Int
        package let failedUpgradesPerMinute: Int
        package let verificationsPerSecond: Int
        /// Of each limiter's table.
        package let maximumLimiterEntries: Int
    }

    package struct Connections: Sendable, Equatable {
        /// Nil: derived from the limit of open files.
        package let maximum: Int?
        package let maximumPerAddress: Int
        /// TLS handshakes that may begin in a second.
        package let handshakesPerSecond: Int
        package let handshakesPerSecondPerAddress: Int
        package let keepAliveSeconds: Int
        package let headerTimeoutMilliseconds: Int
        package let bodyTimeoutMilliseconds: Int
        package let upgradeTimeoutMilliseconds: Int
        package let maximumHeaderBytes: Int
        package let maximumBodyBytes: Int
    }

    package struct Session: Sendable, Equatable {
        /// Nil: derived from the limit of open files.
        package let maximumSessions: Int?
        /// Of one verified identity.
        package let maximumPerDevice: Int
        package let maximumPerAddress: Int
        package let maximumMessageBytes: Int
        package let pingIntervalSeconds: Int
        /// Longer than `pingIntervalSeconds`.
        package let peerSilenceSeconds: Int
        /// High-water mark toward the client.
        package let clientBufferBytes: Int
        /// High-water mark toward the target.
        package let targetBufferBytes: Int
        package let closeFlushMilliseconds: Int
    }

    /// permessage-deflate toward clients.
    package struct Compression: Sendable, Equatable {
        /// Where a route says nothing else.
        package let standard: ClientCompression
        package let windowBits: Int
        package let context: CompressionContext
        /// Of messages to clients.
        package let minimumBytes: Int
        /// zlib's.
        package let level: Int
        package let sessionBytes: Int
        package let totalBytes: Int
    }

    /// How a session outlives its WebSocket.
    package struct Resume: Sendable, Equatable {
        /// 0: no session can be resumed.
        package let graceMinutes: Int
        /// A session's whole life.
        package let sessionTimeoutHours: Int
        /// Of each session's history.
        package let outputBufferBytes: Int
        package let slowClientSeconds: Int
        /// SESSION_EVENTS_GMCP
        package let tellsTarget: Bool
    }

    /// What passes through a session in a second. Nil: no limit.
    package struct Traffic: Sendable, Equatable {
        package let messagesPerSecond: Int?
        package let messagesPerSecondPerAddress: Int?
        package let clientBytesPerSecond: Int?
        package let targetBytesPerSecond: Int?
    }

    package struct Process: Sendable, Equatable {
        /// Nil: one a core.
        package let reactorThreads: Int?
        package let shutdownGraceMilliseconds: Int
        /// Longer than `shutdownGraceMilliseconds`.
        package let shutdownDeadlineMilliseconds: Int
        /// What clients are told to wait at least; at most twice as long.
        package let drainReconnectMilliseconds: Int
    }

    package struct Logs: Sendable, Equatable {
        package let level: Logger.Level
        package let format: LogFormat
        /// Nil: standard output.
        package let auditLogPath: String?
        /// Lines about refusals, in full and summaries together.
        package let auditRefusalsPerMinute: Int
        package let auditFull: AuditFull
    }
}

/// WS_COMPRESSION_CONTEXT
package enum CompressionContext: String, CaseIterable, Sendable {
    case both, server, client, none
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

extension GatewayConfiguration: CustomStringConvertible {
    /// Where it listens, whom it serves and whom it admits. Never a secret, nor a file's content.
    package var description: String {
        let scheme = listener.tls == nil ? "ws" : "wss"
        let ways = [
            appAttest.map { "App Attest for \($0.apps.map(\.description).joined(separator: ", "))" },
            clientCertificates.map { _ in "client certificates" },
            tickets.controlSocketPath.map { _ in "operator's tickets" },
            gate.requiresCredentials ? nil : "anyone",
        ]
        let secret = gate.sharedSecrets == nil ? "" : ", each with a shared secret"
        return "\(scheme)://\(listener.host):\(listener.port) to \(target.host):\(target.port), admitting "
            + ways.compactMap { $0 }.joined(separator: ", ") + secret
    }
}
