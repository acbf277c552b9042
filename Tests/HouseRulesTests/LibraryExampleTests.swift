import EdgeTestKit
import Foundation
import Testing

/// The example of the libraries' guides, compiled as another package would: with the libraries' public declarations
/// alone.
@Suite("The libraries' example")
struct LibraryExampleTests {
    private static let folder = "Tests/Examples/GuardedService/Sources/GuardedService"

    private var files: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(
                atPath: Repository.root.appendingPathComponent(Self.folder).path
            )
            .filter { $0.hasSuffix(".swift") }.sorted()
        }
    }

    @Test func `is in the documentation, whole and unchanged`() throws {
        let pages = [
            "docs/LIBRARY.md", "Sources/Libraries/AppAttest/AppAttest.docc/AppAttest.md",
            "Sources/Libraries/DPoP/DPoP.docc/DPoP.md", "Sources/Libraries/WebAuthn/WebAuthn.docc/WebAuthn.md",
        ]
        let blocks = try pages.flatMap { Documentation.codeBlocks("swift", in: try Repository.text($0)) }
        #expect(try files.count >= 4)
        for file in try files {
            let text = try Repository.text("\(Self.folder)/\(file)").trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(blocks.contains(text), "\(file)")
        }
        let manifest = try Repository.text("Tests/Examples/GuardedService/Package.swift")
        #expect(blocks.contains { $0.contains("let package = Package(") && manifest.contains($0) })
    }

    @Test func `compiles in another package, which has only the products`() async throws {
        let paths = try files.map { Repository.root.appendingPathComponent("\(Self.folder)/\($0)").path }
        let output = try await compile(paths)
        #expect(output.ending == .exited(0) && !output.errorText.contains("error:"), "\(output.errorText)")
        #expect(!output.errorText.contains("warning:"), "\(output.errorText)")
    }

    /// So that the test above can fail: what isn't public isn't found.
    @Test func `another package doesn't see what is only our targets'`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(
            "import DPoP\nfunc f(_ store: MemoryReplayStore) -> Any { store.carried }\n", to: "Inside.swift")
        let output = try await compile([path])
        #expect(output.ending == .exited(1) && output.errorText.contains("'carried' is inaccessible"), "\(output)")
    }

    /// `swiftc` with the modules that were built for these tests, under another package's name.
    private func compile(_ paths: [String]) async throws -> ChildOutput {
        let build = TextComparisons.folder.path
        // The C modules below swift-crypto, in the folder of the checkouts.
        let crypto = TextComparisons.folder.appendingPathComponent("../../checkouts/swift-crypto/Sources").standardized
        let maps = try FileManager.default.subpathsOfDirectory(atPath: crypto.path)
            .filter { $0.hasSuffix("/include/module.modulemap") }
            .map { crypto.appendingPathComponent($0).deletingLastPathComponent().path }
        let child = try ChildProcess(
            "/usr/bin/env",
            [
                "swiftc", "-typecheck", "-swift-version", "6", "-package-name", "elsewhere", "-module-name",
                "GuardedService",
            ]
                + ["-I", build + "/Modules"] + maps.flatMap { ["-Xcc", "-I\($0)"] } + paths)
        try child.closeInput()
        return try await child.ended()
    }
}
