package import PrometheusText

/// The type and the help text of each metric.
extension MetricName {
    package static let families = allCases.map { MetricFamily($0.rawValue, $0.kind, $0.help) }

    /// In seconds: from a look-up in memory to a peer that doesn't answer.
    private static let latency = MetricFamily.Kind.histogram(bounds: [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ])

    private var kind: MetricFamily.Kind {
        switch self {
        case .admissionSeconds, .targetDialSeconds, .storeSeconds: Self.latency
        case .challengesRemembered, .connectionsOpen, .handshakesWaiting, .sessionsOpen, .routeSessions,
            .storeWritable, .storeQueue, .registrationsPending, .auditLinesPending, .reactorLag,
            .certificateExpiry, .ready, .draining, .seriesDropped, .processResident, .processVirtual,
            .processStart, .processOpenFiles, .processMaximumFiles:
            .gauge
        case .buildInfo: .info
        case .gateDecisions, .authorizations, .registrations, .tokens, .signIns, .passkeyCounters, .refreshes,
            .requestsRefused,
            .internalRequestsRefused, .internalConnectionsRefused, .challengesIssued, .challengesSpent,
            .connectionsAccepted,
            .connectionsRefused, .handshakes, .sessionsOpened, .sessionsEnded, .resumes, .relays,
            .gatewayConnectionsRefused, .resumeGaps, .bytes, .frameBytes, .throttled, .targetDials, .storeFailures,
            .auditLinesLost, .reloads, .processCPU:
            .counter
        }
    }

    private var help: String {
        switch self {
        case .gateDecisions: "Decisions of the gate about upgrades, by admission method."
        case .admissionSeconds: "Time from an upgrade request to its answer."
        case .authorizations: "Answers to proxies that ask on /authz."
        case .registrations: "Registrations of devices."
        case .tokens: "Requests for access tokens."
        case .signIns: "Sign-ins of players with a passkey, or with a device of their account."
        case .passkeyCounters: "Passkeys refused because their counter has not risen: they may have been copied."
        case .refreshes: "Uses of refresh tokens."
        case .requestsRefused: "Requests that were refused before the gate, answered or not."
        case .internalRequestsRefused: "Requests to the internal listener without its token or a client certificate."
        case .internalConnectionsRefused: "Connections to the internal listener that were closed before a request."
        case .challengesIssued: "Challenges that clients were given."
        case .challengesSpent: "Challenges that were used."
        case .challengesRemembered:
            "Used challenges that are kept until they expire; the limit is MAX_SPENT_PROOFS."
        case .connectionsAccepted: "Accepted connections of clients."
        case .connectionsRefused: "Connections that were closed before TLS."
        case .connectionsOpen: "Open connections of clients."
        case .handshakes: "TLS handshakes of clients that ended."
        case .handshakesWaiting: "TLS handshakes that wait for a reactor."
        case .sessionsOpened: "Sessions that began."
        case .sessionsEnded: "Sessions that ended, by cause."
        case .sessionsOpen: "Sessions now, with or without a client."
        case .routeSessions: "Sessions that have a target now, by dialect and route."
        case .resumes: "Requests to resume a session."
        case .relays: "Upgrades that resume a session of another gateway of the fleet, and were passed on to it."
        case .gatewayConnectionsRefused: "Connections to the listener for other gateways that ended before a request."
        case .resumeGaps: "Resumed sessions whose client has missed messages that were no longer kept."
        case .bytes: "Bytes of messages between clients and targets, without frame headers and TLS."
        case .frameBytes:
            """
            Bytes of WebSocket frames, after compression and without TLS; counted at each ping and at the \
            end of a session.
            """
        case .throttled: "Pauses of reading a side that has sent faster than its limit."
        case .targetDials: "Attempts to connect to a target."
        case .targetDialSeconds: "Time until a target was connected, with TLS if it has any."
        case .storeSeconds: "Time of calls of the key store, with waits for its locks or the network."
        case .storeFailures: "Calls of the key store that failed."
        case .storeWritable: "1 if the last trial write to the key store succeeded, otherwise 0."
        case .storeQueue: "Calls that wait for a thread of the key store."
        case .registrationsPending: "Registrations and requests for tokens that are not answered yet."
        case .auditLinesLost: "Lines of the audit log that could not be written."
        case .auditLinesPending: "Lost lines that the audit log does not report yet; above 0 it can't be written."
        case .reactorLag: "The longest delay of a job on the reactor in the last minute."
        case .certificateExpiry: "When the first of these certificates or lists expires, in Unix time."
        case .reloads: "Reloads of the settings."
        case .ready: "1 if /readyz answers 200, otherwise 0."
        case .draining: "1 while the gateway shuts down, otherwise 0."
        case .seriesDropped: "Series that this answer leaves out because it would be too long."
        case .buildInfo: "The version of the gateway."
        case .processCPU: "User and system CPU time of the process."
        case .processResident: "Resident memory of the process."
        case .processVirtual: "Virtual memory of the process."
        case .processStart: "Start of the process, in Unix time."
        case .processOpenFiles: "Open file descriptors."
        case .processMaximumFiles: "The limit of open file descriptors."
        }
    }
}
