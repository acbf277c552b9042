import Crypto
import Foundation
import Testing

@Suite("The repository")
struct RepositoryTests {
    @Test func `holds Apple's App Attest root, with the fingerprint that Apple's root has`() throws {
        let pem = try Repository.text("certs/AppleAppAttestationRootCA.pem")
        let lines = pem.split(separator: "\n").map(String.init)
        #expect(lines.first == "-----BEGIN CERTIFICATE-----" && lines.last == "-----END CERTIFICATE-----")
        let der = try #require(Data(base64Encoded: lines.dropFirst().dropLast().joined()))
        let fingerprint = SHA256.hash(data: der).map { String(format: "%02x", $0) }.joined()
        #expect(fingerprint == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
    }

    @Test func `tracks no build product, no run-time file and no secret`() {
        let bad = [
            "certs/dev/ca.pem", "a.key", "x/client.p12", "keys.sqlite", "keys.sqlite-wal", "Package.resolved",
            "sub/Package.resolved", ".build/debug.yaml", ".build-asan/x", "config/portcullis.env", "certs/ca.srl",
            "Relay.h",
        ]
        #expect(HouseRules.untrackable(bad) == bad)
        #expect(
            HouseRules.untrackable([
                "config/portcullis.env.example", "certs/README.md", "Sources/Store/KeyStore/KeyID.swift",
                "Sources/Network/CZlib/zlib.h",
            ])
                == [])

        guard let files = trackedFiles() else { return print("git isn't here: tracked files are not checked") }
        #expect(HouseRules.untrackable(files) == [])
    }

    @Test func `uses the benchmark package and compiler flags only when told to`() throws {
        let manifest = try Repository.text("Package.swift")
        let condition = try #require(manifest.range(of: "\nif isBenchmarking {\n"))
        #expect(!manifest[..<condition.lowerBound].contains("ordo-one"))
        #expect(manifest[condition.upperBound...].contains("ordo-one/benchmark"))
        let lines = manifest.split(separator: "\n").filter { $0.contains("unsafeFlags") }
        let ofTheFuzzer = #"linkerSettings: [.unsafeFlags(["-sanitize=address"])"#
        #expect(!lines.isEmpty && lines.allSatisfy { $0.contains("(is") || $0.contains(ofTheFuzzer) })
    }

    /// Other flags would build everything again, each time that somebody goes from one to the other.
    @Test func `builds and tests with the same flags by hand as by its script`() throws {
        let script = try Repository.text("scripts/test")
        let flags = try #require(script.firstMatch(of: /\nswift build --build-tests (.+)\n/)?.1)
        #expect(script.contains("swift test --skip-build \(flags) "))
        let commands = try Repository.text("CONTRIBUTING.md").matches(of: /swift (?:build|test) [^\n`#]*/).map(\.0)
        #expect(commands.count >= 2 && commands.allSatisfy { $0.contains(flags) }, "\(commands)")
    }

    @Test func `tracks no private key`() {
        let key = "-----BEGIN EC PRIVATE " + "KEY-----\n" + String(repeating: "A", count: 64) + "\n"
        #expect(HouseRules.holdsPrivateKey("let a = \"\"\"\n    " + key))
        #expect(!HouseRules.holdsPrivateKey("-----BEGIN PRIVATE " + "KEY----- is how one begins\n"))
        #expect(!HouseRules.holdsPrivateKey(key.replacing("PRIVATE", with: "PUBLIC")))

        guard let files = trackedFiles() else { return print("git isn't here: tracked files are not checked") }
        #expect(files.filter { path in (try? Repository.text(path)).map(HouseRules.holdsPrivateKey) ?? false } == [])
    }

    /// The existing files that git tracks; nil without git or outside of a work tree.
    private func trackedFiles() -> [String]? {
        guard let git = run("git", ["ls-files", "-z"]), git.status == 0 else { return nil }
        return git.output.split(separator: "\0").map(String.init)
    }
}
