import Crypto
import DPoP
import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreSQLite
import Testing

/// The program itself, with identifiers that begin with hyphens, on a store that has them.
@Suite("Commands with identifiers that begin with a hyphen")
struct DashedIdentifierTests {
    /// Keys of devices, as base64url.
    static let devices = ["-h", "--", "-1", "--help"].map { $0 + String(repeating: "A", count: 43 - $0.count) }
    /// Signing keys with such names: their names, and the numbers that are their secrets.
    static let signers: [(name: String, secret: UInt16)] = [
        ("-hYjLwfjf0zsu7ZsFbacEsA-u4hP29bjAWhSTCmY2x0", 2_061),
        ("--i7L0xxzcGRXZLCXMJGBaB1blMAdarFKDvfgE4iRKY", 348),
        ("-1_ZlPtqSd0CkmrFo4-axJpaPO6jE2pwcHBaMq3Lit4", 571),
    ]

    private let directory: TemporaryDirectory
    private var path: String { directory.file("keys.sqlite") }

    init() throws {
        directory = try TemporaryDirectory()
        let store = try SQLiteKeyDatabase(path: path)
        for name in Self.devices {
            let id = try #require(KeyID(text: name))
            let key = DeviceKey(
                id: id, publicKeyX963: [4] + [UInt8](repeating: 1, count: 64), app: "ABCDE12345.org.example.mud",
                environment: "production", trustRoot: [UInt8](repeating: 7, count: 32), counter: 1, receipt: [],
                validationCategory: nil, bundleVersion: nil, registeredAt: 1_000, lastUsedAt: nil)
            _ = try store.enrol(key)
        }
        let keys = try Self.signers.map { signer in
            let secret = [UInt8](repeating: 0, count: 30) + [UInt8(signer.secret >> 8), UInt8(signer.secret & 0xFF)]
            let key = try #require(SigningKey(rawRepresentation: secret))
            #expect(key.keyID == signer.name)
            return StoredSigningKey(id: key.keyID, secret: secret, publishedAt: 1_000, signsFrom: 1_000)
        }
        _ = try store.replaceSigningKeys(StoredSigningKeys(), with: StoredSigningKeys(keys: keys))
    }

    private func run(_ arguments: String...) async throws -> ChildOutput {
        try await GatewayProcess.run(arguments + ["--store", path])
    }

    private func standing(_ name: String) throws -> KeyStanding? {
        try SQLiteKeyDatabase(path: path).standing(of: try #require(KeyID(text: name)))
    }

    private func expect(_ output: ChildOutput, ends code: Int32 = 0, says text: String) {
        #expect(output.ending == .exited(code) && !output.outputText.contains("USAGE"), "\(output)")
        #expect((output.outputText + output.errorText).contains(text), "\(output)")
    }

    @Test(arguments: signers.map(\.name)) func `a signing key is revoked`(name: String) async throws {
        expect(try await run("signing-keys", "revoke", name), says: "revoked \(name)")
        let stored = try SQLiteKeyDatabase(path: path).signingKeys()
        #expect(stored.revoked.map(\.id) == [name] && !stored.keys.contains { $0.id == name })
    }

    @Test(arguments: devices) func `a device's key is shown, revoked, restored, forgotten and erased`(name: String)
        async throws
    {
        expect(try await run("keys", "show", name), says: "ABCDE12345.org.example.mud")
        expect(try await run("keys", "export", name), says: "\"counter\":1")
        expect(try await run("keys", "revoke", name, "--reason", "-lost"), says: "revoked")
        #expect(try standing(name)?.isRevoked == true)
        expect(try await run("keys", "restore", name), says: "restored")
        #expect(try standing(name)?.isRevoked == false)
        expect(try await run("keys", "erase", "--yes", name), says: "is erased")
        #expect(try standing(name) == nil)
        expect(try await run("keys", "forget", name), ends: 1, says: "no such key")
        let other = try #require(Self.devices.first { $0 != name })
        expect(try await run("keys", "forget", other), says: "forgot \(other)")
        #expect(try standing(other) == nil)
    }

    /// Asked to change something, a command that can't ends with another code than 0.
    @Test(arguments: ["-hAAA", "--AAA", "-1", "-h0000000000000", "--help-me"])
    func `what has no such name isn't changed, and the command fails`(name: String) async throws {
        for command in ["show", "revoke", "restore", "forget", "export"] {
            expect(try await run("keys", command, name), ends: 1, says: "no key identifier")
        }
        expect(try await run("keys", "erase", name, "--yes"), ends: 1, says: "no key identifier")
        expect(try await run("signing-keys", "revoke", name), ends: 1, says: "no such signing key")
        expect(try await run("dev-tokens", "revoke", name), ends: 1, says: "16 hexadecimal digits")
        for command in ["show", "sign-out", "close", "forget"] {
            expect(try await run("accounts", command, name), ends: 1, says: "32 hexadecimal digits")
        }
        let socket = directory.file("control.sock")
        let ticket = try await GatewayProcess.run(["ticket", "--account", name, "--socket", socket])
        expect(ticket, ends: 1, says: "no gateway answers")
        for command in ["show", "close"] {
            let output = try await GatewayProcess.run(["sessions", command, name, "--socket", socket])
            expect(output, ends: 1, says: "no gateway answers")
        }
        let closing = try await GatewayProcess.run(["sessions", "close", "--subject", name, "--socket", socket])
        expect(closing, ends: 1, says: "no gateway answers")
        let log = try directory.write("", to: "audit.log")
        expect(try await GatewayProcess.run(["explain", name, "--file", log]), ends: 1, says: "searched \(log)")
        let blocking = try await GatewayProcess.run(["block-list", "add", "key", name])
        expect(blocking, ends: 1, says: "STORE_URL isn't set")
        #expect(try SQLiteKeyDatabase(path: path).signingKeys().keys.count == Self.signers.count)
    }

    @Test func `a command without such an argument fails, too`() async throws {
        for arguments in [
            ["signing-keys", "rotate"], ["keys", "prune", "--idle", "90d"], ["dev-tokens", "issue", "--name", "n"],
        ] {
            let output = try await GatewayProcess.run(arguments + ["-hAAA", "--store", path])
            expect(output, ends: 64, says: "-hAAA")
        }
        #expect(try SQLiteKeyDatabase(path: path).signingKeys().keys.count == Self.signers.count)
    }
}
