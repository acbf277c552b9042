import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

@Suite("Signed upgrades")
struct SignedUpgradeTests {
    private let signed: SignedBench
    private let url = SignedBench.origin + "/mud/mine"

    init() throws { signed = try SignedBench() }

    @Test func `either recipe admits, and the session is the device's`() throws {
        var device = try signed.bench.registeredDevice()
        for sent in [try signed.first(&device), try signed.second(&device, "GET", url)] {
            let admitted = try #require(signed.upgrade(sent).admitted)
            #expect(admitted.principal.identity.method.label == "signed_request")
            #expect(admitted.principal.identity.subject == SignedBench.base64(device.keyID))
            #expect(signed.upgrade(sent).refusal?.answer == .signedChallengeRefused)
        }
    }

    @Test func `another URL, another method, and a body are refused`() throws {
        var device = try signed.bench.registeredDevice()
        #expect(signed.upgrade(try signed.second(&device, "GET", url + "2")).refusal?.failed.check == .htu)
        #expect(signed.upgrade(try signed.second(&device, "POST", url)).refusal?.failed.check == .htm)
        #expect(signed.upgrade(try signed.second(&device, "GET", url, body: "a")).refusal?.answer == .digestNotAccepted)
        #expect(signed.upgrade(try signed.first(&device, body: "a")).refusal?.answer == .digestNotAccepted)
    }

    @Test func `only a counter above the highest opens a WebSocket`() throws {
        var device = try signed.bench.registeredDevice()
        let early = try signed.first(&device)
        #expect(try signed.authorize(try signed.first(&device)).verified != nil)
        #expect(signed.upgrade(early).refusal?.answer == .signedAssertionRejected)
        #expect(signed.upgrade(try signed.first(&device)).admitted != nil)
    }

    @Test func `routes admit it by its name, before anything is spent`() throws {
        var device = try signed.bench.registeredDevice()
        let sent = try signed.first(&device)
        let closed = signed.upgrade(sent) { $0.allowedMethods = ["app", "token"] }
        #expect(closed.refusal?.answer == .wayNotAllowed)
        #expect(signed.upgrade(sent) { $0.allowedMethods = ["signed"] }.admitted != nil)
    }

    @Test func `one field chooses the method, and without the setting none does`() throws {
        var device = try signed.bench.registeredDevice()
        var sent = try signed.first(&device)
        sent[.assertion] = nil
        let refusal = try #require(signed.upgrade(sent).refusal)
        #expect(refusal.answer == .signedFieldMissing && refusal.method.label == "signed_request")
        #expect(refusal.authenticationScheme == "AppAttest")
        let off = SignedRequestMethod(nil)
        #expect(off.traits.fields.headers.isEmpty && off.credential(in: signed.bench.request()) == nil)
    }

    @Test func `a refused client gets the challenge of its dialect for the next attempt`() throws {
        var device = try signed.bench.registeredDevice()
        let sent = try signed.first(&device)
        #expect(signed.upgrade(sent).admitted != nil)
        let refusal = try #require(signed.upgrade(sent).refusal)
        let next = try #require(refusal.freshChallenge)
        #expect(next.field == "X-AppAttest-Next-Challenge")
        #expect(refusal.headerFields.contains { $0 == (next.field, next.text) })
        #expect(signed.upgrade(try signed.first(&device, over: next.text)).admitted != nil)
        var unknown = SimulatedDevice(app: Bench.app)
        let unregistered = try #require(signed.upgrade(try signed.first(&unknown)).refusal)
        #expect(unregistered.status == 428 && unregistered.freshChallenge?.field == next.field)
        #expect(unregistered.message == "device requires re-attestation")
        // Who tries nothing gets the one of the guide's dialect, as without signed requests.
        #expect(signed.gate.evaluate(signed.bench.request()).refusal?.freshChallenge?.field == "X-App-Assert-Challenge")
    }

    @Test func `a revoked key gets no challenge`() throws {
        var device = try signed.bench.registeredDevice { $0.revokedAt = 1 }
        #expect(signed.upgrade(try signed.first(&device)).refusal?.freshChallenge == nil)
    }

    @Test func `a revoked key stays refused while others are only reported`() throws {
        var device = try signed.bench.registeredDevice { $0.revokedAt = 1 }
        let refusal = try #require(signed.upgrade(try signed.first(&device)).refusal)
        #expect(refusal.code == .keyRevoked && refusal.status == 403)
    }

    @Test func `its proof ends with the key`() throws {
        var device = try signed.bench.registeredDevice()
        let admitted = try #require(signed.upgrade(try signed.first(&device)).admitted)
        let gate = signed.gate
        #expect(gate.recheck(admitted.principal, from: address("192.0.2.1"), at: start) == nil)
        let id = try #require(
            SignedFields { [$0 == SignedField.keyID.name ? SignedBench.base64(device.keyID) : ""] }.claimedKey)
        _ = signed.bench.registry.revoke(id, reason: "lost", at: 1)
        #expect(gate.recheck(admitted.principal, from: address("192.0.2.1"), at: start)?.code == .keyRevoked)
    }

    // MARK: The gateway's own endpoints

    private static let (path, body) = ("/api/auth/passkey/register", #"{"label":"mine"}"#)

    /// - Returns: nil if the client is authenticated.
    private func answer(_ sent: SignedBench.Sent, _ arrived: String) -> RefusalAnswer? {
        guard case .refused(let refusal) = signed.authenticate(sent, Self.path, arrived: arrived) else { return nil }
        return refusal.answer
    }

    @Test func `where a request has a body, the signature covers it`() throws {
        var device = try signed.bench.registeredDevice()
        for sent in [
            try signed.first(&device, body: Self.body),
            try signed.second(&device, "POST", SignedBench.origin + Self.path, body: Self.body),
        ] {
            for arrived in ["", "{}"] { #expect(answer(sent, arrived) == .bodyDigestMismatch) }
            var undigested = sent
            undigested[.bodyDigest] = nil
            #expect(answer(undigested, "{}") == .bodyDigestMismatch)
            #expect(answer(sent, Self.body) == nil)
            #expect(answer(sent, Self.body) == .signedChallengeRefused)
        }
    }

    /// One that a service has withheld registers no passkey.
    @Test func `a signature over no body is none over another's`() throws {
        var device = try signed.bench.registeredDevice()
        for sent in [
            try signed.first(&device), try signed.second(&device, "POST", SignedBench.origin + Self.path),
        ] {
            #expect(answer(sent, Self.body) == .bodyDigestMismatch)
            var claiming = sent
            claiming[.bodyDigest] = SignedBench.base64(sha256(Array(Self.body.utf8)))
            #expect(answer(claiming, Self.body) != nil)
            #expect(answer(sent, "") == nil)
        }
    }
}
