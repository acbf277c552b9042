import AppAttest
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// Registrations, access tokens and their proofs at gateways that share one store.
struct FleetTokenTests {
    private let fleet: FleetBench
    private var tokens: TokenBench

    init() throws {
        fleet = try FleetBench()
        tokens = try TokenBench()
        let id = try #require(KeyID(bytes: tokens.device.keyID))
        #expect(fleet.store.enrol(try #require(tokens.bench.registry.key(id))) == .enrolled)
    }

    private func settings(of number: Int) -> TokenSettings {
        var settings = tokens.settings
        settings.devices = fleet.gateways[number].settings.appAttest
        settings.replays = replays[number]
        return settings
    }

    private let replays = (0..<4).map { _ in ProofReplays(maximum: 10_000) }

    private func issuer(_ number: Int) -> TokenIssuer {
        TokenIssuer(
            settings(of: number), registry: fleet.store, limits: EndpointLimits(registrationsPerMinute: .max),
            maximumBodyBytes: 65_536)
    }

    private func challenge(of number: Int) -> String {
        fleet.gateways[number].challenges.issueForToken(at: start).nonce
    }

    private func raced(_ requests: [TokenRequest]) async -> [TokenOutcome] {
        await withTaskGroup(of: TokenOutcome.self) { group in
            for (number, request) in requests.enumerated() {
                let issuer = issuer(number % fleet.gateways.count)
                group.addTask { await issuer.issue(request) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test mutating func `one assertion with several proofs yields one token in the fleet`() async throws {
        let nonce = challenge(of: 2)
        let assertion = try tokens.assertion(over: nonce)
        let requests = try (0..<4).map { _ in try tokens.request(nonce: nonce, assertion: assertion) }
        let outcomes = await raced(requests)
        #expect(outcomes.compactMap(\.token).count == 1)
        #expect(outcomes.compactMap(\.refusal).count { $0.answer == .nonceExpired } == 3)
    }

    @Test mutating func `an assertion that isn't its key's leaves no mark in the fleet`() async throws {
        let nonce = challenge(of: 0)
        let forged = try tokens.request(nonce: nonce, assertion: [UInt8](repeating: 1, count: 100))
        #expect(await issuer(1).issue(forged).refusal?.answer == .attestationFailed)
        #expect(!fleet.store.asked.contains(.spend) && !fleet.store.asked.contains(.admit))
        #expect(await issuer(2).issue(try tokens.request(nonce: nonce)).token != nil)
    }

    @Test mutating func `one proof with several assertions yields one token in the fleet`() async throws {
        let first = try tokens.request(nonce: challenge(of: 0))
        var requests = [first]
        for number in 1..<4 {
            var request = try tokens.request(nonce: challenge(of: number))
            let proof = try #require(first.proofs.first)
            let body = String(decoding: request.body, as: UTF8.self)
                .replacing(try #require(request.proofs.first), with: proof)
            (request.body, request.proofs) = (Array(body.utf8), [proof])
            requests.append(request)
        }
        let outcomes = await raced(requests)
        #expect(outcomes.compactMap(\.token).count == 1)
        #expect(outcomes.compactMap(\.refusal).count { $0.answer == .invalidProofAtToken } == 3)
    }

    @Test mutating func `a token request of before a crash yields no token, also if the counter has fallen back`()
        async throws
    {
        let request = try tokens.request(nonce: challenge(of: 0))
        #expect(await issuer(0).issue(request).token != nil)
        fleet.store.crash(SharedStore.incarnation(2), counters: [try #require(KeyID(bytes: tokens.device.keyID)): 0])
        for number in 1..<4 { #expect(await issuer(number).issue(request).token == nil) }
    }

    @Test(arguments: [SharedStore.Operation.look, .spend, .admit])
    func `a store that fails is told to the client`(operation: SharedStore.Operation) async throws {
        var tokens = tokens
        fleet.store.fail([operation], with: .unavailable("not reached"))
        let refusal = await issuer(0).issue(try tokens.request(nonce: challenge(of: 0))).refusal
        #expect(refusal?.answer == .tokensUnavailable && refusal?.retryAfter == 5)
    }

    // MARK: Resources

    private func gate(_ number: Int) -> Gate {
        var settings = fleet.gateways[number].settings
        settings.methods = [AccessTokenMethod(self.settings(of: number))] + settings.methods
        return Gate(settings)
    }

    private func upgrade(
        _ token: String, nonce: String? = nil, at moment: Moment = start, by client: TokenBench? = nil
    ) throws -> AdmissionRequest {
        let proof = try (client ?? tokens).proof("GET", "wss://gate.example:6200/mud/main", nonce: nonce, at: moment)
        var request = fleet.bench.request(at: moment)
        request.path = "/mud/main"
        request.fields = CredentialFields(
            AccessTokenMethod(nil).fields,
            header: { $0 == "dpop" ? proof : $0 == "authorization" ? "Bearer \(token)" : nil },
            parameter: { _ in nil })
        return request
    }

    @Test mutating func `a token of one gateway is good at all, with one proof at one of them`() async throws {
        let token = try #require(await issuer(0).issue(try tokens.request(nonce: challenge(of: 0))).token).text
        let gates = (0..<4).map { gate($0) }
        for gate in gates { #expect(gate.evaluate(try upgrade(token)).awaited?.admitted != nil) }
        let request = try upgrade(token)
        let decisions = race(40) { gates[$0 % 4].evaluate(request).awaited }
        #expect(decisions.compactMap { $0?.admitted }.count == 1)
        #expect(decisions.compactMap { $0?.refusal }.count { $0.answer == .invalidProof } == 39)
    }

    @Test mutating func `a gateway that can't ask the store admits no token`() async throws {
        let token = try #require(await issuer(0).issue(try tokens.request(nonce: challenge(of: 0))).token).text
        for operation in [SharedStore.Operation.look, .spend] {
            fleet.store.fail([operation], with: .busy)
            #expect(gate(1).evaluate(try upgrade(token)).awaited?.refusal?.answer == .storeUnavailable)
            fleet.store.fail([operation], with: nil)
        }
        #expect(gate(1).evaluate(try upgrade(token)).awaited?.admitted != nil)
    }

    @Test mutating func `a token that expires while the store is asked isn't admitted`() async throws {
        let token = try #require(await issuer(0).issue(try tokens.request(nonce: challenge(of: 0))).token).text
        for (milliseconds, isGood) in [(299_999, true), (300_000, false)] {
            let slow = Fleet(
                registry: fleet.store, identity: fleet.gateways[1].identity, now: { start + milliseconds }
            ) { work in
                work()
                return true
            }
            var settings = settings(of: 1)
            settings.devices?.registry = .shared(slow)
            var gate = fleet.gateways[1].settings
            gate.methods = [AccessTokenMethod(settings)] + gate.methods
            let decision = Gate(gate).evaluate(try upgrade(token)).awaited
            #expect((decision?.admitted != nil) == isGood)
            #expect((decision?.refusal?.answer == .invalidToken) != isGood)
        }
    }

    @Test mutating func `a proof of before a crash isn't admitted after it, and a new one is with a nonce`()
        async throws
    {
        let token = try #require(await issuer(0).issue(try tokens.request(nonce: challenge(of: 0))).token).text
        let former = settings(of: 0).serverNonces(at: start).nonce(at: start.date)
        let requests = try [upgrade(token), upgrade(token, nonce: former)]
        for request in requests { #expect(gate(0).evaluate(request).awaited?.admitted != nil) }
        fleet.store.crash(SharedStore.incarnation(2))
        fleet.gateways[3].fleet.learn(SharedStore.present(2), askedAt: start.monotonic)
        var nonces: Set<String?> = []
        // Some learn of the crash by the answer.
        for number in [1, 2, 3] {
            for request in requests {
                let refusal = try #require(gate(number).evaluate(request).awaited?.refusal)
                #expect(refusal.answer == .useNonce)
                nonces.insert(refusal.token?.nonce)
                #expect(gate(number).evaluate(request).awaited?.admitted == nil)
            }
        }
        let nonce = try #require(nonces.first ?? nil)
        #expect(nonces.count == 1 && nonce != former)
        let request = try upgrade(token, nonce: nonce)
        #expect(gate(2).evaluate(request).awaited?.admitted != nil)
        for number in [0, 1, 2, 3] { #expect(gate(number).evaluate(request).awaited?.admitted == nil) }
    }

    @Test mutating func `after a crash a proof's time decides when it is late enough for every gateway's clock`()
        async throws
    {
        let token = try #require(await issuer(0).issue(try tokens.request(nonce: challenge(of: 0))).token).text
        fleet.store.crash(SharedStore.incarnation(2))
        fleet.gateways[3].fleet.learn(SharedStore.present(2), askedAt: start.monotonic)
        let margin = 30_000 + Int(FleetClock.tolerance)
        let last = gate(3).evaluate(try upgrade(token, at: start + (margin + 999))).awaited
        #expect(last?.refusal?.answer == .useNonce)
        #expect(gate(3).evaluate(try upgrade(token, at: start + (margin + 1_000))).awaited?.admitted != nil)
    }

    /// The first question after it waits for a connection, and was asked before the crash.
    @Test mutating func `a gateway that learns of a crash later, or by an earlier question, accepts no used proof`()
        async throws
    {
        let token = try #require(await issuer(0).issue(try tokens.request(nonce: challenge(of: 0))).token).text
        let crash = start + 8_000
        tokens.clockOffset = 29
        let requests = try [0, 4_000, 7_999].map { try upgrade(token, at: start + $0) }
        for request in requests { #expect(gate(0).evaluate(request).awaited?.admitted != nil) }
        fleet.store.crash(SharedStore.incarnation(2), at: crash)
        fleet.gateways[1].fleet.learn(SharedStore.present(2, at: crash), askedAt: start.monotonic)
        // This one hears of it by an answer.
        for (number, seconds) in [(1, 8), (2, 8), (1, 20), (2, 20), (1, 36), (2, 36)] {
            for var request in requests {
                request.moment = start + seconds * 1_000
                let refusal = gate(number).evaluate(request).awaited?.refusal
                // A proof that was refused for the incarnation is known from then on.
                let isKnown = refusal?.answer == .useNonce || number == 2 && refusal?.answer == .invalidProof
                #expect(isKnown, "\(number), \(seconds) s")
            }
        }
        tokens.clockOffset = 0
        let margin = 30_000 + Int(FleetClock.tolerance)
        for number in [1, 2] {
            let last = try upgrade(token, at: crash + (margin + 999))
            #expect(gate(number).evaluate(last).awaited?.refusal?.answer == .useNonce)
            let next = try upgrade(token, at: crash + (margin + 1_000))
            #expect(gate(number).evaluate(next).awaited?.admitted != nil)
        }
    }

    /// A gateway estimates the store's time until it is contradicted; a standby that takes over has a clock of its own.
    @Test(arguments: [-60_000, -5_000, 0, 5_000, 60_000] as [Int64])
    func `a store that begins anew with another clock reveals no used proof`(offset: Int64) async throws {
        var tokens = tokens
        let token = try #require(await issuer(0).issue(try tokens.request(nonce: challenge(of: 0))).token).text
        tokens.clockOffset = 29
        let request = try upgrade(token, by: tokens)
        #expect(gate(0).evaluate(request).awaited?.admitted != nil)
        let now = start.unixMilliseconds + offset
        fleet.store.crash(SharedStore.incarnation(2))
        let present = StorePresent(incarnation: SharedStore.incarnation(2), began: now - 100, time: now)
        fleet.gateways[1].fleet.learn(present, askedAt: (start + 100).monotonic)
        for later in [100, 10_000, 29_000] {
            var again = request
            again.moment = start + later
            #expect(gate(1).evaluate(again).awaited?.refusal?.answer == .useNonce, "\(later)")
        }
    }

    @Test(arguments: [-30, -20, 0, 30] as [Int64])
    func `right after a crash a phone gets a token, whatever its clock within the window`(offset: Int64) async throws {
        var tokens = tokens
        tokens.clockOffset = offset
        let former = try tokens.request(nonce: challenge(of: 0))
        fleet.store.crash(SharedStore.incarnation(2))
        // The challenge is from before, and the client is told so: it isn't the proof's fault.
        #expect(await issuer(1).issue(former).refusal?.answer == .nonceExpired)
        fleet.gateways[2].fleet.learn(SharedStore.present(2), askedAt: start.monotonic)
        let request = try tokens.request(nonce: challenge(of: 2))
        #expect(await issuer(1).issue(request).token != nil)
        #expect(await issuer(2).issue(request).token == nil)
    }

    // MARK: Registrations

    @Test func `a registration challenge is good at every gateway, once in the fleet`() async throws {
        let device = SimulatedDevice(app: Bench.app)
        let nonce = fleet.gateways[0].nonce()
        let authority = try Bench.authority.get()
        let attestation = try device.attest(clientDataHash: clientDataHash(of: nonce), by: authority, at: start.date)
        let body = try JSONEncoder().encode([
            "keyId": Data(device.keyID).base64EncodedString(),
            "attestation": Data(attestation).base64EncodedString(), "nonce": nonce,
        ])
        fleet.store.fail([.spend], with: .busy)
        #expect(await register(Array(body), 3)?.answer == .attestationUnavailable)
        fleet.store.fail([.spend], with: nil)
        #expect(await register(Array(body), 1) == nil)
        #expect(fleet.store.keys(after: nil, limit: 9).count == 2)
        for number in [0, 1, 2] {
            #expect(await register(Array(body), number)?.answer == .invalidRegistrationNonce)
        }
        // The same challenge is used for assertions too.
        var registered = try fleet.registeredDevice()
        let request = fleet.bench.request(try fleet.bench.assertion(by: &registered, over: nonce))
        #expect(try fleet.decide(request, by: 2).refusal?.answer == .invalidNonce)
    }

    private func register(_ body: [UInt8], _ number: Int) async -> Refusal? {
        guard let settings = fleet.gateways[number].settings.appAttest else { return nil }
        let registrar = Registrar(
            settings: settings, registry: fleet.store,
            verifier: AttestationVerifier(trustRoot: fleet.bench.trustRoot, policy: fleet.bench.policy),
            limits: EndpointLimits())
        return await registrar.register(body: body, from: address("192.0.2.1"), at: start).refusal
    }
}
