// swift-tools-version: 6.2
import PackageDescription

/// `scripts/fuzz` and `scripts/bench-micro` each set one of these, and use their own build folder. Otherwise their
/// dependencies are neither fetched nor built.
let isFuzzing = Context.environment["PORTCULLIS_FUZZ"] == "1"
let isBenchmarking = Context.environment["PORTCULLIS_BENCHMARKS"] == "1"

/// Both are optimised builds with access to internal declarations; fuzzing also needs coverage counters and Address
/// Sanitizer.
let trialSettings: [SwiftSetting] =
    (isFuzzing || isBenchmarking ? [.unsafeFlags(["-enable-testing"])] : [])
    + (isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer,address"])] : [])

/// The settings of every target: Swift 6 mode, explicit imports in each file, and internal imports by default.
let houseSettings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .treatAllWarnings(as: .error),
    ] + trialSettings

/// A pure target: no I/O, no clock, no environment, no threads, and strict memory safety.
let pureSettings: [SwiftSetting] =
    houseSettings + [
        .strictMemorySafety(),
        .treatWarning("StrictMemorySafety", as: .error),
    ]

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let nio: [Target.Dependency] =
    ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket", "NIOTLS", "NIOConcurrencyHelpers"].map {
        .product(name: $0, package: "swift-nio")
    } + [.product(name: "NIOSSL", package: "swift-nio-ssl")]
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let metricsTestKit: Target.Dependency = .product(name: "MetricsTestKit", package: "swift-metrics")

// MARK: What a row can be

/// A pure target. It needs a row in `ImportTable` of the house rules, as every target of `Sources`.
func pure(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: pureSettings)
}

func target(_ name: String, _ dependencies: Target.Dependency..., resources: [Resource] = []) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: houseSettings)
}

func program(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: houseSettings)
}

/// What several folders of tests share.
func kit(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: houseSettings)
}

func tests(_ name: String, _ dependencies: Target.Dependency...) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: houseSettings)
}

/// A room is a folder of `Sources`, which has a folder for each of its targets.
func room(_ name: String, _ targets: [Target]) -> [Target] {
    for target in targets { target.path = "Sources/\(name)/\(target.name)" }
    return targets
}

// MARK: The targets

/// A module map each, and a shim header for declarations that the importer can't see.
let systemLibraries: [Target] = [
    .systemLibrary(name: "CLibwebsockets", pkgConfig: "libwebsockets", providers: [.apt(["libwebsockets-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CLibuv", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
]

/// For any server and app: no C, on Linux and on Apple's systems.
let libraries: [Target] = [
    pure("WireText"),
    pure("RequestErrors"),
    pure("CBOR"),
    pure("StrictJSON", "WireText"),
    pure("StrictDER", x509, asn1),
    pure("AppAttest", "CBOR", "RequestErrors", "StrictDER", crypto, x509, asn1),
    pure("DPoP", "RequestErrors", "StrictJSON", "WireText", crypto),
    // For apps: the first for every system, where Apple's have CryptoKit; the second with a transport on SwiftNIO.
    .target(
        name: "PortcullisClient",
        dependencies: [.product(name: "Crypto", package: "swift-crypto", condition: .when(platforms: [.linux]))],
        swiftSettings: houseSettings),
    .target(name: "PortcullisClientNIO", dependencies: ["PortcullisClient"] + nio, swiftSettings: houseSettings),
    pure("WebAuthn", "CBOR", "StrictDER", "StrictJSON", crypto, cryptoExtras, x509, asn1),
]

/// Protocols, without a socket. DEFLATE and glibc's iconv are behind protocols of Telnet and WebSocketWire.
let wire: [Target] = [
    pure("StateCoding", "WireText"),
    pure("Telnet", "WireText"),
    pure("HTTPWire", "WireText"),
    pure("ProxyProtocol", "WireText"),
    pure("WebSocketWire", "WireText", crypto),
    pure("FleetWire", "WebSocketWire", "WireText"),
    pure("PrometheusText", .product(name: "CoreMetrics", package: "swift-metrics")),
    target("Compression", "CZlib", "Telnet", "WebSocketWire"),
    target("CharacterSets", "Telnet"),
]

let network: [Target] = [
    target(
        "Reactors", "CLibwebsockets", "COpenSSL", "CLibuv", "Compression", "ProxyProtocol", "HTTPWire", "WebSocketWire",
        "FleetWire", "WireText", logging, deque)
]

let store: [Target] = [
    pure("KeyStore", "WireText"),
    target("BlockingWork"),
    target(
        "KeyStoreSQLite", "BlockingWork", "KeyStore", grdb, .product(name: "GRDBSQLite", package: "GRDB.swift")),
    target("PostgreSQL", "CLibpq"),
    target("KeyStorePostgreSQL", "BlockingWork", "KeyStore", "PostgreSQL", crypto),
]

let gate: [Target] = [
    pure("Accounts", "Admission", "DPoP", "KeyStore", "StrictJSON", "WebAuthn", "WireText", crypto),
    pure(
        "Admission", "WireText", "AppAttest", "DPoP", "RequestErrors", "KeyStore", "StateCoding", "StrictJSON", crypto,
        x509, deque),
]

let session: [Target] = [
    pure("RelayCore", "StrictJSON", "Telnet", "WireText", deque),
    target(
        "Relay", "Accounts", "RelayCore", "Telnet", "Compression", "ProxyProtocol", "AppAttest", "BlockingWork", "DPoP",
        "KeyStore",
        "Admission", "HTTPWire", "WebSocketWire", "FleetWire", "Reactors", "Observability", "PrometheusText",
        "StateCoding", "StrictJSON", "WireText", logging, deque, crypto,
        // The web client's page and the console's, as arrays of bytes in the program.
        resources: [
            .embedInCode("WebClient/index.html"), .embedInCode("WebClient/passkeys.html"),
            .embedInCode("Internal/Console/console.html"),
        ]),
]

let gateway: [Target] = [
    target("Observability", "PrometheusText", "WireText", logging, metrics),
    target(
        "Settings", "Accounts", "AppAttest", "Admission", "KeyStore", "Observability", "Reactors", "RelayCore",
        "Telnet",
        "CharacterSets", "WebAuthn", "WireText", logging, x509, asn1),
    pure("AuditTrail", "Admission", "Observability", "StrictJSON", "WireText"),
    target(
        "GatewayServer", "Settings", "Accounts", "AppAttest", "BlockingWork", "DPoP", "KeyStore", "KeyStorePostgreSQL",
        "KeyStoreSQLite", "PostgreSQL", "WebAuthn", "Admission", "Observability", "PrometheusText", "Reactors", "Relay",
        "RelayCore", "StateCoding", "Telnet", "CharacterSets", "WireText", logging, metrics, crypto, x509, asn1,
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle")),
    target(
        "OperatorTools", "Admission", "AppAttest", "AuditTrail", "Compression", "DPoP", "GatewayServer", "KeyStore",
        "KeyStorePostgreSQL", "KeyStoreSQLite", "Observability", "PostgreSQL", "Relay", "RelayCore", "Settings",
        "StrictJSON", "WebAuthn", "WireText", crypto),
    program(
        "portcullis", "AuditTrail", "DPoP", "GatewayServer", "Observability", "OperatorTools", "Settings", "WireText",
        argumentParser),
]

/// Stand-ins for Apple, a device and a MUD: for tests and for trying the gateway out.
let tools: [Target] = [
    pure("DeviceSimulation", "AppAttest", "StrictDER", crypto, cryptoExtras, x509, asn1),
    program(
        "portcullis-sim", "AppAttest", "DeviceSimulation", "PortcullisClient", "Reactors", "RelayCore", "StrictJSON",
        "Telnet", "WireText",
        crypto, logging, argumentParser, .product(name: "Histogram", package: "hdrhistogram-swift")),
]

let testKits: [Target] = [
    // The example of docs/LIBRARY.md: also a package of its own.
    .target(
        name: "LibraryExample", dependencies: ["AppAttest", "DPoP", "RequestErrors", "WebAuthn", crypto],
        path: "Tests/Examples/GuardedService/Sources/GuardedService", swiftSettings: [.treatAllWarnings(as: .error)]),
    kit("StallTestKit"),
    kit("KeyStoreTestKit", "KeyStore"),
    kit("PostgreSQLTestKit", "PostgreSQL"),
    kit("SettingsTestKit", "Settings", crypto, x509, asn1),
    // The independent clients and servers of tests with real sockets.
    kit(
        "EdgeTestKit", "DeviceSimulation", "AppAttest", crypto, x509, asn1,
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl")),
]

let testTargets: [Target] = [
    tests("WireTextTests", "WireText"),
    tests("StrictJSONTests", "StrictJSON"),
    tests(
        "AppAttestTests", "AppAttest", "CBOR", "RequestErrors", "StrictDER", "LibraryExample", "DeviceSimulation",
        crypto, x509, asn1),
    tests(
        "DPoPTests", "DPoP", "RequestErrors", "StrictJSON", "LibraryExample", "DeviceSimulation", "AppAttest",
        "WireText", crypto),
    tests("WebAuthnTests", "WebAuthn", "CBOR", "StrictDER", "DeviceSimulation", crypto, cryptoExtras, x509, asn1),
    tests("StateCodingTests", "StateCoding"),
    tests("TelnetTests", "Telnet", "Compression", "StateCoding", "WebSocketWire"),
    tests("HTTPWireTests", "HTTPWire"),
    tests("ProxyProtocolTests", "ProxyProtocol", "WireText"),
    tests("WebSocketWireTests", "WebSocketWire", "Compression"),
    tests("FleetWireTests", "FleetWire", "WebSocketWire", "WireText"),
    tests("PrometheusTextTests", "PrometheusText", metrics),
    tests("CompressionTests", "Compression", "WebSocketWire", "Telnet", "CZlib"),
    tests("CharacterSetsTests", "CharacterSets", "Telnet"),
    tests(
        "ReactorsTests", "Reactors", "HTTPWire", "WebSocketWire", "FleetWire", "ProxyProtocol", "WireText",
        "CLibwebsockets", "COpenSSL", logging),
    tests("BlockingWorkTests", "BlockingWork", "StallTestKit"),
    tests(
        "KeyStoreTests", "BlockingWork", "KeyStore", "KeyStoreTestKit", "KeyStoreSQLite", "KeyStorePostgreSQL",
        "PostgreSQL", "PostgreSQLTestKit", "StallTestKit", grdb),
    tests("PostgreSQLTests", "PostgreSQL", "PostgreSQLTestKit"),
    tests(
        "AdmissionTests", "Admission", "AppAttest", "DPoP", "KeyStore", "KeyStoreTestKit", "DeviceSimulation",
        "StateCoding", "WireText", crypto, x509),
    tests(
        "AccountsTests", "Accounts", "Admission", "DPoP", "DeviceSimulation", "KeyStore", "KeyStoreTestKit", "WebAuthn",
        "WireText", crypto),
    tests("RelayCoreTests", "RelayCore", "StateCoding", "StrictJSON", "Telnet", "Compression", "WireText"),
    tests(
        "RelayTests", "Relay", "RelayCore", "HTTPWire", "FleetWire", "Reactors", "Admission", "Observability",
        "Telnet", "WireText", logging),
    tests("ObservabilityTests", "Observability", "PrometheusText", logging, metrics, metricsTestKit),
    tests(
        "SettingsTests", "Settings", "SettingsTestKit", "AppAttest", "Admission", "Reactors", "RelayCore", "Telnet",
        "Observability", logging, x509, asn1),
    tests("AuditTrailTests", "AuditTrail", "Admission", "Observability", "WireText"),
    tests(
        "OperatorToolsTests", "AuditTrail", "EdgeTestKit", "KeyStore", "KeyStoreSQLite", "Observability",
        "OperatorTools", "KeyStorePostgreSQL", "Relay", "Settings"),
    tests(
        "GatewayServerTests", "GatewayServer", "Accounts", "KeyStoreTestKit", "OperatorTools", "AuditTrail", "Settings",
        "SettingsTestKit", "AppAttest", "DPoP", "KeyStore", "KeyStorePostgreSQL", "KeyStoreSQLite", "Admission",
        "Relay", "RelayCore", "Telnet", "Reactors", "Observability", "PrometheusText", "PostgreSQL",
        "PostgreSQLTestKit", "StallTestKit", "EdgeTestKit", "FleetWire", "StateCoding", "WireText", logging,
        crypto, x509, asn1, grdb, metricsTestKit),
    tests(
        "PortcullisTests", "portcullis", "EdgeTestKit", "DPoP", "KeyStore", "KeyStoreSQLite", argumentParser, crypto),
    .testTarget(
        name: "PortcullisClientTests",
        dependencies: [
            "PortcullisClient", "PortcullisClientNIO", "EdgeTestKit", "DeviceSimulation", "AppAttest", "DPoP", crypto,
        ] + nio,
        // Stand-ins for Apple's modules, which a test compiles by itself.
        exclude: ["AppleStubs"], swiftSettings: houseSettings),
    tests("PortcullisSimTests", "portcullis-sim", "PortcullisClient", "Telnet"),
    tests(
        "HostileTextTests", "EdgeTestKit", "portcullis", "Accounts", "Admission", "AppAttest", "AuditTrail", "CBOR",
        "CharacterSets", "Compression", "DeviceSimulation", "DPoP", "FleetWire", "GatewayServer", "HTTPWire",
        "KeyStore", "KeyStoreTestKit", "Observability", "OperatorTools", "PrometheusText", "ProxyProtocol", "Reactors",
        "Relay", "RelayCore", "Settings", "StateCoding", "StrictDER", "StrictJSON", "Telnet", "WebAuthn",
        "WebSocketWire", "WireText", crypto, logging, metrics, x509, asn1,
        .product(name: "CoreMetrics", package: "swift-metrics")),
    tests("HouseRulesTests", "EdgeTestKit", crypto),
    tests(
        "EdgeTests", "EdgeTestKit", "PostgreSQL", "PostgreSQLTestKit", "SettingsTestKit", "DeviceSimulation",
        "AppAttest", "Compression", "PortcullisClient", "PortcullisClientNIO", "WebSocketWire", "CZlib", "portcullis",
        "portcullis-sim", crypto),
]

let rooms: [[Target]] = [
    room("Libraries", libraries),
    room("Wire", wire),
    room("Network", systemLibraries + network),
    room("Gate", gate),
    room("Store", store),
    room("Session", session),
    room("Gateway", gateway),
    room("Tools", tools),
    testKits,
    testTargets,
]

let package = Package(
    name: "Portcullis",
    platforms: [.iOS(.v15), .macOS(.v13)],
    products: [
        .library(name: "AppAttest", targets: ["AppAttest"]),
        .library(name: "DPoP", targets: ["DPoP"]),
        .library(name: "PortcullisClient", targets: ["PortcullisClient"]),
        .library(name: "PortcullisClientNIO", targets: ["PortcullisClientNIO"]),
        .library(name: "RequestErrors", targets: ["RequestErrors"]),
        .library(name: "WebAuthn", targets: ["WebAuthn"]),
        .executable(name: "portcullis", targets: ["portcullis"]),
        .executable(name: "portcullis-sim", targets: ["portcullis-sim"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        // Tests only: a WebSocket and TLS client that shares no code with the gateway's libwebsockets and OpenSSL.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: Array(rooms.joined()),
    swiftLanguageModes: [.v6]
)

/// The fuzz targets' functions: a test replays the corpus with them, and libFuzzer's driver runs the same functions.
let fuzzed: [Target.Dependency] = [
    "Accounts", "AppAttest", "AuditTrail", "CBOR", "Observability", "DPoP", "WireText", "Telnet", "Compression",
    "HTTPWire",
    "RelayCore", "ProxyProtocol", "KeyStore", "Admission", "CharacterSets", "Settings", "GatewayServer",
    "OperatorTools", "Reactors", "DeviceSimulation", "WebAuthn", "WebSocketWire", "FleetWire", "PrometheusText",
    "StateCoding", "StrictDER", "StrictJSON", "PortcullisClient", crypto, metrics, x509, asn1,
]
if isFuzzing {
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer"),
        .executableTarget(
            name: "portcullis-fuzz", dependencies: fuzzed + ["CLibFuzzer"], path: "Tests/Fuzz",
            exclude: ["CLibFuzzer", "Corpus", "Tests"], swiftSettings: houseSettings,
            linkerSettings: [.unsafeFlags(["-sanitize=address"]), .linkedLibrary("stdc++")]),
    ]
} else {
    package.targets.append(
        .testTarget(
            name: "FuzzTests", dependencies: fuzzed, path: "Tests/Fuzz", exclude: ["CLibFuzzer", "Corpus", "Driver"],
            swiftSettings: houseSettings))
}

if isBenchmarking {
    // Without its traits: they replace malloc and the runtime's reference counting for figures that aren't used here.
    package.dependencies.append(
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []))
    package.targets.append(
        .executableTarget(
            name: "MicroBenchmarks",
            dependencies: [
                "AppAttest", "CBOR", "DPoP", "DeviceSimulation", "KeyStore", "KeyStoreSQLite", "Admission", "RelayCore",
                "Telnet", "Compression", "WebAuthn", "WebSocketWire", "WireText", "Observability", "PrometheusText",
                crypto, metrics, .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "Tests/Benchmarks/MicroBenchmarks", swiftSettings: houseSettings,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]))
}
