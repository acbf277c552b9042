import EdgeTestKit
import Foundation
import Testing

/// The catalogue of articles, built by the toolchain's own DocC from the compiled module.
@Suite("The catalogue")
struct CatalogueTests {
    private static let catalogue = RepositoryText.root.appendingPathComponent(
        "Sources/Libraries/PortcullisClient/PortcullisClient.docc"
    ).path

    /// The compiled modules are beside the program of the running tests.
    private static let modules = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()
        .appendingPathComponent("Modules").path

    @Test(.timeLimit(.minutes(10))) func `builds without warnings`() async throws {
        let folder = try TemporaryDirectory()
        let target = "\(try await ChildProcess.check("uname", ["-m"]).outputLines[0])-unknown-linux-gnu"
        try await ChildProcess.check(
            "swift-symbolgraph-extract",
            [
                "-module-name", "PortcullisClient", "-target", target, "-I", Self.modules, "-output-dir", folder.path,
                "-minimum-access-level", "public", "-skip-inherited-docs",
            ])
        let output = try await ChildProcess.run(
            "docc",
            [
                "convert", Self.catalogue, "--additional-symbol-graph-dir", folder.path, "--output-dir",
                folder.file("out"),
                "--fallback-display-name", "PortcullisClient", "--fallback-bundle-identifier", "org.portcullis.client",
                "--warnings-as-errors",
            ], within: .seconds(100))
        #expect(output.ending == .exited(0) && !output.errorText.contains("warning:"), "\(output)")
    }

    @Test func `has an article for each of the first session, tokens, signed requests, debugging and names`() throws {
        let landing = try RepositoryText.read(
            "Sources/Libraries/PortcullisClient/PortcullisClient.docc/PortcullisClient.md")
        for article in [
            "FirstSession", "UsingTokens", "SigningRequests", "SigningIn", "Debugging", "Errors", "OtherNames",
            "Design",
        ] {
            #expect(landing.contains("<doc:\(article)>"))
            #expect(
                try RepositoryText.read("Sources/Libraries/PortcullisClient/PortcullisClient.docc/\(article).md").count
                    > 800)
        }
    }
}
