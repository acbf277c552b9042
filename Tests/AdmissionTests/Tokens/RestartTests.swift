import DPoP
import Foundation
import KeyStore
import StateCoding
import Synchronization
import Testing

@testable import Admission

/// A gateway that begins anew and doesn't know which proofs the one before has accepted, and its clients, whose clocks
/// differ.
struct RestartTests {
    private var bench: TokenBench

    init() throws { bench = try TokenBench() }

    private func ask(_ request: ResourceRequest) throws -> Refusal? {
        try ResourceVerifier(bench.settings).verify(request).refusal
    }

    private mutating func token(at moment: Moment = start) async throws -> String {
        try #require(await bench.issuer().issue(bench.request(at: moment)).token).text
    }

    // MARK: With a challenge

    @Test(arguments: [-30, -20, -1, 0, 10, 29, 30] as [Int64])
    mutating func `a phone registers and gets a token at once, whatever its clock within the window`(
        offset: Int64
    ) async throws {
        bench.restart(at: start)
        bench.clockOffset = offset
        let nonce = bench.challenge(at: start)
        let registration = try bench.registration(nonce: nonce)
        #expect(try await bench.registrar().register(registration).registered != nil)
        let request = try bench.request(nonce: nonce)
        #expect(await bench.issuer().issue(request).token != nil)
        // Once, and each proof once.
        #expect(try await bench.registrar().register(registration).refusal?.answer == .nonceExpired)
        #expect(await bench.issuer().issue(request).refusal?.answer == .nonceExpired)
        var again = try bench.request { $0["dpop"] = nil }
        again.proofs = request.proofs
        #expect(await bench.issuer().issue(again).refusal?.answer == .invalidProofAtToken)
    }

    @Test(arguments: [-31, 31] as [Int64])
    mutating func `beyond the window the phone's clock is wrong`(offset: Int64) async throws {
        bench.restart(at: start)
        bench.clockOffset = offset
        #expect(try await bench.registrar().register(bench.registration()).refusal?.answer == .clockSkewAtToken)
        #expect(await bench.issuer().issue(try bench.request()).refusal?.answer == .clockSkewAtToken)
    }

    @Test(arguments: [-20, 0, 10, 25, 30] as [Int64])
    mutating func `a registration and a token request of before count once`(offset: Int64) async throws {
        bench.clockOffset = offset
        let registration = try bench.registration()
        let request = try bench.request()
        #expect(try await bench.registrar().register(registration).registered != nil)
        #expect(await bench.issuer().issue(request).token != nil)
        bench.restart(at: start + 1)
        #expect(try await bench.registrar().register(registration).refusal?.answer == .nonceExpired)
        #expect(await bench.issuer().issue(request).refusal?.answer == .nonceExpired)
    }

    @Test mutating func `a clock that was set back turns no phone away`() async throws {
        #expect(await bench.issuer().issue(try bench.request()).token != nil)
        // What expires until then is forgotten.
        let later = start + 100_000
        for _ in 0..<3 { #expect(await bench.issuer().issue(try bench.request(at: later)).token != nil) }
        let back = Moment(monotonic: (start + 101_000).monotonic, unixMilliseconds: start.unixMilliseconds)
        let request = try bench.request(nonce: bench.challenge(at: back), at: back)
        #expect(await bench.issuer().issue(request).token != nil)
        #expect(await bench.issuer().issue(request).token == nil)
    }

    // MARK: Resources

    @Test(arguments: [-20, -1, 0, 10, 25, 29, 30] as [Int64])
    mutating func `a used proof isn't accepted again, and a new one is with a nonce`(offset: Int64) async throws {
        let token = try await token()
        bench.clockOffset = offset
        let used = try bench.resource(token)
        #expect(try ask(used) == nil)
        // Within the same second.
        bench.restart(at: start + 300)
        for later in [300, 900, 5_000, 9_999] {
            var again = used
            again.moment = start + later
            let refusal = try #require(try ask(again))
            #expect(refusal.answer == .useNonce && refusal.status == 401 && refusal.failed.check == .replay)
            let nonce = try #require(refusal.token?.nonce)
            #expect(refusal.headerFields.contains { $0.name == "DPoP-Nonce" && $0.value == nonce })
            let next = try bench.resource(token, nonce: nonce, at: start + later)
            #expect(try ask(next) == nil)
            #expect(try ask(next)?.answer == .invalidProof)
        }
        #expect(bench.settings.replays.resource.count == 4)
    }

    @Test mutating func `a proof's time decides when it could have been accepted only since`() async throws {
        let token = try await token()
        bench.restart(at: start + 999)
        for (offset, answer) in [(30, RefusalAnswer.useNonce), (31, nil)] as [(Int64, RefusalAnswer?)] {
            bench.clockOffset = offset - 1
            #expect(try ask(bench.resource(token, at: start + 1_000))?.answer == answer, "\(offset)")
        }
        bench.clockOffset = 0
        #expect(try ask(bench.resource(token, at: start + 30_999))?.answer == .useNonce)
        #expect(try ask(bench.resource(token, at: start + 31_000)) == nil)
        bench.clockOffset = -30
        #expect(try ask(bench.resource(token, at: start + 60_000))?.answer == .useNonce)
        #expect(try ask(bench.resource(token, at: start + 61_000)) == nil)
    }

    @Test mutating func `a nonce of before shows nothing after`() async throws {
        let token = try await token()
        let former = bench.settings.serverNonces(at: start).nonce(at: start.date)
        let used = try bench.resource(token, nonce: former)
        #expect(try ask(used) == nil)
        bench.restart(at: start)
        #expect(try ask(used)?.answer == .useNonce)
        bench.settings.nonces = .always
        #expect(try ask(used)?.answer == .useNonce)
        let nonce = try #require(try ask(used)?.token?.nonce)
        #expect(nonce != former)
        #expect(try ask(bench.resource(token, nonce: nonce)) == nil)
    }

    @Test mutating func `a gateway that has never run before demands nothing`() async throws {
        let token = try await token()
        bench.clockOffset = -30
        #expect(try ask(bench.resource(token)) == nil)
    }

    /// Before the restart the clock was right, at first it is five minutes slow.
    @Test mutating func `a clock that is set forward after the start reveals no used proof`() async throws {
        let token = try await token()
        let used = try bench.resource(token)
        #expect(try ask(used) == nil)
        bench.restart(
            at: Moment(monotonic: (start + 2_000).monotonic, unixMilliseconds: start.unixMilliseconds - 298_000))
        var again = used
        again.moment = start + 10_000
        #expect(try ask(again)?.answer == .useNonce)
        #expect(try ask(bench.resource(token, at: start + 32_999))?.answer == .useNonce)
        #expect(try ask(bench.resource(token, at: start + 33_000)) == nil)
    }

    // MARK: Development tokens

    @Test mutating func `a development token needs a nonce, which costs it no place`() async throws {
        let registry = CountedDevelopmentToken()
        bench.settings.development = registry
        func request(nonce: String? = nil, at moment: Moment) throws -> TokenRequest {
            var bench = bench
            return try bench.request(serverNonce: nonce, at: moment) { members in
                (members["attestation"], members["nonce"], members["dev_token"]) = (nil, nil, "\"pdt_good\"")
            }
        }
        let used = try request(at: start)
        #expect(await bench.issuer().issue(used).token != nil && registry.count == 1)
        #expect(await bench.issuer().issue(used).refusal?.answer == .invalidProofAtToken && registry.count == 1)
        bench.restart(at: start)
        let refusal = try #require(await bench.issuer().issue(used).refusal)
        #expect(refusal.answer == .useNonce && refusal.status == 401 && registry.count == 1)
        let again = try request(nonce: try #require(refusal.token?.nonce), at: start)
        #expect(await bench.issuer().issue(again).token != nil && registry.count == 2)
        #expect(await bench.issuer().issue(again).refusal?.answer == .invalidProofAtToken)
        #expect(await bench.issuer().issue(try request(at: start + 30_999)).refusal?.answer == .useNonce)
        #expect(await bench.issuer().issue(try request(at: start + 31_000)).token != nil)
    }

    @Test mutating func `where nonces are demanded, one of before is replaced and the assertion stays good`()
        async throws
    {
        bench.settings.nonces = .token
        let former = bench.settings.serverNonces(at: start).nonce(at: start.date)
        bench.restart(at: start)
        let nonce = bench.challenge()
        let assertion = try bench.assertion(over: nonce)
        let first = try bench.request(nonce: nonce, assertion: assertion, serverNonce: former)
        let demand = try #require(await bench.issuer().issue(first).refusal)
        #expect(demand.answer == .useNonce)
        let second = try bench.request(nonce: nonce, assertion: assertion, serverNonce: demand.token?.nonce)
        #expect(await bench.issuer().issue(second).token != nil)
    }

    // MARK: Upgrades

    @Test mutating func `a process that takes over changes nothing for clients`() async throws {
        let token = try await token()
        bench.restart(at: start - 120_000)
        bench.clockOffset = -20
        let old = bench.settings.replays
        let former = bench.settings.serverNonces(at: start).nonce(at: start.date)
        let used = try bench.resource(token)
        #expect(try ask(used) == nil)
        bench.restart(at: start + 100)
        #expect(try ask(bench.resource(token))?.answer == .useNonce)
        bench.settings.replays = try restored(old)
        #expect(try ask(used)?.answer == .invalidProof)
        #expect(try ask(bench.resource(token)) == nil)
        bench.settings.nonces = .always
        #expect(try ask(bench.resource(token, nonce: former)) == nil)
    }

    @Test mutating func `what the process before couldn't decide its successor can't`() async throws {
        let token = try await token()
        let used = try bench.resource(token)
        #expect(try ask(used) == nil)
        bench.restart(at: start + 1_000)
        bench.settings.replays = try restored(bench.settings.replays)
        #expect(try ask(used)?.answer == .useNonce)
        #expect(try ask(bench.resource(token, at: start + 32_000)) == nil)
    }

    private func restored(_ old: ProofReplays) throws -> ProofReplays {
        let new = ProofReplays(followingAt: start + 200)
        let life = try StateDecoder.decode(GatewayLife.self, from: try StateEncoder.bytes(of: old.carriedLife))
        try new.restore(life)
        for (store, carried) in zip(stores(new), stores(old).map(\.carried)) { try store.restore(carried) }
        return new
    }

    private func stores(_ replays: ProofReplays) -> [MemoryReplayStore] {
        [replays.registration, replays.token, replays.resource]
    }

    @Test func `a life that is damaged isn't taken over`() throws {
        struct Damaged: Codable { let id: [UInt8] }
        for (count, isGood) in [(0, false), (15, false), (16, true), (64, true), (65, false)] {
            let bytes = try StateEncoder.bytes(of: Damaged(id: [UInt8](repeating: 7, count: count)))
            let life = try StateDecoder.decode(GatewayLife.self, from: bytes)
            let replays = ProofReplays(followingAt: start)
            #expect(((try? replays.restore(life)) != nil) == isGood, "\(count)")
        }
    }
}

/// Counts how often its one token is redeemed.
private final class CountedDevelopmentToken: DevelopmentTokenRegistry, ImmediateDevelopmentTokenRegistry {
    private let redeemed = Mutex(0)

    var count: Int { redeemed.withLock { $0 } }

    func redeem(_ token: String, by device: [UInt8], at time: Int64) -> GrantStatus {
        redeemed.withLock { $0 += 1 }
        return OneDevelopmentToken().redeem(token, by: device, at: time)
    }

    func status(ofGrant id: String, at time: Int64) -> GrantStatus {
        OneDevelopmentToken().status(ofGrant: id, at: time)
    }
}
