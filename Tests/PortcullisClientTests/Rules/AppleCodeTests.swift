import EdgeTestKit
import Foundation
import Testing

/// Linux doesn't compile what is for Apple's systems alone. Here it is checked all the same: against stand-ins for
/// Apple's modules.
@Suite("The code for Apple's systems")
struct AppleCodeTests {
    /// In the order of their imports.
    private static let modules = [
        "Security", "LocalAuthentication", "CryptoKit", "DeviceCheck", "Network", "os", "AuthenticationServices",
    ]

    private let folder: TemporaryDirectory
    private let stubs = RepositoryText.root.appendingPathComponent("Tests/PortcullisClientTests/AppleStubs").path

    init() throws { folder = try TemporaryDirectory() }

    private func swiftc(_ arguments: [String]) async throws -> ChildOutput {
        try await ChildProcess.run("swiftc", ["-swift-version", "6"] + arguments, within: .seconds(280))
    }

    private func compileStubs() async throws {
        for module in Self.modules {
            let output = try await swiftc([
                "-emit-module", "-module-name", module, "-parse-as-library", "-I", folder.path,
                "-enable-library-evolution",
                "-emit-module-path", folder.file("\(module).swiftmodule"), "\(stubs)/\(module).swift",
            ])
            guard output.ending == .exited(0) else { throw EdgeTestError("\(module): \(output)") }
        }
    }

    /// One process of the compiler reads the whole module: otherwise one for some files each does, several times over.
    ///
    /// - Parameter sources: of the library, by path.
    private func check(_ sources: [String], _ options: [String]) async throws -> ChildOutput {
        try await swiftc(
            [
                "-typecheck", "-whole-module-optimization", "-module-name", "PortcullisClient", "-package-name",
                "portcullis", "-parse-as-library",
                "-I", folder.path, "-enable-upcoming-feature", "ExistentialAny", "-enable-upcoming-feature",
                "InternalImportsByDefault", "-warnings-as-errors",
            ] + options + sources)
    }

    @Test(.timeLimit(.minutes(15))) func `is type-checked as part of the whole library, in debug and release`()
        async throws
    {
        try await compileStubs()
        let files = RepositoryText.swiftFiles(below: "Sources/Libraries/PortcullisClient")
        let sources = files.map { RepositoryText.root.appendingPathComponent($0.path).path }
        for options in [["-DDEBUG"], []] {
            let output = try await check(sources, options)
            #expect(output.ending == .exited(0), "\(output)")
        }
        // The check sees mistakes in this code.
        let broken = try folder.write(
            "import DeviceCheck\nextension AppleAppAttest { func f() { DCAppAttestService.shared.nothing() } }",
            to: "Broken.swift")
        let output = try await check(sources + [broken], ["-DDEBUG"])
        #expect(output.ending == .exited(1) && output.errorText.contains("no member 'nothing'"), "\(output)")
    }

    @Test func `has less than 400 lines, and 120 each for passkeys and the local unlock`() {
        let files = RepositoryText.swiftFiles(below: "Sources/Libraries/PortcullisClient/Apple")
        func count(_ text: String) -> Int { text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 }
        func lines(_ name: String) -> Int {
            files.filter { $0.path.hasSuffix("/\(name).swift") }.reduce(0) { $0 + count($1.text) }
        }
        let all = files.reduce(0) { $0 + count($1.text) }
        let (passkeys, unlock) = (lines("ApplePasskeys"), lines("AppleUnlock"))
        #expect((1..<120).contains(passkeys) && (1..<120).contains(unlock), "\(passkeys) and \(unlock)")
        #expect(files.count == 9 && all - passkeys - unlock < 400, "\(passkeys) and \(unlock) of \(all)")
    }

    @Test func `is all that asks for a system`() {
        for file in RepositoryText.swiftFiles(below: "Sources/Libraries/PortcullisClient")
        where !file.path.contains("/Apple/") {
            for module in Self.modules where module != "CryptoKit" {
                #expect(!file.text.contains("import \(module)\n"), "\(file.path)")
            }
        }
    }
}
