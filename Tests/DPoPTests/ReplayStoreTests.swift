import Foundation
import Testing

@testable import DPoP

@Suite("The replay store")
struct ReplayStoreTests {
    private func use(
        _ id: String, scalar: UInt8 = 7, expires: Double = 30, at time: Date = TestProof.now, life: [UInt8]? = nil
    ) throws -> ProofUse {
        let uri = try #require(TargetURI(TestProof.url))
        return ProofUse(
            key: try TestProof(scalar: scalar).thumbprint, uri: uri, id: id, issuedAt: time + expires - 30, window: 30,
            life: life)
    }

    @Test func `distinguishes proofs by key, URI and identifier, and keeps only hashes of 16 bytes`() throws {
        let uri = try #require(TargetURI("https://a/b"))
        let thumbprint = try TestProof().thumbprint
        let one = ProofUse(key: thumbprint, uri: uri, id: "c", issuedAt: TestProof.now, window: 30)
        let same = ProofUse(key: thumbprint, uri: uri, id: "c", issuedAt: TestProof.now, window: 30)
        #expect(one == same && one.identity.count == 16 && one.key == Array(thumbprint.bytes.prefix(16)))
        let shifted = ProofUse(
            key: thumbprint, uri: try #require(TargetURI("https://a/bc")), id: "", issuedAt: TestProof.now, window: 30)
        #expect(shifted.identity != one.identity)
    }

    @Test func `forgets a proof when it has expired, and not a second earlier`() throws {
        let store = MemoryReplayStore()
        let first = try use("a")
        #expect(store.spend(first, at: TestProof.now) == .spent)
        #expect(store.spend(first, at: TestProof.now + 30.9) == .replayed)
        #expect(store.spend(first, at: TestProof.now + 31) == .undecidable)
        #expect(store.count == 0)
        // One that it has never seen, and that has expired on its way.
        #expect(MemoryReplayStore().spend(first, at: TestProof.now + 31) == .undecidable)
    }

    @Test func `accepts no proof that it may have forgotten when the clock is set back`() throws {
        let store = MemoryReplayStore()
        let first = try use("a")
        #expect(store.spend(first, at: TestProof.now) == .spent)
        #expect(store.spend(try use("b", expires: 100), at: TestProof.now + 40) == .spent)
        #expect(store.count == 1)
        #expect(store.spend(first, at: TestProof.now) == .undecidable)
        #expect(store.spend(try use("c", expires: 31), at: TestProof.now) == .spent)
    }

    @Test func `refuses in another process what was used here, and exactly that`() throws {
        let old = MemoryReplayStore()
        for id in ["a", "b"] { #expect(old.spend(try use(id), at: TestProof.now) == .spent) }
        #expect(old.spend(try use("c", expires: 100), at: TestProof.now + 40) == .spent)
        let new = MemoryReplayStore(maximum: 1)
        try new.restore(old.carried)
        #expect(new.count == old.count)
        #expect(new.spend(try use("c", expires: 100), at: TestProof.now + 40) == .replayed)
        // Expired in the process before: what may be forgotten stays so.
        #expect(new.spend(try use("a"), at: TestProof.now) == .undecidable)
        let roomy = MemoryReplayStore()
        try roomy.restore(old.carried)
        #expect(roomy.spend(try use("d", expires: 100), at: TestProof.now + 40) == .spent)
    }

    /// A store of before, whose clock was the same, has accepted what is dated up to 30 s after its end.
    @Test func `can't decide about proofs that could have been accepted before it began, to the second`() throws {
        let life = ReplayLife(began: TestProof.now + 0.9)
        let store = MemoryReplayStore(life: life)
        for offset in [-20, 0, 0.5, 0.9, 1, 10, 25, 29.9, 30, 30.9] {
            let proof = try use("\(offset)", at: TestProof.now + offset)
            #expect(store.spend(proof, at: TestProof.now + 5) == .perhapsInEarlierLife, "\(offset)")
        }
        #expect(store.count == 0)
        let next = try use("31", at: TestProof.now + 31)
        #expect(store.refusal(of: next, at: TestProof.now + 5, in: life) == nil)
        #expect(store.spend(next, at: TestProof.now + 5) == .spent)
        #expect(store.spend(next, at: TestProof.now + 5) == .replayed)
        // The first store of all has forgotten nothing.
        let first = MemoryReplayStore(life: ReplayLife(began: nil))
        #expect(first.spend(try use("a", at: TestProof.now - 20), at: TestProof.now) == .spent)
    }

    @Test func `decides about proofs that show its life, and about no other's`() throws {
        let (life, other) = (ReplayLife(began: TestProof.now), ReplayLife(began: TestProof.now))
        let store = MemoryReplayStore(life: life)
        let proof = try use("a", at: TestProof.now - 20, life: other.id)
        #expect(store.spend(proof, at: TestProof.now) == .perhapsInEarlierLife)
        #expect(store.spend(proof.shown(in: life), at: TestProof.now) == .spent)
        // Whatever it shows, it is the same proof.
        for again in [proof, proof.shown(in: life), try use("a", at: TestProof.now - 20)] {
            #expect(store.spend(again, at: TestProof.now) == .replayed)
        }
        #expect(life.id.count == 32 && life.id != other.id)
        #expect(ReplayLife(id: [UInt8](repeating: 1, count: 15), began: nil) == nil)
        #expect(ReplayLife(id: [UInt8](repeating: 1, count: 16), began: nil) != nil)
        #expect(ReplayLife(id: [UInt8](repeating: 1, count: 64), began: nil) != nil)
        #expect(ReplayLife(id: [UInt8](repeating: 1, count: 65), began: nil) == nil)
    }

    @Test func `is full at its maximum, and has room again when proofs have expired`() throws {
        let store = MemoryReplayStore(maximum: 40, maximumPerKey: 40)
        for scalar in 1...40 { #expect(store.spend(try use("a", scalar: UInt8(scalar)), at: TestProof.now) == .spent) }
        #expect(store.spend(try use("a", scalar: 41), at: TestProof.now) == .full)
        #expect(store.spend(try use("a", scalar: 1), at: TestProof.now) == .replayed)
        let later = TestProof.now + 31
        #expect(store.spend(try use("b", scalar: 41, at: later), at: later) == .spent)
        #expect(store.count == 41 - SpentProofs.forgottenPerCall)
    }

    @Test func `limits each key, and other keys aren't affected`() throws {
        let store = MemoryReplayStore(maximum: 10_000, maximumPerKey: 5)
        for index in 0..<5 { #expect(store.spend(try use("\(index)"), at: TestProof.now) == .spent) }
        #expect(store.spend(try use("5"), at: TestProof.now) == .keyLimit)
        #expect(store.spend(try use("5", scalar: 8), at: TestProof.now) == .spent)
        let later = TestProof.now + 31
        #expect(store.spend(try use("6", at: later), at: later) == .spent)
    }

    @Test func `lowers a busy key's limit as it fills, so that other keys still have room`() throws {
        let store = MemoryReplayStore(maximum: 160, maximumPerKey: 1_000)
        var taken = 0
        while store.spend(try use("\(taken)"), at: TestProof.now) == .spent { taken += 1 }
        // A sixteenth of what is left: 9 of 160.
        #expect(taken == 9 || taken == 10)
        for scalar in 8...150 { _ = store.spend(try use("a", scalar: UInt8(scalar)), at: TestProof.now) }
        #expect(store.spend(try use("b", scalar: 9), at: TestProof.now) == .keyLimit)
        #expect(store.spend(try use("a", scalar: 151), at: TestProof.now) == .spent)
    }

    @Test func `never exceeds its maximum and loses no entry under random use`() throws {
        let uses = try (0..<400).map { try use("\($0)", scalar: UInt8($0 % 20 + 1), expires: Double($0 % 61)) }
        var store = SpentProofs(maximum: 100, maximumPerKey: 50)
        var spent: [Int: Int64] = [:]
        for step in 0..<4_000 {
            let now = TestProof.now.wholeSeconds + Int64(step / 50)
            let index = step * 7 % uses.count
            let outcome = store.spend(uses[index], at: now)
            #expect(store.count <= 100)
            if outcome == .spent {
                #expect(spent[index] == nil)
                spent[index] = now
            }
        }
        #expect(spent.count > 100)
    }

    @Test func `accepts a proof from exactly one of many concurrent threads`() throws {
        let uri = try #require(TargetURI(TestProof.url))
        let keys = try (1...20).map { try TestProof(scalar: $0).thumbprint }
        // Long enough that the threads overlap, however they are started.
        let uses = (0..<4_000).map {
            ProofUse(key: keys[$0 % keys.count], uri: uri, id: "\($0)", issuedAt: TestProof.now, window: 30)
        }
        let store = MemoryReplayStore()
        let outcomes = race(8) { _ in uses.map { store.spend($0, at: TestProof.now) } }
        for index in uses.indices {
            #expect(outcomes.filter { $0[index] == .spent }.count == 1)
        }
        #expect(outcomes.joined().allSatisfy { $0 == .spent || $0 == .replayed } && store.count == uses.count)
    }
}
