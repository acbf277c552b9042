// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "HummingbirdServer",
    platforms: [.macOS(.v15)],
    dependencies: [
        // From elsewhere: .package(url: "https://…/portcullis", from: "0.2.0"), with the URL that you cloned.
        .package(name: "portcullis", path: "../../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "HummingbirdServer",
            dependencies: [
                .product(name: "DPoP", package: "portcullis"),
                .product(name: "RequestErrors", package: "portcullis"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ])
    ]
)
