import Foundation
import Testing

/// scripts/make-dev-certs, run as a developer runs it. Skipped, saying so, where there is no openssl.
@Suite("The script for development certificates")
struct MakeDevCertsTests {
    @Test func `makes certificates that verify, keeps existing ones, and replaces them when forced`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dev certs \(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        guard run("openssl", ["version"]) != nil else {
            return print("openssl isn't here: make-dev-certs is not tried")
        }

        let first = try make(folder)
        #expect(Set(first.keys) == Self.files)
        for (certificate, authority) in [("server.crt", "server-ca.pem"), ("client.crt", "ca.pem")] {
            #expect(openssl(folder, "verify", "-CAfile", authority, certificate))
        }
        #expect(!openssl(folder, "verify", "-CAfile", "ca.pem", "server.crt"))
        for name in ["-checkhost localhost", "-checkip 127.0.0.1", "-checkip ::1"] {
            let arguments = ["x509", "-in", "server.crt", "-noout"] + name.split(separator: " ").map(String.init)
            let answer = run("openssl", arguments, in: folder)?.output ?? ""
            #expect(answer.contains("does match"), "\(name)")
        }
        #expect(try make(folder) == first)
        let forced = try make(folder, "--force")
        #expect(Self.files.allSatisfy { forced[$0] != first[$0] })
    }

    @Test func `makes private keys and their folder readable by the owner only`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dev-certs-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        guard run("openssl", ["version"]) != nil else {
            return print("openssl isn't here: make-dev-certs is not tried")
        }
        _ = try make(folder)
        for name in Self.files.union(["."]) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent(name).path)
            let mode = try #require(attributes[.posixPermissions] as? Int)
            #expect(mode & 0o077 == 0, "\(name)")
        }
    }

    @Test func `encrypts the client's archive with the given passphrase, empty by default`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dev-certs-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        guard run("openssl", ["version"]) != nil else {
            return print("openssl isn't here: make-dev-certs is not tried")
        }
        for passphrase in ["", "open sesame"] {
            _ = try make(folder, "--passphrase", passphrase)
            for file in ["client.p12", "client-legacy.p12"] {
                #expect(opens(folder, file, passphrase: passphrase), "\(file)")
                #expect(!opens(folder, file, passphrase: passphrase + "x"), "\(file)")
            }
            #expect(algorithms(folder, "client.p12", passphrase).contains("AES-256-CBC"))
            let legacy = algorithms(folder, "client-legacy.p12", passphrase)
            #expect(legacy.contains("pbeWithSHA1And3-KeyTripleDES-CBC") && !legacy.contains("RC2"))
        }
    }

    @Test func `replaces an archive of the form that earlier versions made`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dev-certs-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        guard run("openssl", ["version"]) != nil else {
            return print("openssl isn't here: make-dev-certs is not tried")
        }
        _ = try make(folder)
        let export = ["pkcs12", "-export", "-legacy", "-passout", "pass:", "-inkey", "client.key", "-in", "client.crt"]
        guard run("openssl", export + ["-out", "client.p12"], in: folder)?.status == 0 else {
            return print("openssl has no legacy ciphers here: an old archive can't be made")
        }
        #expect(!opens(folder, "client.p12", passphrase: ""))
        _ = try make(folder)
        #expect(algorithms(folder, "client.p12", "").contains("AES-256-CBC"))
    }

    private static let files: Set = [
        "server-ca.pem", "server-ca.key", "server.crt", "server.key", "ca.pem", "ca.key", "client.crt", "client.key",
        "client.p12", "client-legacy.p12",
    ]

    /// Runs the script; returns the files it has made, with their contents.
    private func make(_ folder: URL, _ arguments: String...) throws -> [String: Data] {
        let script = Repository.root.appendingPathComponent("scripts/make-dev-certs").path
        #expect(run("bash", [script, "--out", folder.path] + arguments)?.status == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: folder.appendingPathComponent($0))) })
    }

    private func openssl(_ folder: URL, _ arguments: String...) -> Bool {
        run("openssl", arguments, in: folder)?.status == 0
    }

    private func opens(_ folder: URL, _ file: String, passphrase: String) -> Bool {
        openssl(folder, "pkcs12", "-in", file, "-noout", "-passin", "pass:\(passphrase)")
    }

    /// openssl's report on the archive's encryption, from standard error.
    private func algorithms(_ folder: URL, _ file: String, _ passphrase: String) -> String {
        let command = "openssl pkcs12 -in \(file) -info -noout -passin 'pass:\(passphrase)' 2>&1"
        return run("bash", ["-c", command], in: folder)?.output ?? ""
    }
}
