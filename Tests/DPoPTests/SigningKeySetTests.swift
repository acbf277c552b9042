import Foundation
import Testing

@testable import DPoP

@Suite("The signing keys")
struct SigningKeySetTests {
    private let start = TestProof.now
    /// Publish for 100 s, tokens of 300 s, clocks within 10 s, sign for 1000 s.
    private let schedule: SigningKeySchedule
    private let one, two, three: SigningKey

    init() throws {
        schedule = try #require(
            SigningKeySchedule(tokenLifetime: 300, publicationLead: 100, clockTolerance: 10, signingPeriod: 1_000))
        func key(_ scalar: UInt8) throws -> SigningKey {
            try #require(SigningKey(rawRepresentation: [UInt8](repeating: scalar, count: 32)))
        }
        (one, two, three) = (try key(1), try key(2), try key(3))
    }

    private func makeSet(_ keys: [ScheduledKey] = []) throws -> SigningKeySet {
        try #require(SigningKeySet(keys, schedule: schedule))
    }

    private func published(_ set: SigningKeySet, _ offset: Double) -> [String] {
        set.published(at: start + offset).keys.map(\.thumbprint.text)
    }

    @Test func `begin with one key that signs at once`() throws {
        var set = try makeSet()
        #expect(set.signer(at: start) == nil && set.isRotationDue(at: start))
        let addition = set.add(one, at: start)
        let added = try #require(addition)
        #expect(added.publishedAt == start && added.signsFrom == start)
        #expect(set.signer(at: start)?.keyID == one.keyID && !set.isRotationDue(at: start))
        #expect(set.signer(at: start - 1) == nil)
    }

    @Test func `are published first, sign after the lead, and are kept for a token's lifetime after it`() throws {
        var set = try makeSet()
        _ = set.add(one, at: start)
        #expect(!set.isRotationDue(at: start + 899) && set.isRotationDue(at: start + 900))
        let addition = set.add(two, at: start + 900)
        let added = try #require(addition)
        #expect(added.signsFrom == start + 1_000)
        #expect(published(set, 899) == [one.keyID] && published(set, 900) == [one.keyID, two.keyID])
        #expect(set.signer(at: start + 999)?.keyID == one.keyID && set.signer(at: start + 1_000)?.keyID == two.keyID)
        #expect(published(set, 1_310) == [one.keyID, two.keyID] && published(set, 1_311) == [two.keyID])
        #expect(set.removeRetired(at: start + 1_310).isEmpty)
        #expect(set.removeRetired(at: start + 1_311).map(\.keyID) == [one.keyID] && set.keys.count == 1)
        #expect(!set.isRotationDue(at: start + 1_899) && set.isRotationDue(at: start + 1_900))
    }

    @Test func `take one successor at a time, up to the maximum`() throws {
        var set = try makeSet()
        _ = set.add(one, at: start)
        #expect(set.add(one, at: start) == nil)
        #expect(set.add(two, at: start) != nil && set.add(three, at: start + 99) == nil)
        #expect(set.add(three, at: start + 100) != nil)
        var keys = try (1...8).map { scalar in
            ScheduledKey(
                key: try #require(SigningKey(rawRepresentation: [UInt8](repeating: scalar, count: 32))),
                publishedAt: start, signsFrom: start)
        }
        var full = try makeSet(keys)
        let ninth = try #require(SigningKey(rawRepresentation: [UInt8](repeating: 9, count: 32)))
        #expect(full.add(ninth, at: start) == nil)
        keys.append(ScheduledKey(key: ninth, publishedAt: start, signsFrom: start))
        #expect(SigningKeySet(keys, schedule: schedule) == nil)
        #expect(SigningKeySet([keys[0], keys[0]], schedule: schedule) == nil)
    }

    @Test func `are the same after a restart`() throws {
        var before = try makeSet()
        let stored = [before.add(one, at: start), before.add(two, at: start + 900)].compactMap(\.self).map {
            ScheduledKey(
                key: SigningKey(rawRepresentation: $0.key.rawRepresentation) ?? $0.key, publishedAt: $0.publishedAt,
                signsFrom: $0.signsFrom)
        }
        let after = try makeSet(stored.reversed())
        for offset in [0.0, 900, 999, 1_000, 1_310, 1_311, 5_000] {
            #expect(published(after, offset) == published(before, offset))
            #expect(after.signer(at: start + offset)?.keyID == before.signer(at: start + offset)?.keyID)
        }
    }

    @Test func `end at once when revoked, and the next published key takes over`() throws {
        var set = try makeSet()
        _ = set.add(one, at: start)
        _ = set.add(two, at: start + 10)
        #expect(set.revoke(one.keyID, at: start + 20).map(\.keyID) == [one.keyID])
        #expect(published(set, 20) == [two.keyID] && set.signer(at: start + 20)?.keyID == two.keyID)
        #expect(set.revoke(two.keyID, at: start + 30).count == 1 && set.signer(at: start + 30) == nil)
        #expect(set.revoke(two.keyID, at: start + 30).isEmpty && set.isRotationDue(at: start + 30))
        #expect(set.add(three, at: start + 40)?.signsFrom == start + 40)
    }

    @Test func `sign again when their successor is revoked while verifiers still have them`() throws {
        var set = try makeSet()
        _ = set.add(one, at: start)
        _ = set.add(two, at: start + 900)
        _ = set.add(three, at: start + 1_250)
        var late = set
        #expect(set.revoke(two.keyID, at: start + 1_310).map(\.keyID) == [two.keyID])
        #expect(set.signer(at: start + 1_310)?.keyID == one.keyID)
        #expect(set.signer(at: start + 1_350)?.keyID == three.keyID)
        #expect(late.revoke(two.keyID, at: start + 1_311).map(\.keyID) == [one.keyID, two.keyID])
        #expect(late.signer(at: start + 1_311)?.keyID == three.keyID)
    }

    @Test func `don't appear in descriptions, and are scalars of the curve`() throws {
        #expect("\(one)" == "(signing key \(one.keyID))" && String(reflecting: one) == "\(one)")
        #expect(Mirror(reflecting: one).children.isEmpty)
        #expect(SigningKey(rawRepresentation: [UInt8](repeating: 0, count: 32)) == nil)
        #expect(SigningKey(rawRepresentation: [UInt8](repeating: 255, count: 32)) == nil)
        #expect(SigningKey(rawRepresentation: [UInt8](repeating: 1, count: 31)) == nil)
        #expect(SigningKeySchedule(tokenLifetime: -1) == nil && SigningKeySchedule(tokenLifetime: .nan) == nil)
        #expect(SigningKeySchedule(tokenLifetime: 1, publicationLead: 5, signingPeriod: 5) == nil)
        #expect(SigningKeySchedule(tokenLifetime: 300, signingPeriod: .infinity) != nil)
    }
}
