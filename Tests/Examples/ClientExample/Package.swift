// swift-tools-version: 6.2
import PackageDescription

/// An app that uses nothing but the library products, as any package outside of this repository does.
let package = Package(
    name: "ClientExample",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Portcullis", path: "../../..")],
    targets: [
        .executableTarget(
            name: "client-example",
            dependencies: [
                .product(name: "PortcullisClient", package: "Portcullis"),
                .product(name: "PortcullisClientNIO", package: "Portcullis", condition: .when(platforms: [.linux])),
            ])
    ],
    swiftLanguageModes: [.v6])
