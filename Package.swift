// swift-tools-version: 6.2
import PackageDescription

/// `scripts/fuzz` and `scripts/bench-micro` each set one of these, and use their own build folder. Otherwise their dependencies are neither
/// fetched nor built.
let isFuzzing = Context.environment["PORTCULLIS_FUZZ"] == "1"
let isBenchmarking = Context.environment["PORTCULLIS_BENCHMARKS"] == "1"

/// Both are optimised builds with access to internal declarations; fuzzing also needs coverage counters and Address Sanitizer.
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
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "Portcullis",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "AppAttest", targets: ["AppAttest"]),
        .library(name: "DPoP", targets: ["DPoP"]),
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
    targets: [
        // The C libraries: a module map each, and a shim header for declarations that the importer can't see.
        .systemLibrary(
            name: "CLibwebsockets", pkgConfig: "libwebsockets", providers: [.apt(["libwebsockets-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLibuv", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Pure cores.
        .target(name: "WireText", swiftSettings: pureSettings),
        .target(name: "StateCoding", dependencies: ["WireText"], swiftSettings: pureSettings),
        .target(name: "RequestErrors", swiftSettings: pureSettings),
        .target(name: "CBOR", swiftSettings: pureSettings),
        .target(name: "StrictJSON", swiftSettings: pureSettings),
        .target(name: "StrictDER", dependencies: [x509, asn1], swiftSettings: pureSettings),
        .target(
            name: "AppAttest", dependencies: ["CBOR", "RequestErrors", "StrictDER", crypto, x509, asn1],
            swiftSettings: pureSettings),
        .target(
            name: "DPoP", dependencies: ["RequestErrors", "StrictJSON", "WireText", crypto], swiftSettings: pureSettings
        ),
        .target(
            name: "WebAuthn", dependencies: ["CBOR", "StrictDER", "StrictJSON", crypto, cryptoExtras, x509, asn1],
            swiftSettings: pureSettings),
        .target(name: "Telnet", dependencies: ["WireText"], swiftSettings: pureSettings),
        .target(name: "RelayCore", dependencies: ["Telnet", "WireText", deque], swiftSettings: pureSettings),
        .target(name: "HTTPWire", dependencies: ["WireText"], swiftSettings: pureSettings),
        .target(name: "ProxyProtocol", dependencies: ["WireText"], swiftSettings: pureSettings),
        .target(name: "WebSocketWire", dependencies: ["WireText", crypto], swiftSettings: pureSettings),
        .target(name: "ForwardingWire", dependencies: ["WebSocketWire", "WireText"], swiftSettings: pureSettings),

        // DEFLATE, behind protocols of Telnet and WebSocketWire.
        .target(
            name: "Compression", dependencies: ["CZlib", "Telnet", "WebSocketWire"], swiftSettings: houseSettings),

        // glibc's iconv, behind Telnet's protocol for character tables.
        .target(name: "CharacterSets", dependencies: ["Telnet"], swiftSettings: houseSettings),

        // What Prometheus reads.
        .target(
            name: "PrometheusText", dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")],
            swiftSettings: pureSettings),

        // Keys and the gate.
        .target(name: "KeyStore", dependencies: ["WireText"], swiftSettings: pureSettings),
        .target(name: "BlockingWork", swiftSettings: houseSettings),
        .target(
            name: "KeyStoreSQLite",
            dependencies: [
                "BlockingWork", "KeyStore", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: houseSettings),
        .target(name: "PostgreSQL", dependencies: ["CLibpq"], swiftSettings: houseSettings),
        .target(
            name: "KeyStorePostgreSQL", dependencies: ["KeyStore", "PostgreSQL", crypto], swiftSettings: houseSettings),
        .target(
            name: "Admission",
            dependencies: [
                "WireText", "AppAttest", "DPoP", "RequestErrors", "KeyStore", "StateCoding", "StrictJSON", crypto, x509,
                deque,
            ],
            swiftSettings: pureSettings),

        // What the audit log says, read again.
        .target(
            name: "AuditTrail", dependencies: ["Admission", "DPoP", "Observability", "StrictJSON", "WireText"],
            swiftSettings: pureSettings),

        // The edge, the engine and the composition root.
        .target(
            name: "Observability", dependencies: ["PrometheusText", "WireText", logging, metrics],
            swiftSettings: houseSettings),
        .target(
            name: "Reactors",
            dependencies: [
                "CLibwebsockets", "COpenSSL", "CLibuv", "Compression", "ProxyProtocol", "HTTPWire", "WebSocketWire",
                "ForwardingWire", "WireText", logging, deque,
            ],
            swiftSettings: houseSettings),
        .target(
            name: "Relay",
            dependencies: [
                "RelayCore", "Telnet", "Compression", "ProxyProtocol", "AppAttest", "BlockingWork", "DPoP", "KeyStore",
                "Admission", "HTTPWire", "WebSocketWire", "ForwardingWire", "Reactors", "Observability",
                "PrometheusText", "StateCoding", "StrictJSON", "WireText", logging, deque,
            ],
            // The web client's page, as an array of bytes in the program.
            resources: [.embedInCode("WebClient/index.html"), .embedInCode("Internal/Console/console.html")],
            swiftSettings: houseSettings),
        .target(
            name: "Settings",
            dependencies: [
                "AppAttest", "Admission", "Observability", "Reactors", "RelayCore", "Telnet", "CharacterSets",
                "WireText", logging, x509, asn1,
            ],
            swiftSettings: houseSettings),
        .target(
            name: "GatewayServer",
            dependencies: [
                "Settings", "AppAttest", "AuditTrail", "BlockingWork", "Compression", "DPoP", "KeyStore",
                "KeyStorePostgreSQL", "KeyStoreSQLite", "PostgreSQL", "Admission", "Observability", "PrometheusText",
                "Reactors", "Relay", "RelayCore",
                "StateCoding", "Telnet", "CharacterSets", "WireText", logging, metrics, x509, asn1,
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: houseSettings),
        .executableTarget(
            name: "portcullis",
            dependencies: ["GatewayServer", "Settings", "AuditTrail", "Observability", "WireText", argumentParser],
            swiftSettings: houseSettings),

        // Stand-ins for Apple, a device and a MUD: for tests and for trying the gateway out.
        .target(
            name: "DeviceSimulation", dependencies: ["AppAttest", "StrictDER", crypto, cryptoExtras, x509, asn1],
            swiftSettings: pureSettings),
        .executableTarget(
            name: "portcullis-sim",
            dependencies: [
                "AppAttest", "DeviceSimulation", "Reactors", "RelayCore", "Telnet", "WireText", crypto, logging,
                argumentParser,
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ],
            swiftSettings: houseSettings),

        // The example of docs/LIBRARY.md: also a package of its own.
        .target(
            name: "LibraryExample", dependencies: ["AppAttest", "DPoP", "RequestErrors", crypto],
            path: "Tests/Examples/GuardedService/Sources/GuardedService", swiftSettings: [.treatAllWarnings(as: .error)]
        ),

        // One folder of tests per target; EdgeTestKit contains the independent clients that the edge tests share.
        .testTarget(
            name: "AppAttestTests",
            dependencies: [
                "AppAttest", "CBOR", "RequestErrors", "StrictDER", "LibraryExample", "DeviceSimulation", crypto, x509,
                asn1,
            ],
            swiftSettings: houseSettings),
        .testTarget(
            name: "DPoPTests",
            dependencies: [
                "DPoP", "RequestErrors", "StrictJSON", "LibraryExample", "DeviceSimulation", "AppAttest", "WireText",
                crypto,
            ],
            swiftSettings: houseSettings),
        .testTarget(
            name: "WebAuthnTests",
            dependencies: [
                "WebAuthn", "CBOR", "StrictDER", "DeviceSimulation", crypto, cryptoExtras, x509, asn1,
            ],
            swiftSettings: houseSettings),
        .testTarget(name: "StateCodingTests", dependencies: ["StateCoding"], swiftSettings: houseSettings),
        .testTarget(
            name: "TelnetTests", dependencies: ["Telnet", "Compression", "StateCoding", "WebSocketWire"],
            swiftSettings: houseSettings),
        .testTarget(
            name: "CharacterSetsTests", dependencies: ["CharacterSets", "Telnet"], swiftSettings: houseSettings),
        .testTarget(
            name: "CompressionTests", dependencies: ["Compression", "WebSocketWire", "Telnet", "CZlib"],
            swiftSettings: houseSettings),
        .testTarget(
            name: "WebSocketWireTests", dependencies: ["WebSocketWire", "Compression"], swiftSettings: houseSettings),
        .testTarget(
            name: "RelayCoreTests", dependencies: ["RelayCore", "StateCoding", "Telnet", "Compression", "WireText"],
            swiftSettings: houseSettings),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "Relay", "RelayCore", "HTTPWire", "ForwardingWire", "Reactors", "Admission", "Observability", "Telnet",
                "WireText", logging,
            ],
            swiftSettings: houseSettings),
        .testTarget(name: "WireTextTests", dependencies: ["WireText"], swiftSettings: houseSettings),
        .testTarget(
            name: "ProxyProtocolTests", dependencies: ["ProxyProtocol", "WireText"], swiftSettings: houseSettings),
        .testTarget(
            name: "ForwardingWireTests", dependencies: ["ForwardingWire", "WebSocketWire", "WireText"],
            swiftSettings: houseSettings),
        .testTarget(name: "HTTPWireTests", dependencies: ["HTTPWire"], swiftSettings: houseSettings),
        .target(name: "StallTestKit", path: "Tests/StallTestKit", swiftSettings: houseSettings),
        .testTarget(
            name: "BlockingWorkTests", dependencies: ["BlockingWork", "StallTestKit"], swiftSettings: houseSettings),
        .testTarget(
            name: "KeyStoreTests",
            dependencies: [
                "KeyStore", "KeyStoreSQLite", "KeyStorePostgreSQL", "PostgreSQL", "PostgreSQLTestKit", "StallTestKit",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: houseSettings),
        .target(
            name: "PostgreSQLTestKit", dependencies: ["PostgreSQL"], path: "Tests/PostgreSQLTestKit",
            swiftSettings: houseSettings),
        .testTarget(
            name: "PostgreSQLTests", dependencies: ["PostgreSQL", "PostgreSQLTestKit"], swiftSettings: houseSettings),
        .testTarget(
            name: "AdmissionTests",
            dependencies: [
                "Admission", "AppAttest", "DPoP", "KeyStore", "DeviceSimulation", "StateCoding", "WireText", crypto,
                x509,
            ],
            swiftSettings: houseSettings),
        .testTarget(
            name: "AuditTrailTests", dependencies: ["AuditTrail", "Admission", "Observability", "WireText"],
            swiftSettings: houseSettings),
        .testTarget(
            name: "ReactorsTests",
            dependencies: [
                "Reactors", "HTTPWire", "WebSocketWire", "ForwardingWire", "ProxyProtocol", "WireText",
                "CLibwebsockets", "COpenSSL", logging,
            ],
            swiftSettings: houseSettings),
        .target(
            name: "SettingsTestKit", dependencies: ["Settings", crypto, x509, asn1], path: "Tests/SettingsTestKit",
            swiftSettings: houseSettings),
        .testTarget(
            name: "SettingsTests",
            dependencies: [
                "Settings", "SettingsTestKit", "AppAttest", "Admission", "Reactors", "RelayCore", "Telnet",
                "Observability",
                logging, x509, asn1,
            ],
            swiftSettings: houseSettings),
        .testTarget(
            name: "GatewayServerTests",
            dependencies: [
                "GatewayServer", "AuditTrail", "Settings", "SettingsTestKit", "AppAttest", "DPoP", "KeyStore",
                "KeyStorePostgreSQL", "KeyStoreSQLite", .product(name: "GRDB", package: "GRDB.swift"),
                "Admission", "Relay", "RelayCore", "Telnet", "Reactors", "Observability", "PrometheusText",
                "PostgreSQL", "PostgreSQLTestKit", "StallTestKit", "EdgeTestKit", "ForwardingWire", "StateCoding",
                "WireText", logging, crypto, x509, asn1,
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: houseSettings),
        .testTarget(
            name: "PrometheusTextTests",
            dependencies: ["PrometheusText", metrics], swiftSettings: houseSettings),
        .testTarget(
            name: "ObservabilityTests",
            dependencies: [
                "Observability", "PrometheusText", logging, metrics,
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: houseSettings),
        .testTarget(
            name: "PortcullisTests",
            dependencies: ["portcullis", "EdgeTestKit", "DPoP", "KeyStore", "KeyStoreSQLite", argumentParser, crypto],
            swiftSettings: houseSettings),
        .testTarget(
            name: "PortcullisSimTests", dependencies: ["portcullis-sim", "Telnet"], swiftSettings: houseSettings),
        .testTarget(
            name: "HostileTextTests",
            dependencies: [
                "EdgeTestKit", "portcullis", "Admission", "AppAttest", "AuditTrail", "CBOR", "CharacterSets",
                "Compression", "DeviceSimulation", "DPoP", "ForwardingWire", "GatewayServer", "HTTPWire", "KeyStore",
                "Observability", "PrometheusText", "ProxyProtocol", "Reactors", "Relay", "RelayCore", "Settings",
                "StateCoding", "StrictDER", "StrictJSON", "Telnet", "WebAuthn", "WebSocketWire", "WireText", crypto,
                logging, metrics, x509, asn1,
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            swiftSettings: houseSettings),
        .testTarget(name: "HouseRulesTests", dependencies: ["EdgeTestKit", crypto], swiftSettings: houseSettings),
        .target(
            name: "EdgeTestKit",
            dependencies: [
                "DeviceSimulation", "AppAttest", crypto, x509, asn1,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/EdgeTestKit", swiftSettings: houseSettings),
        .testTarget(
            name: "EdgeTests",
            dependencies: [
                "EdgeTestKit", "PostgreSQL", "PostgreSQLTestKit", "SettingsTestKit", "DeviceSimulation", "AppAttest",
                "Compression",
                "WebSocketWire", "CZlib", "portcullis",
                "portcullis-sim",
                crypto,
            ],
            swiftSettings: houseSettings),
    ],
    swiftLanguageModes: [.v6]
)

/// The fuzz targets' functions: a test replays the corpus with them, and libFuzzer's driver runs the same functions.
let fuzzed: [Target.Dependency] = [
    "AppAttest", "AuditTrail", "CBOR", "Observability", "DPoP", "WireText", "Telnet", "Compression", "HTTPWire",
    "RelayCore", "ProxyProtocol", "KeyStore", "Admission", "CharacterSets", "Settings", "GatewayServer", "Reactors",
    "DeviceSimulation", "WebAuthn", "WebSocketWire", "ForwardingWire", "PrometheusText", "StateCoding", "StrictDER",
    "StrictJSON", crypto, metrics, x509, asn1,
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
                crypto,
                metrics, .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "Tests/Benchmarks/MicroBenchmarks", swiftSettings: houseSettings,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]))
}
