/// The allowed imports of each target, and which targets are pure. SwiftPM doesn't stop a target from importing what
/// its dependencies depend on; this table does. To let a target import more, add it here and write the reason beside
/// it.
struct ImportRow {
    let target: String
    /// A pure target does no I/O, reads no clock and no environment, and starts no thread. Package.swift builds it with
    /// strict memory safety as an error.
    let isPure: Bool
    let ours: Set<String>
    /// Packages and modules of the toolchain.
    let others: Set<String>
    let reason: String

    func allows(_ module: String) -> Bool { ours.contains(module) || others.contains(module) }
}

enum ImportTable {
    static let rows = [
        ImportRow(
            target: "WireText", isPure: true, ours: [], others: [],
            reason: "Text forms that several protocols share, below all other targets: the standard library is enough."),
        ImportRow(
            target: "StateCoding", isPure: true, ours: ["WireText"], others: [],
            reason: "Values to bytes and back, for the hand-over to another process; WireText judges UTF-8."),
        ImportRow(
            target: "RequestErrors", isPure: true, ours: [], others: [],
            reason: "What the errors of the libraries have in common: a part of both, so it needs nothing."),
        ImportRow(
            target: "CBOR", isPure: true, ours: [], others: [],
            reason: "Below the libraries that read what authenticators write: the standard library is enough."),
        ImportRow(
            target: "StrictJSON", isPure: true, ours: ["WireText"], others: [],
            reason: "The one reader of JSON, below all that reads it; WireText has the rules of UTF-8 and the writer."),
        ImportRow(
            target: "StrictDER", isPure: true, ours: [], others: ["X509", "SwiftASN1"],
            reason: "Reads certificates more strictly than X509 does, with its parser."),
        ImportRow(
            target: "AppAttest", isPure: true, ours: ["CBOR", "RequestErrors", "StrictDER"],
            others: ["Crypto", "X509", "SwiftASN1", "FoundationEssentials"],
            reason: """
                A library of its own for any Swift server, so of ours only the readers of CBOR and DER, and what its errors conform to; Date comes from FoundationEssentials.
                """),
        ImportRow(
            target: "DPoP", isPure: true, ours: ["RequestErrors", "StrictJSON", "WireText"],
            others: ["Crypto", "FoundationEssentials", "Synchronization"],
            reason: """
                A library of its own for any Swift server, so of ours only base64url, JSON texts, and what its errors conform to; Date comes from FoundationEssentials, and the replay store is \
                called from several threads, so it has a Mutex.
                """),
        ImportRow(
            target: "WebAuthn", isPure: true, ours: ["CBOR", "StrictDER", "StrictJSON"],
            others: ["Crypto", "CryptoExtras", "X509", "SwiftASN1", "FoundationEssentials"],
            reason: """
                A library of its own for any Swift server, so of ours only the readers of CBOR, DER and JSON; CryptoExtras has RSA, which swift-certificates \
                uses too. It has no Mutex, which systems before iOS 18 and macOS 15 lack.
                """),
        ImportRow(
            target: "Telnet", isPure: true, ours: ["WireText"], others: [],
            reason: "Bytes in, events out; WireText has the rules of UTF-8."),
        ImportRow(
            target: "RelayCore", isPure: true, ours: ["StrictJSON", "Telnet", "WireText"],
            others: ["DequeModule", "FoundationEssentials"],
            reason: "Knows the language of the inside; messages kept for a resume stand in a deque."),
        ImportRow(
            target: "ProxyProtocol", isPure: true, ours: ["WireText"], others: [],
            reason: "A header's bytes, which the edge reads and the engine writes: the standard library is enough."),
        ImportRow(
            target: "HTTPWire", isPure: true, ours: ["WireText"], others: [],
            reason: "Bytes of HTTP in, requests out, and responses back to bytes; WireText has digits and letters."),
        ImportRow(
            target: "WebSocketWire", isPure: true, ours: ["WireText"], others: ["Crypto"],
            reason: "WireText has base64 and UTF-8; Sec-WebSocket-Accept is a SHA-1."),
        ImportRow(
            target: "FleetWire", isPure: true, ours: ["WebSocketWire", "WireText"], others: [],
            reason: "Bytes between two gateways of a fleet: WebSocketWire has frames, WireText addresses."),
        ImportRow(
            target: "Compression", isPure: false, ours: ["CZlib", "Telnet", "WebSocketWire"], others: [],
            reason: """
                The only target that imports zlib. It depends on Telnet for `Decompressor`, and on WebSocketWire for `InflateEngine` and \
                `DeflateEngine`.
                """),
        ImportRow(
            target: "CharacterSets", isPure: false, ours: ["Telnet"], others: ["Glibc", "Synchronization"],
            reason: """
                The only target that calls iconv, which is a part of glibc. It depends on Telnet for `CharacterTables`; all reactors share \
                what it has read.
                """),
        ImportRow(
            target: "PrometheusText", isPure: true, ours: [], others: ["CoreMetrics", "Synchronization"],
            reason: """
                A backend of swift-metrics that is counted in from any thread, so it has atomics and a Mutex. The names of metrics are \
                Observability's.
                """),
        ImportRow(
            target: "KeyStore", isPure: true, ours: ["WireText"], others: ["Synchronization"],
            reason: "Key identifiers are base64; tickets that are kept in memory have a Mutex."),
        ImportRow(
            target: "BlockingWork", isPure: false, ours: [],
            others: ["Dispatch", "Foundation", "Glibc", "Synchronization"],
            reason: """
                Threads and their queue: Foundation starts and names them, Dispatch wakes them. Glibc brings files to the disk.
                """),
        ImportRow(
            target: "KeyStoreSQLite", isPure: false, ours: ["BlockingWork", "KeyStore"],
            others: ["GRDB", "GRDBSQLite", "FoundationEssentials", "Dispatch", "Glibc", "Synchronization"],
            reason: """
                The only target that knows SQLite; GRDBSQLite is its C interface, for limits that GRDB doesn't set; Glibc for file modes, Dispatch for waits with a \
                deadline.
                """),
        ImportRow(
            target: "PostgreSQL", isPure: false, ours: ["CLibpq"], others: ["Foundation", "Glibc", "Synchronization"],
            reason: """
                The only target that touches libpq; it knows statements and rows, and nothing of keys. Foundation starts and names threads, Glibc polls.
                """),
        ImportRow(
            target: "KeyStorePostgreSQL", isPure: false, ours: ["BlockingWork", "KeyStore", "PostgreSQL"],
            others: ["Crypto", "FoundationEssentials", "Synchronization"],
            reason: "The schema and its statements, without C; Crypto seals the secrets in the store."),
        ImportRow(
            target: "Admission", isPure: true,
            ours: ["WireText", "AppAttest", "DPoP", "RequestErrors", "KeyStore", "StateCoding", "StrictJSON"],
            others: ["Crypto", "X509", "DequeModule", "FoundationEssentials", "Synchronization"],
            reason:
                "Decides by calling the verifiers and the registry; spent challenges and limits are shared by the reactors."
        ),
        ImportRow(
            target: "Accounts", isPure: true,
            ours: ["Admission", "DPoP", "KeyStore", "StrictJSON", "WebAuthn", "WireText"], others: ["Crypto"],
            reason: """
                Decides about sign-ins and sign-ups with the verifier of passkeys and the gate's challenges, proofs and tokens; passkeys are found by a SHA-256.
                """),
        ImportRow(
            target: "Observability", isPure: false, ours: ["PrometheusText", "WireText"],
            others: [
                "Logging", "Metrics", "CoreMetrics", "Foundation", "FoundationEssentials", "Synchronization", "Glibc",
            ],
            reason:
                "Names and exporters that every room may use, so it knows none above it; WireText writes JSON, Glibc the audit log."
        ),
        ImportRow(
            target: "AuditTrail", isPure: true,
            ours: ["Admission", "Observability", "StrictJSON", "WireText"], others: [],
            reason: """
                Reads what Observability writes, so it takes the names and the escaping from there, the order of the checks from Admission, and \
                the reader of JSON from StrictJSON. Files are read by OperatorTools.
                """),
        ImportRow(
            target: "Reactors", isPure: false,
            ours: [
                "CLibwebsockets", "COpenSSL", "CLibuv", "Compression", "ProxyProtocol", "HTTPWire", "FleetWire",
                "WebSocketWire",
                "WireText",
            ],
            others: ["Logging", "DequeModule", "Glibc", "Dispatch", "Synchronization", "FoundationEssentials"],
            reason:
                "The only code that touches the network's C. Compression has the engines that a WebSocket's messages are inflated and deflated with."
        ),
        ImportRow(
            target: "Relay", isPure: false,
            ours: [
                "Accounts", "RelayCore", "Telnet", "Compression", "ProxyProtocol", "AppAttest", "BlockingWork", "DPoP",
                "KeyStore", "Admission", "HTTPWire", "WebSocketWire", "FleetWire", "Reactors", "Observability",
                "PrometheusText", "StateCoding", "StrictJSON", "WireText",
            ],
            others: [
                "Logging", "DequeModule", "Crypto", "Dispatch", "Synchronization", "Foundation", "FoundationEssentials",
            ],
            reason:
                "Drives the cores on the reactors' connections: no C of any kind, so no Glibc either. Crypto hashes the names of sessions for the fleet."
        ),
        ImportRow(
            target: "Settings", isPure: false,
            ours: [
                "Accounts", "AppAttest", "Admission", "KeyStore", "Observability", "Reactors", "RelayCore", "Telnet",
                "CharacterSets", "WebAuthn", "WireText",
            ],
            others: ["Logging", "X509", "SwiftASN1", "Glibc", "FoundationEssentials"],
            reason: """
                Values of settings are types of the targets that use them. It reads files to check a configuration before anything listens; \
                Reactors is imported for pins and default rates, and opens nothing.
                """),
        ImportRow(
            target: "GatewayServer", isPure: false,
            ours: [
                "Settings", "Accounts", "AppAttest", "BlockingWork", "DPoP", "KeyStore", "KeyStorePostgreSQL",
                "KeyStoreSQLite", "PostgreSQL", "WebAuthn", "Admission", "Observability", "PrometheusText", "Reactors",
                "Relay", "RelayCore",
                "StateCoding", "Telnet", "CharacterSets", "WireText",
            ],
            others: [
                "Logging", "Metrics", "CoreMetrics", "ServiceLifecycle", "UnixSignals", "Crypto", "X509", "SwiftASN1",
                "Dispatch", "Glibc", "Synchronization", "Foundation", "FoundationEssentials",
            ],
            reason: "The composition root knows every room; X509 is for the key in the server's certificate."
        ),
        ImportRow(
            target: "OperatorTools", isPure: false,
            ours: [
                "GatewayServer", "Settings", "AppAttest", "AuditTrail", "Compression", "DPoP", "KeyStore",
                "KeyStorePostgreSQL", "KeyStoreSQLite", "PostgreSQL", "Admission", "Observability", "Relay",
                "RelayCore", "StrictJSON", "WebAuthn", "WireText",
            ],
            others: ["Crypto", "Glibc", "Foundation", "FoundationEssentials"],
            reason: """
                What operators' commands do, on the store, on files, and with the running gateway, whose control messages are GatewayServer's; \
                Compression is for rotated audit logs.
                """
        ),
        ImportRow(
            target: "portcullis", isPure: false,
            ours: ["GatewayServer", "OperatorTools", "Settings", "AuditTrail", "DPoP", "Observability", "WireText"],
            others: ["ArgumentParser", "Dispatch", "Glibc", "Synchronization", "Foundation", "FoundationEssentials"],
            reason:
                "Thin: it reads arguments and talks to the terminal; all else is in GatewayServer, OperatorTools, Settings and AuditTrail."
        ),
        ImportRow(
            target: "PortcullisClient", isPure: false, ours: [],
            others: [
                "AuthenticationServices", "Crypto", "CryptoKit", "DeviceCheck", "Dispatch", "Foundation",
                "FoundationNetworking", "Glibc", "LocalAuthentication", "Network", "Security", "os",
            ],
            reason: """
                A library for apps, so nothing of the gateway. Crypto and Glibc where Apple's modules don't exist; Dispatch has timers that can be called off; its folder Core is pure, which a test of its own checks.
                """),
        ImportRow(
            target: "PortcullisClientNIO", isPure: false, ours: ["PortcullisClient"],
            others: [
                "Foundation", "NIOConcurrencyHelpers", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "NIOTLS",
                "NIOWebSocket",
            ],
            reason: "The transport of PortcullisClient on SwiftNIO, for systems without Apple's URLSession."),
        ImportRow(
            target: "DeviceSimulation", isPure: true, ours: ["AppAttest", "StrictDER"],
            others: ["Crypto", "CryptoExtras", "X509", "SwiftASN1", "FoundationEssentials"],
            reason: "The same tools as the verifiers that it deceives."),
        ImportRow(
            target: "portcullis-sim", isPure: false,
            ours: [
                "DeviceSimulation", "AppAttest", "PortcullisClient", "Reactors", "RelayCore", "StrictJSON", "Telnet",
                "WireText",
            ],
            others: [
                "ArgumentParser", "Crypto", "Logging", "Histogram", "Dispatch", "Glibc", "Synchronization",
                "Foundation",
                "FoundationEssentials",
            ],
            reason:
                "A device, a player, a MUD and a load for trying things out: it knows the outside of the gateway and nothing of the gate. Players have the client library."
        ),
    ]

    static func row(of target: String) -> ImportRow? { rows.first { $0.target == target } }
}
