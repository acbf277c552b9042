import Foundation
import PortcullisClient
import Testing

@testable import portcullis_sim

/// The virtual authenticator of `portcullis-sim account`, in its file.
final class AccountFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("player-\(UUID().uuidString)")
    private var path: String { folder.appendingPathComponent("player.json").path }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static func creation(excluding ids: [Data] = []) throws -> PasskeyCreationOptions {
        let excluded = ids.map { #"{"type":"public-key","id":"\#($0.base64EncodedString())"}"# }.joined(separator: ",")
        return try PasskeyCreationOptions(
            json: Data(
                """
                {"rp":{"id":"mud.example"},"user":{"id":"AQID","name":"a"},"challenge":"AAAAAAAAAAAAAAAAAAAAAA",\
                "excludeCredentials":[\(excluded)]}
                """.utf8))
    }

    private static func request(at domain: String = "mud.example") throws -> PasskeyRequestOptions {
        try PasskeyRequestOptions(
            json: Data(#"{"challenge":"AAAAAAAAAAAAAAAAAAAAAA","rpId":"\#(domain)"}"#.utf8))
    }

    @Test func `passkeys and secrets are there at the next start, and only their owner reads the file`() async throws {
        let first = try AccountFile(at: path)
        let made = try await first.create(Self.creation())
        try first.write("device-key", Data([1, 2, 3]))
        try first.write("other", Data([4]))
        try first.delete("other")
        let next = try AccountFile(at: path)
        let used = try await next.get(Self.request())
        #expect(used.id == made.id)
        #expect(try next.read("device-key") == Data([1, 2, 3]) && next.read("other") == nil)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `the newest passkey of the domain is used, unless the player chooses`() async throws {
        let file = try AccountFile(at: path)
        let old = try await file.create(Self.creation())
        let new = try await file.create(Self.creation())
        #expect(try await file.get(Self.request()).id == new.id)
        #expect(try await AccountFile(at: path, choosing: Array(old.id)).get(Self.request()).id == old.id)
        await #expect(throws: PasskeyFailure.cancelled) { try await file.get(Self.request(at: "other.example")) }
        await #expect(throws: PasskeyFailure.cancelled) {
            try await AccountFile(at: path, choosing: [1]).get(Self.request())
        }
    }

    @Test func `an account has one passkey in it`() async throws {
        let file = try AccountFile(at: path)
        let made = try await file.create(Self.creation())
        let again = try Self.creation(excluding: [made.id])
        await #expect(throws: PasskeyFailure.known) { try await file.create(again) }
    }

    @Test func `a passkey that the gateway didn't register or has removed is forgotten`() async throws {
        let file = try AccountFile(at: path)
        let kept = try await file.create(Self.creation())
        _ = try await file.create(Self.creation())
        try file.forgetMade()
        // Only that of the last registration.
        try file.forgetMade()
        #expect(try await AccountFile(at: path).get(Self.request()).id == kept.id)
        try file.forget(Array(kept.id))
        await #expect(throws: PasskeyFailure.cancelled) { try await AccountFile(at: path).get(Self.request()) }
    }

    @Test func `a label reaches the terminal escaped`() {
        let words = AccountCommand.Devices.words(Date(timeIntervalSince1970: 0), "a\u{1B}[31m\n\"")
        #expect(words == #"1970-01-01T00:00:00Z "a\u{1B}[31m\n\"""#)
    }
}
