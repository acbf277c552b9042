// swift-tools-version: 6.2
import PackageDescription

/// What `scripts/bench-client` runs: a player of the client library, as any package outside of this repository has it.
let package = Package(
    name: "ClientBenchmark",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Portcullis", path: "../../..")],
    targets: [
        .target(name: "CHeap"),
        .executableTarget(
            name: "client-benchmark",
            dependencies: [
                "CHeap",
                .product(name: "PortcullisClient", package: "Portcullis"),
                .product(name: "PortcullisClientNIO", package: "Portcullis"),
            ]),
    ],
    swiftLanguageModes: [.v6])
