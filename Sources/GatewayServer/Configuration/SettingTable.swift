import Admission
import AppAttest
import Logging
import Observability
import Reactors
import RelayCore
import Telnet

/// Every setting of the gateway, one row each: name, section, default, unit and range, meaning.
///
/// Names are stable. A row that is added here has to be read in `ConfigurationLoading`, described in
/// `config/portcullis.env.example` and listed in `docs/CONFIGURATION.md`; tests say so when it isn't.
enum SettingTable {
    // MARK: Listening

    static let bindHost = Setting<NetworkHost>.text(
        "BIND_HOST", .listener, default: .loopback, "127.0.0.1", "an IP address",
        "The local address to listen on; `0.0.0.0` or `::` is every one.", SettingGrammar.address)
    static let port = Setting<Int>.integer(
        "WS_PORT", .listener, default: 6200, 0...65_535, "port",
        "The port for HTTPS and WebSocket; `0` takes any free one.")

    // MARK: The service behind the gateway

    static let targetHost = Setting<NetworkHost?>.text(
        "TN_HOST", .target, default: nil, "", "a host name or IP address",
        "The host of the service that admitted clients reach.", SettingGrammar.host
    ).required()
    static let targetPort = Setting<Int?>.optionalInteger(
        "TN_PORT", .target, 1...65_535, "port", "The TCP port of that service."
    ).required()
    static let dialTimeout = Setting<Int>.integer(
        "MUD_DIAL_TIMEOUT_MS", .target, default: 10_000, 100...120_000, "ms",
        "How long connecting to it may take.")
    static let targetMode = Setting<TargetMode>.choice(
        "TARGET_MODE", .target, default: .fixed,
        "Where clients that name a target may go: nowhere else, to listed targets, or to any public address.")
    static let targetAllowlist = Setting<[TargetEndpoint]>.text(
        "TARGET_ALLOWLIST", .target, default: [], "", "`host:port`, comma-separated",
        "The targets of `TARGET_MODE=allowlist`.", SettingGrammar.endpoints)
    static let targetPorts = Setting<[ClosedRange<UInt16>]>.text(
        "TARGET_PORTS", .target, default: [], "", "ports and ranges of them, comma-separated",
        "The ports that `TARGET_MODE=arbitrary` allows.", SettingGrammar.ports)
    static let routes = Setting<[Route]>.text(
        "MUD_ROUTES", .target, default: [], "", "`name=host:port[,option…]`, separated by `;`",
        "Further targets, chosen by the path `/mud/<name>`, the query `target` or the dialect's own field.",
        SettingGrammar.routes)
    static let targetTLSMode = Setting<TargetTLSMode>.choice(
        "MUD_TLS_MODE", .target, default: .plain, "Whether the target is reached over TLS.")
    static let targetCAPath = Setting<String?>.text(
        "MUD_CA_PATH", .target, default: nil, "", "a PEM file",
        "The authorities of the target's certificate, in place of the system's.", SettingGrammar.path)
    static let targetPins = Setting<[PublicKeyPin]>.text(
        "MUD_TLS_PIN", .target, default: [], "", "SHA-256 in base64, comma-separated",
        "Public keys (SPKI) of the target's certificate that are trusted, whoever signed it; in place of `MUD_CA_PATH`.",
        SettingGrammar.pins)
    static let proxyProtocol = Setting<TargetProxyHeader>.choice(
        "PROXY_PROTOCOL", .target, default: .off, "Whether the target is told the client's address by a PROXY header.")
    static let targetKeepAlive = Setting<Int>.integer(
        "MUD_KEEPALIVE_SECONDS", .target, default: 0, 0...86_400, "s",
        "How long nothing may be sent to the target before a telnet NOP is; `0` is never.")

    // MARK: Telnet

    static let encoding = Setting<TextEncoding>.text(
        "TN_ENCODING", .telnet, default: .utf8, "utf8", "an encoding's name",
        "The target's text encoding, where it doesn't negotiate one.", SettingGrammar.encoding)
    static let mxp = Setting<MXPMode>.choice(
        "MXP_MODE", .telnet, default: .refuse, "What becomes of MXP: passed on, accepted and stripped, or refused.")
    static let maximumSubnegotiationBytes = Setting<Int>.integer(
        "MAX_SUBNEGOTIATION_BYTES", .telnet, default: 65_536, 256...1_048_576, "bytes",
        "A telnet subnegotiation of the target; a longer one is dropped.")
    static let maximumCompressionRatio = Setting<Int>.integer(
        "MAX_COMPRESSION_RATIO", .telnet, default: 100, 2...1_032, "to 1",
        "How much more than it received a compressed stream (MCCP2) may become; beyond it the session ends.")
    static let inflatedBytesPerSecond = Setting<Int>.integer(
        "MAX_INFLATED_BYTES_PER_SECOND", .telnet, default: 4_194_304, 65_536...1_073_741_824, "bytes a second",
        "How fast a compressed stream may grow; beyond it the session ends.")

    // MARK: Client dialects

    static let defaultDialect = Setting<DialectChoice>.choice(
        "DEFAULT_DIALECT", .dialects, default: .auto,
        "The dialect of clients that offer no subprotocol; `auto` judges by their first message.")
    static let dialectWait = Setting<Int>.integer(
        "DIALECT_WAIT_MS", .dialects, default: 1500, 0...60_000, "ms",
        "How long `auto` waits for the first message; after that the connection is raw.")
    static let connectWait = Setting<Int>.integer(
        "CONNECT_WAIT_SECONDS", .dialects, default: 60, 1...3600, "s",
        "How long a client whose dialect names the target may take to name one that is reached.")

    // MARK: TLS toward clients

    static let inboundTLSMode = Setting<InboundTLSMode>.choice(
        "INBOUND_TLS_MODE", .tls, default: .required, "Whether clients must speak TLS.")
    static let allowInsecureInbound = Setting<Bool>.boolean(
        "ALLOW_INSECURE_INBOUND_NO_TLS", .tls, default: false,
        "Allows `INBOUND_TLS_MODE=off` on an address that other machines can reach.")
    static let certificatePath = Setting<String?>.text(
        "TLS_CERT_PATH", .tls, default: nil, "", "a PEM file",
        "The server's certificate, followed by its intermediates.", SettingGrammar.path)
    static let keyPath = Setting<String?>.text(
        "TLS_KEY_PATH", .tls, default: nil, "", "a PEM file",
        "The private key of that certificate, without a passphrase.", SettingGrammar.path)
    static let handshakeTimeout = Setting<Int>.integer(
        "TLS_HANDSHAKE_TIMEOUT_MS", .tls, default: 10_000, 100...120_000, "ms",
        "How long a client's TLS handshake may take.")

    // MARK: Who is admitted

    static let requireAppAuth = Setting<Bool>.boolean(
        "REQUIRE_APP_AUTH", .admission, default: true,
        "Whether a client without credentials is refused; with `false` it enters as anonymous.")
    static let authMode = Setting<AuthMode>.choice(
        "AUTH_MODE", .admission, default: .none,
        "Whether every client has to show a shared secret, besides whatever else.")
    static let sharedSecretsPath = Setting<String?>.text(
        "SHARED_SECRETS_PATH", .admission, default: nil, "", "a file",
        "The secrets of `AUTH_MODE=shared-secret`, one `name sha256:<hex>` a line.", SettingGrammar.path)
    static let blockListPath = Setting<String?>.text(
        "BLOCK_LIST_PATH", .admission, default: nil, "", "a file",
        "Addresses, keys and certificates that are never admitted, one a line.", SettingGrammar.path)
    static let allowedOrigins = Setting<[String]>.text(
        "ALLOWED_ORIGINS", .admission, default: [], "", "origins, comma-separated",
        "Origins of web pages that may connect besides the gateway's own.", SettingGrammar.origins)
    static let allowMissingOrigin = Setting<Bool>.boolean(
        "ALLOW_MISSING_ORIGIN", .admission, default: true,
        "Whether clients that send no `Origin`, as apps do, may connect.")

    // MARK: App Attest

    static let teamID = Setting<String?>.text(
        "APPATTEST_TEAM_ID", .appAttest, default: nil, "", "ten of A–Z and 0–9",
        "The Apple developer team of the apps in `APPATTEST_BUNDLE_ID`.", SettingGrammar.teamID)
    static let bundleIDs = Setting<[String]>.text(
        "APPATTEST_BUNDLE_ID", .appAttest, default: [], "", "bundle identifiers, comma-separated",
        "The apps of that team that may register.", SettingGrammar.bundleIDs)
    static let appIDs = Setting<[AppID]>.text(
        "APPATTEST_APP_IDS", .appAttest, default: [], "", "`TEAMID.bundle.id`, comma-separated",
        "Further apps, each with its team.", SettingGrammar.appIDs)
    static let appAttestEnvironment = Setting<AppAttestEnvironment>.choice(
        "APPATTEST_ENVIRONMENT", .appAttest, default: .production,
        "Where keys may have been attested; `development` includes Apple's sandbox.")
    static let rootPath = Setting<String?>.text(
        "APPATTEST_ROOT_CA_PATH", .appAttest, default: nil, "", "a PEM file with one certificate",
        "A trust root in place of Apple's.", SettingGrammar.path)
    static let allowCustomRoot = Setting<Bool>.boolean(
        "APPATTEST_ALLOW_CUSTOM_ROOT", .appAttest, default: false, "Allows `APPATTEST_ROOT_CA_PATH`.")
    static let validationCategories = Setting<Set<UInt32>?>.text(
        "APPATTEST_VALIDATION_CATEGORIES", .appAttest, default: nil, "", "numbers, comma-separated",
        "The validation categories that an attestation and an assertion must carry; unset, they aren't checked.",
        SettingGrammar.categories)

    // MARK: Client certificates

    static let clientCAPath = Setting<String?>.text(
        "MTLS_CLIENT_CA_PATH", .clientCertificates, default: nil, "", "a PEM file",
        "The authorities whose client certificates admit debug clients.", SettingGrammar.path)
    static let clientCRLPath = Setting<String?>.text(
        "MTLS_CLIENT_CRL_PATH", .clientCertificates, default: nil, "", "a PEM file",
        "Revocation lists of those authorities.", SettingGrammar.path)

    // MARK: Registered keys

    static let keysPath = Setting<String>.text(
        "ATTESTED_KEYS_PATH", .keyStore, default: "config/attested-keys.sqlite", "config/attested-keys.sqlite",
        "a file", "The database of registered keys; created with mode 0600 when it is missing.",
        SettingGrammar.requiredPath)
    static let storeBusy = Setting<Int>.integer(
        "STORE_BUSY_MS", .keyStore, default: 50, 1...1000, "ms",
        "How long an upgrade waits for a database that another process has locked.")

    // MARK: Tickets and the web client

    static let ticketLifetime = Setting<Int>.integer(
        "TICKET_TTL_SECONDS", .tickets, default: 30, 1...3600, "s",
        "How long a ticket from `POST /ticket` can be used.")
    static let maximumTickets = Setting<Int>.integer(
        "MAX_TICKETS", .tickets, default: 10_000, 1...1_000_000, "tickets",
        "Unused tickets at once; beyond that, requests for one are answered 503.")
    static let controlSocketPath = Setting<String?>.text(
        "CONTROL_SOCKET_PATH", .tickets, default: nil, "", "a file",
        "The Unix socket (0600) on which `portcullis ticket` reaches the running gateway; unset, there is none.",
        SettingGrammar.path)
    static let enableWebClient = Setting<Bool>.boolean(
        "ENABLE_WEB_CLIENT", .tickets, default: false, "Whether `GET /` serves the web client.")
    static let publicOrigin = Setting<String?>.text(
        "PUBLIC_ORIGIN", .tickets, default: nil, "", "an origin",
        "Where browsers find the gateway, for the address that `portcullis ticket` prints.", SettingGrammar.webOrigin)

    // MARK: Proxies in front

    static let trustedProxies = Setting<[AddressRange]>.text(
        "TRUSTED_PROXY_CIDRS", .proxies, default: [], "", "addresses or `address/bits`, comma-separated",
        "Proxies whose word about the client's address counts.", SettingGrammar.addressRanges)
    static let trustedProxyHeader = Setting<TrustedProxies.Header>.choice(
        "TRUSTED_PROXY_HEADER", .proxies, default: .xForwardedFor, ignoresCase: true,
        "The header in which those proxies name the client.")
    static let inboundProxyProtocol = Setting<Bool>.boolean(
        "INBOUND_PROXY_PROTOCOL", .proxies, default: false,
        "Whether those proxies begin each connection with a PROXY header.")

    // MARK: Limits of the gate

    static let requestsPerSecond = Setting<Int?>.limit(
        "REQUESTS_PER_SECOND_PER_ADDRESS", .limits, default: RequestLimits.defaultRequestsPerSecond, "a second",
        "Requests and upgrades of one address (IPv6: one /64), counted over four seconds; `0` is no limit.")
    static let challengeLifetime = Setting<Int>.integer(
        "CHALLENGE_TTL_SECONDS", .limits, default: 60, 5...600, "s", "How long a challenge can be used.")
    static let maximumSpentChallenges = Setting<Int>.integer(
        "MAX_SPENT_CHALLENGES", .limits, default: 100_000, 1...10_000_000, "challenges",
        "Used challenges that are remembered until they expire; beyond that, new uses are answered 503.")
    static let challengesPerMinute = Setting<Int>.integer(
        "CHALLENGES_PER_MINUTE", .limits, default: 600, 1...1_000_000, "a minute",
        "Challenges that one address (IPv6: one /64) is given.")
    static let registrationsPerMinute = Setting<Int>.integer(
        "REGISTRATIONS_PER_MINUTE", .limits, default: 60, 1...1_000_000, "a minute",
        "Registrations that one address may try.")
    static let failedUpgradesPerMinute = Setting<Int>.integer(
        "FAILED_UPGRADES_PER_MINUTE", .limits, default: 10, 1...1_000_000, "a minute",
        "Failed upgrades of one address before further ones are answered 429.")
    static let verificationsPerSecond = Setting<Int>.integer(
        "VERIFICATIONS_PER_SECOND", .limits, default: 20, 1...100_000, "a second",
        "Credentials that are still verified for an address above that limit.")
    static let maximumLimiterEntries = Setting<Int>.integer(
        "MAX_LIMITER_ENTRIES", .limits, default: 65_536, 16...10_000_000, "addresses",
        "Addresses that each limiter tells apart; further ones share one allowance.")

    // MARK: Connections and HTTP

    static let maximumConnections = Setting<Int?>.optionalInteger(
        "MAX_CONNECTIONS", .connections, default: "0", 0...10_000_000, "connections",
        "Open connections in total; `0` derives it from the limit of open files.")
    static let maximumConnectionsPerAddress = Setting<Int>.integer(
        "MAX_CONNECTIONS_PER_ADDRESS", .connections, default: 256, 1...1_000_000, "connections",
        "Open connections of one address.")
    static let handshakesPerSecond = Setting<Int>.integer(
        "TLS_HANDSHAKES_PER_SECOND", .connections, default: HandshakeRates.defaultPerSecond, 1...1_000_000,
        "handshakes/s",
        "TLS handshakes that begin in a second, over all addresses; above it they wait, address by address. A quarter as many may compute a key exchange after a HelloRetryRequest, or TLS 1.2 with P-384."
    )
    static let handshakesPerSecondPerAddress = Setting<Int>.integer(
        "TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS", .connections, default: HandshakeRates.defaultPerSecondPerAddress,
        1...1_000_000, "handshakes/s",
        "TLS handshakes of one address, with ten seconds' worth at once; above it connections are closed.")
    static let keepAlive = Setting<Int>.integer(
        "HTTP_KEEPALIVE_SECONDS", .connections, default: 75, 1...3600, "s",
        "How long an idle HTTP connection stays open.")
    static let headerTimeout = Setting<Int>.integer(
        "HTTP_HEADER_TIMEOUT_MS", .connections, default: 10_000, 100...120_000, "ms",
        "How long a request's header may take to arrive.")
    static let bodyTimeout = Setting<Int>.integer(
        "HTTP_BODY_TIMEOUT_MS", .connections, default: 10_000, 100...120_000, "ms",
        "How long a request's body may take to arrive.")
    static let upgradeTimeout = Setting<Int>.integer(
        "UPGRADE_TIMEOUT_MS", .connections, default: 10_000, 100...120_000, "ms",
        "How long the decision about an upgrade may take; then the answer is 503.")
    static let maximumHeaderBytes = Setting<Int>.integer(
        "MAX_HEADER_BYTES", .connections, default: 16_384, 4096...65_535, "bytes",
        "All header fields of a request together.")
    static let maximumBodyBytes = Setting<Int>.integer(
        "MAX_BODY_BYTES", .connections, default: 65_536, 16_384...16_777_216, "bytes",
        "A request's body; above it the answer is 413.")

    // MARK: Sessions

    static let maximumSessions = Setting<Int?>.optionalInteger(
        "MAX_SESSIONS_GLOBAL", .session, default: "0", 0...10_000_000, "sessions",
        "Open sessions in total; `0` derives it from the limit of open files.")
    static let maximumSessionsPerDevice = Setting<Int>.integer(
        "MAX_SESSIONS_PER_DEVICE", .session, default: 5, 1...10_000, "sessions",
        "Sessions of one verified identity, detached ones included; the oldest detached one makes room.")
    static let maximumSessionsPerAddress = Setting<Int>.integer(
        "MAX_SESSIONS_PER_IP", .session, default: 10, 1...1_000_000, "sessions",
        "Sessions of one address, detached ones included.")
    static let maximumMessageBytes = Setting<Int>.integer(
        "MAX_MESSAGE_BYTES", .session, default: 65_536, 125...16_777_216, "bytes",
        "What one message of a client may carry: see [DIALECTS.md](DIALECTS.md#how-large-a-message-may-be).")
    static let pingInterval = Setting<Int>.integer(
        "PING_INTERVAL_SECONDS", .session, default: 30, 1...3600, "s", "How often a client is pinged.")
    static let peerSilence = Setting<Int>.integer(
        "PEER_SILENCE_SECONDS", .session, default: 90, 2...86_400, "s",
        "How long a client may send nothing at all before it is dropped.")
    static let clientBufferBytes = Setting<Int>.integer(
        "CLIENT_BUFFER_BYTES", .session, default: 65_536, 4096...67_108_864, "bytes",
        "Bytes waiting for a slow client above which the target isn't read.")
    static let targetBufferBytes = Setting<Int>.integer(
        "TARGET_BUFFER_BYTES", .session, default: 65_536, 4096...67_108_864, "bytes",
        "Bytes waiting for a slow target above which the client isn't read.")
    static let closeFlush = Setting<Int>.integer(
        "CLOSE_FLUSH_MS", .session, default: 5000, 0...600_000, "ms",
        "How long queued bytes are still delivered after one side has ended.")

    // MARK: Compression toward clients

    static let compression = Setting<ClientCompression>.choice(
        "WS_COMPRESSION", .compression, default: .off,
        "Whether WebSocket messages may be compressed (permessage-deflate), where the client offers it and the route says nothing else."
    )
    static let compressionWindowBits = Setting<Int>.integer(
        "WS_COMPRESSION_WINDOW_BITS", .compression, default: 12, 9...15, "bits",
        "The largest window of either side: 2 to the power of so many bytes.")
    static let compressionContext = Setting<CompressionContext>.choice(
        "WS_COMPRESSION_CONTEXT", .compression, default: .both,
        "Which side's messages may refer to earlier ones of the same connection (context takeover).")
    static let compressionMinimumBytes = Setting<Int>.integer(
        "WS_COMPRESSION_MIN_BYTES", .compression, default: 64, 0...65_536, "bytes",
        "Messages to clients that are shorter are sent uncompressed.")
    static let compressionLevel = Setting<Int>.integer(
        "WS_COMPRESSION_LEVEL", .compression, default: 6, 1...9, "zlib's levels",
        "How hard the gateway tries: `1` is fastest, `9` smallest.")
    static let compressionSessionBytes = Setting<Int>.integer(
        "WS_COMPRESSION_SESSION_BYTES", .compression, default: 98_304, 8192...1_048_576, "bytes",
        "Memory for the windows of one session; its windows become smaller until they fit.")
    static let compressionTotalBytes = Setting<Int>.integer(
        "WS_COMPRESSION_TOTAL_BYTES", .compression, default: 67_108_864, 8192...1_099_511_627_776, "bytes",
        "Memory for the windows of all sessions; where little is left newcomers get smaller windows, then none.")

    // MARK: Resuming a session

    static let resumeGrace = Setting<Int>.integer(
        "RESUME_GRACE_MINUTES", .resume, default: 45, 0...1440, "min",
        "How long a session waits for its client to come back; `0`: it ends with its WebSocket.")
    static let sessionTimeout = Setting<Int>.integer(
        "SESSION_TIMEOUT_HOURS", .resume, default: 24, 1...720, "h",
        "How old a session may become and still be resumed.")
    static let outputBufferBytes = Setting<Int>.integer(
        "OUTPUT_BUFFER_BYTES", .resume, default: 51_200, 1024...16_777_216, "bytes",
        "Output that each session keeps for a client that comes back.")
    static let slowClient = Setting<Int>.integer(
        "SLOW_CLIENT_SECONDS", .resume, default: 30, 1...3600, "s",
        "How long a client may leave its output unread before it is detached.")
    static let sessionEvents = Setting<Bool>.boolean(
        "SESSION_EVENTS_GMCP", .resume, default: false,
        "Whether the target is told by GMCP when a client is lost and when it is back.")

    // MARK: Rates of a session

    static let messagesPerSecond = Setting<Int?>.limit(
        "MESSAGES_PER_SECOND", .traffic, default: 60, "a second",
        "Messages of one connection, which is read no faster; `0` is no limit.")
    static let messagesPerSecondPerAddress = Setting<Int?>.limit(
        "MESSAGES_PER_SECOND_PER_IP", .traffic, default: 240, "a second",
        "Messages of all connections of one address, which share it fairly; `0` is no limit.")
    static let clientBytesPerSecond = Setting<Int?>.limit(
        "CLIENT_BYTES_PER_SECOND", .traffic, default: 262_144, "bytes a second",
        "How fast one client is read; `0` is no limit.")
    static let targetBytesPerSecond = Setting<Int?>.limit(
        "TARGET_BYTES_PER_SECOND", .traffic, default: 4_194_304, "bytes a second",
        "How fast the target is read for one client; `0` is no limit.")

    // MARK: Threads and shutdown

    static let reactorThreads = Setting<Int?>.optionalInteger(
        "REACTOR_THREADS", .process, default: "0", 0...1024, "threads", "Network threads; `0` is one a core.")
    static let shutdownGrace = Setting<Int>.integer(
        "SHUTDOWN_GRACE_MS", .process, default: 3000, 0...600_000, "ms",
        "How long live sessions go on after SIGTERM.")
    static let shutdownDeadline = Setting<Int>.integer(
        "SHUTDOWN_DEADLINE_MS", .process, default: 15_000, 100...3_600_000, "ms",
        "When the process ends after SIGTERM, finished or not.")
    static let drainReconnect = Setting<Int>.integer(
        "DRAIN_RECONNECT_MS", .process, default: 5000, 0...3_600_000, "ms",
        "After how long clients are told to come back when the gateway shuts down, and up to as much again by chance.")

    // MARK: Logs

    static let logLevel = Setting<Logger.Level>.choice(
        "LOG_LEVEL", .logging, default: .info, "The least level that is logged.")
    static let logFormat = Setting<LogFormat>.choice(
        "LOG_FORMAT", .logging, default: .text, "How log lines look on standard error.")
    static let auditLogPath = Setting<String?>.text(
        "AUDIT_LOG_PATH", .logging, default: nil, "", "a file",
        "Where the gate's decisions are appended; unset, to standard output.", SettingGrammar.path)
    static let auditRefusals = Setting<Int>.integer(
        "AUDIT_REFUSALS_PER_MINUTE", .logging, default: RefusalDigest.defaultLinesPerPeriod, 2...1_000_000,
        "lines a minute", "Lines about refusals in the audit log; further ones are counted, by address and reason.")
    static let auditFull = Setting<AuditFull>.choice(
        "AUDIT_FULL", .logging, default: .refuse,
        "What becomes of those who would be admitted while the audit log can't be written.")
}
