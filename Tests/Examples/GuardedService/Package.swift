// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "GuardedService",
    platforms: [.macOS(.v13)],
    dependencies: [
        // From elsewhere: .package(url: "https://…/portcullis", from: "0.2.0"), with the URL that you cloned.
        .package(name: "portcullis", path: "../../.."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .target(
            name: "GuardedService",
            dependencies: [
                .product(name: "AppAttest", package: "portcullis"),
                .product(name: "DPoP", package: "portcullis"),
                .product(name: "RequestErrors", package: "portcullis"),
                .product(name: "WebAuthn", package: "portcullis"),
                .product(name: "Crypto", package: "swift-crypto"),
            ])
    ]
)
