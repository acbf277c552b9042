import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreSQLite
import Settings
import Testing

@testable import OperatorTools

/// `portcullis accounts` over a real store.
@Suite("The administration of accounts")
struct AccountAdministrationTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let time = Date(timeIntervalSince1970: 2)

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("keys.sqlite")
    }

    private func id(_ number: Int) throws -> AccountID {
        let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 0xAB, count: AccountID.length - 2)
        return try #require(AccountID(bytes: bytes))
    }

    private func account(_ number: Int) throws -> Account {
        let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 3, count: PasskeyMark.length - 2)
        let passkey = Passkey(
            mark: try #require(PasskeyMark(bytes: bytes)), credentialID: [0xFB, 0xEF], publicKey: [1], signCount: 7,
            isBackupEligible: true, isBackedUp: false, isUserVerified: true,
            aaguid: [UInt8](repeating: 0xA0, count: AccountLimits.aaguidBytes), attestation: "none",
            label: "my\u{1B}[31m phone", madeAt: 1_000)
        return Account(id: try id(number), origin: .ticket, madeAt: 1_000, passkeys: [passkey])
    }

    private func makeStore(accounts: Int) async throws {
        let store = try SQLiteKeyRegistry(path: path)
        for number in 0..<accounts { _ = try await store.begin(account(number), maximum: 1_000) }
    }

    private func enrolled(in store: SQLiteKeyRegistry) async throws -> KeyID {
        let id = try #require(KeyID(bytes: [UInt8](repeating: 9, count: KeyID.length)))
        _ = try await store.enrol(
            DeviceKey(
                id: id, publicKeyX963: [4] + [UInt8](repeating: 9, count: 64), app: "ABCDE12345.org.example.mud",
                environment: "production", trustRoot: [UInt8](repeating: 7, count: 32), counter: 0, receipt: [9],
                validationCategory: nil, bundleVersion: nil, registeredAt: 1_000))
        return id
    }

    private func administration() throws -> AccountAdministration { try AccountAdministration(.file(path: path)) }

    @Test func `lists all accounts in their order, over pages`() async throws {
        let count = 2 * AccountLimits.largestPage + 1
        try await makeStore(accounts: count)
        var lines: [String] = []
        #expect(try await administration().list { lines.append($0) } == count)
        #expect(lines.count == count && lines == lines.sorted())
        let first = try id(0).text
        #expect(lines[0] == "\(first)  open  began by ticket  passkeys 1  devices 0  last used never")
        var objects: [String] = []
        _ = try await administration().list(json: true) { objects.append($0) }
        #expect(
            objects[0]
                == #"{"account":"\#(first)","state":"open","origin":"ticket","madeAt":"1970-01-01T00:00:01.000Z","#
                + #""passkeys":1,"devices":0}"#)
    }

    @Test func `shows an account with players' words escaped`() async throws {
        try await makeStore(accounts: 1)
        let store = try SQLiteKeyRegistry(path: path)
        let key = try await enrolled(in: store)
        _ = try await store.join(AccountDevice(key: key, label: "tab\nlet", joinedAt: 1_500), to: id(0))
        let text = try await administration().show(try id(0).text)
        #expect(text.hasPrefix("account: \(try id(0))\nstate: open\nbegan by: ticket\n"))
        #expect(text.contains("\npasskey: --8  my\\u{001B}[31m phone  may be backed up, attestation none, counter 7"))
        #expect(text.contains("\ndevice: \(key.base64)  tab\\nlet  joined "))
        let object = try #require(
            try JSONSerialization.jsonObject(
                with: Data(try await administration().show(try id(0).text, json: true).utf8)) as? [String: Any])
        let passkeys = try #require(object["passkeys"] as? [[String: Any]])
        #expect(passkeys.first?["id"] as? String == "--8" && passkeys.first?["counter"] as? Int == 7)
        #expect((object["devices"] as? [[String: Any]])?.first?["label"] as? String == "tab\nlet")
    }

    @Test func `closes an account for good, which stays`() async throws {
        try await makeStore(accounts: 1)
        let text = try id(0).text
        try await administration().close(text, at: time)
        try await administration().close(text, at: Date(timeIntervalSince1970: 9))
        let store = try SQLiteKeyRegistry(path: path)
        #expect(try await store.account(id(0))?.closedAt == 2_000)
        #expect(try await administration().show(text).contains("\nclosed: 1970-01-01T00:00:02.000Z"))
        var lines: [String] = []
        _ = try await administration().list { lines.append($0) }
        #expect(lines.first?.contains("  closed  ") == true)
    }

    @Test func `forgets an account with its passkeys, and overwrites it`() async throws {
        try await makeStore(accounts: 2)
        #expect(try await administration().forget(id(0).text, at: Date()))
        let store = try SQLiteKeyRegistry(path: path)
        #expect(try await store.account(id(0)) == nil)
        #expect(try await store.passkey(account(0).passkeys[0].mark) == nil)
        #expect(try await store.account(id(1)) != nil)
        #expect(try await SQLiteRevocations(of: store).ifChanged()?.accounts == [id(0)])
    }

    @Test(arguments: ["close", "forget", "show"])
    func `fails where nothing is changed`(command: String) async throws {
        try await makeStore(accounts: 1)
        func run(_ text: String) async throws(OperatorError) {
            switch command {
            case "close": try await administration(at: path).close(text, at: time)
            case "forget": _ = try await administration(at: path).forget(text, at: time)
            default: _ = try await administration(at: path).show(text)
            }
        }
        await #expect(throws: OperatorError.unknownAccount) { try await run(id(7).text) }
        for text in ["", "-h", "--", try id(0).text.uppercased(), try id(0).text + "0"] {
            await #expect(throws: OperatorError.malformedAccount) { try await run(text) }
        }
        let store = try SQLiteKeyRegistry(path: path)
        #expect(try await store.account(id(0)) == account(0))
    }

    private func administration(at path: String) throws(OperatorError) -> AccountAdministration {
        try AccountAdministration(.file(path: path))
    }

    @Test func `makes no store`() throws {
        let error = #expect(throws: OperatorError.self) { try administration(at: path) }
        #expect(error?.isMissingStore == true && error?.text.hasPrefix("no accounts yet: ") == true)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    /// `portcullis keys export`.
    @Test func `tells what account a device has joined`() async throws {
        try await makeStore(accounts: 1)
        let store = try SQLiteKeyRegistry(path: path)
        let key = try await enrolled(in: store)
        _ = try await store.join(AccountDevice(key: key, label: "tablet", joinedAt: 1_500), to: id(0))
        var text = ""
        let isFound = try await KeyAdministration(.file(path: path)).export(
            key.base64, at: time, auditFiles: []
        ) { text += $0 }
        #expect(isFound)
        #expect(text.contains(#""account":{"account":"\#(try id(0))","label":"tablet","joinedAt":""#), "\(text)")
    }
}
