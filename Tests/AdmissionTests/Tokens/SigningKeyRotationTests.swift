import DPoP
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// The signing keys of a store.
struct SigningKeyRotationTests {
    private let store = MemorySigningKeyStore()
    private let schedule: SigningKeySchedule
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        schedule = try #require(SigningKeySchedule(tokenLifetime: 300, publicationLead: 3_600, signingPeriod: 86_400))
    }

    private var rotation: SigningKeyRotation { SigningKeyRotation(store, schedule: schedule) }

    private func keys() throws -> TokenKeys {
        try #require(
            TokenKeys(store.signingKeys(), schedule: schedule, nonceSecret: [UInt8](repeating: 1, count: 32)))
    }

    @Test func `the first key is made once and signs at once`() throws {
        let stored = try rotation.keepUp(at: now)
        #expect(stored.keys.count == 1)
        #expect(try rotation.keepUp(at: now + 1) == stored)
        #expect(try keys().signer(at: now)?.keyID == stored.keys[0].id)
    }

    @Test func `processes that start at once share one first key`() throws {
        let stored = race(8) { [rotation, now] _ in try? rotation.keepUp(at: now) }
        #expect(Set(stored.map { $0?.keys.map(\.id) }).count == 1)
        #expect(store.signingKeys().keys.count == 1)
    }

    @Test func `a rotation is published first, signs later, and keeps the old key for its tokens`() throws {
        let first = try rotation.keepUp(at: now).keys[0].id
        let second = try rotation.rotate(at: now + 10).key.keyID
        let keys = try keys()
        #expect(Set(keys.published(at: now + 10).keys.map(\.thumbprint.text)) == [first, second])
        #expect(keys.signer(at: now + 3_609)?.keyID == first)
        #expect(keys.signer(at: now + 3_611)?.keyID == second)
        #expect(keys.published(at: now + 3_900).keys.count == 2)
        #expect(keys.published(at: now + 4_000).keys.map(\.thumbprint.text) == [second])
        #expect(throws: SigningKeyError.rotationUnderWay) { try rotation.rotate(at: now + 20) }
    }

    @Test func `a key that is due is rotated automatically`() throws {
        let first = try rotation.keepUp(at: now).keys[0].id
        #expect(try rotation.keepUp(at: now + 82_000).keys.count == 1)
        let due = try rotation.keepUp(at: now + 83_000)
        #expect(due.keys.count == 2 && due.keys[0].id == first)
    }

    @Test func `a revoked key's secret is deleted, its name stays, and another key signs`() throws {
        let first = try rotation.keepUp(at: now).keys[0].id
        try rotation.revoke(first, at: now + 1)
        let stored = store.signingKeys()
        #expect(stored.revoked.map(\.id) == [first] && !stored.keys.map(\.id).contains(first))
        let keys = try keys()
        #expect(keys.isRevoked(first) && keys.signer(at: now + 1) != nil)
        #expect(throws: SigningKeyError.unknownKey) { try rotation.revoke(first, at: now + 2) }
        #expect(throws: SigningKeyError.unknownKey) { try rotation.revoke("x", at: now + 2) }
    }

    @Test func `the names of revoked keys are bounded, the oldest go first`() throws {
        for number in 0...SigningKeyRotation.maximumRevoked {
            let time = now + Double(number)
            try rotation.revoke(rotation.keepUp(at: time).keys[0].id, at: time)
            #expect(store.signingKeys().revoked.count == min(number + 1, SigningKeyRotation.maximumRevoked))
        }
        #expect(store.signingKeys().revoked.first?.revokedAt == 1_800_000_001_000)
    }

    @Test func `a key whose name isn't its thumbprint is reported as damage`() throws {
        var stored = try rotation.keepUp(at: now)
        let key = stored.keys[0]
        let renamed = StoredSigningKey(id: "x", secret: key.secret, publishedAt: 0, signsFrom: 0)
        #expect(store.replaceSigningKeys(stored, with: StoredSigningKeys(keys: [renamed])))
        #expect(throws: SigningKeyError.damaged) { try rotation.keepUp(at: now) }
        stored = store.signingKeys()
        #expect(TokenKeys(stored, schedule: schedule, nonceSecret: [UInt8](repeating: 1, count: 32)) == nil)
    }

    @Test func `no description shows a secret`() throws {
        let key = try rotation.keepUp(at: now).keys[0]
        for text in ["\(key)", String(reflecting: key), "\(StoredSigningKeys(keys: [key]))"] {
            #expect(!text.contains("\(key.secret[0]), \(key.secret[1])"))
        }
    }
}
