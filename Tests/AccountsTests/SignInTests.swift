import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Accounts
@testable import Admission

@Suite("A sign-in with a passkey")
struct SignInTests {
    private var bench: AccountBench
    private let account: AccountID

    init() async throws {
        bench = try AccountBench()
        account = try await bench.signUp().account
        bench.userHandle = account.bytes
    }

    private mutating func signIn(at moment: Moment = start) async throws -> SignInOutcome {
        let challenge = try bench.challenge(in: bench.requestOptions(at: moment))
        return try await bench.signIn(bench.authentication(over: challenge), at: moment)
    }

    @Test mutating func `gives a token of the account that is bound to the proof's key`() async throws {
        let token = try #require(try await signIn().token)
        #expect(token.account == account && token.lifetimeSeconds == 900)
        let payload = try #require(Base64URLParts(token.text).payload)
        let read = try JSONSerialization.jsonObject(with: Data(payload))
        let claims = try #require(read as? [String: Any])
        #expect(claims["sub"] as? String == account.text)
        #expect(claims["amr"] as? [String] == ["passkey"])
        #expect((claims["cnf"] as? [String: String])?["jkt"] == Base64URLParts.encode(bench.thumbprint))
        #expect(bench.store.account(account)?.lastUsedAt == start.unixMilliseconds)
    }

    @Test mutating func `admits a player at the gate as passkey, until the passkey is removed`() async throws {
        let token = try #require(try await signIn().token)
        let verifier = ResourceVerifier(bench.services.tokens)
        func resource() throws -> ResourceRequest {
            ResourceRequest(
                method: "POST", url: AccountBench.origin + "/x", authorization: ["DPoP \(token.text)"],
                proofs: [try bench.proof(for: token.text, "/x")], moment: start)
        }
        let verified = try verifier.verify(resource()).get()
        #expect(verified.identity == .account(account) && verified.identity.method.label == "passkey")
        let passkey = try #require(bench.store.account(account)?.passkeys.first)
        #expect(bench.store.remove(passkey.mark, of: account, at: 1))
        #expect(try verifier.verify(resource()).refusal?.code == .invalidToken)
        #expect(bench.store.forget(account, at: 1))
        #expect(try verifier.verify(resource()).refusal?.failed.check == .account)
    }

    @Test mutating func `is refused for a challenge that was used, or that is for another key`() async throws {
        let challenge = try bench.challenge(in: bench.requestOptions())
        let body = try bench.authentication(over: challenge)
        #expect(try await bench.signIn(body).token != nil)
        let again = try #require(try await bench.signIn(body).refusal)
        #expect(again.code == .passkeyRejected && again.failed.check == .challenge)
        let other = try AccountBench(sharing: bench)
        let stolen = try await other.signIn(bench.authentication(over: bench.challenge(in: bench.requestOptions())))
        #expect(stolen.refusal?.code == .passkeyRejected && stolen.refusal?.failed.check == .challenge)
    }

    /// A fleet's store decides, with the last step.
    @Test mutating func `is refused as no failure where the fleet has no room for its challenge`() throws {
        let path = "/api/auth/passkey/authenticate"
        let challenge = try bench.challenge(in: bench.requestOptions())
        let credential = try bench.authentication(over: challenge)
        let body = try AccountBody(Array(credential.utf8), maximumBytes: 65_536)
        let passkey = try PasskeyProof(try body.credential(), of: bench.services.relyingParty)
        let proof = try bench.services.tokens.checkProof(
            of: bench.request(path, credential, proof: bench.proof(path)))
        var steps = SignInSteps(passkey, proof, bench.services, at: start) { _ in nil }
        _ = steps.next(nil, at: start)
        _ = steps.next(.passkey(bench.store.passkey(passkey.mark)), at: start)
        guard case .decided(.failure(let full)) = steps.next(.signIn(.passkey(.refused(.full))), at: start) else {
            Issue.record("It isn't refused.")
            return
        }
        #expect(full.refusal.answer == .challengesExhausted && full.refusal.status == 503)
        #expect(full.refusal.retryAfter == 1 && !full.refusal.code.countsAsFailedUpgrade)
        // As those of changes and of registrations.
        let other = RefusedRequest.refused(challenge: .full).refusal
        #expect(other.answer == full.refusal.answer && other.detail == full.refusal.detail)
        #expect(RefusedRequest.refused(challenge: .alreadySpent).refusal.code == .passkeyRejected)
    }

    @Test mutating func `is refused when its challenge has expired`() async throws {
        let challenge = try bench.challenge(in: bench.requestOptions())
        let late = start + 300_000
        let refusal = try await bench.signIn(bench.authentication(over: challenge), at: late).refusal
        #expect(refusal?.code == .passkeyRejected && refusal?.failed.check == .challenge)
    }

    @Test mutating func `is refused on another page, without saying why`() async throws {
        let challenge = try bench.challenge(in: bench.requestOptions())
        let body = try bench.authentication(over: challenge, origin: "https://evil.example")
        let refusal = try #require(try await bench.signIn(body).refusal)
        #expect(refusal.status == 401 && refusal.code == .passkeyRejected && refusal.reason == nil)
        #expect(refusal.failed.check == .passkeyOrigin && refusal.failed.received == "https://evil.example")
    }

    @Test mutating func `is refused for an unknown passkey with 404`() async throws {
        bench.passkey = SimulatedPasskey(.es256())
        let refusal = try #require(try await signIn().refusal)
        #expect(refusal.status == 404 && refusal.code == .unknownCredential)
    }

    /// So nobody is told without options which passkeys are known.
    @Test mutating func `is rejected for an unknown passkey with a challenge that isn't good`() async throws {
        bench.passkey = SimulatedPasskey(.es256())
        let challenge = try bench.challenge(in: bench.requestOptions())
        let late = try await bench.signIn(bench.authentication(over: challenge), at: start + 300_000).refusal
        let foreign = try await bench.signIn(bench.authentication(over: [UInt8](repeating: 1, count: 32))).refusal
        for refusal in [late, foreign] {
            #expect(refusal?.code == .passkeyRejected && refusal?.failed.check == .challenge)
        }
        #expect(try await bench.signIn(bench.authentication(over: challenge)).refusal?.code == .unknownCredential)
    }

    @Test(arguments: [nil, [UInt8](repeating: 1, count: 16)])
    mutating func `is refused without the user handle of the account`(userHandle: [UInt8]?) async throws {
        bench.userHandle = userHandle
        let refusal = try #require(try await signIn().refusal)
        #expect(refusal.code == .passkeyRejected && refusal.failed.check == .passkeyKnown)
    }

    @Test mutating func `is refused for a closed account`() async throws {
        #expect(bench.store.close(account, at: 1))
        #expect(try await signIn().refusal?.code == .deviceBlocked)
    }

    @Test mutating func `is refused when the counter goes back`() async throws {
        bench.passkey.countsSignatures = true
        bench.passkey.signCount = 7
        #expect(try await signIn().token != nil)
        bench.passkey.signCount = 6
        let refusal = try await signIn().refusal
        #expect(refusal?.code == .passkeyRejected && refusal?.failed.check == .counter)
        let passkey = try #require(bench.store.account(account)?.passkeys.first)
        #expect(refusal?.isCounterRegression == true && refusal?.signer == account.text)
        #expect(refusal?.detail.contains("passkey \(passkey.mark.text), ") == true)
        // Without a right signature it is none.
        let challenge = try bench.challenge(in: bench.requestOptions())
        let forged = try bench.authentication(over: challenge) { $0.key = .es256() }
        let rejected = try await bench.signIn(forged).refusal
        #expect(rejected?.isCounterRegression == false && rejected?.signer == nil)
    }

    @Test mutating func `names what the bare form of a key and a signature lacks`() async throws {
        let refusal = try await bench.signIn(#"{"id":"AAAA","publicKey":"AAAA","signature":"AAAA"}"#).refusal
        #expect(refusal?.status == 400 && refusal?.code == .invalidRequest)
        #expect(refusal?.reason?.contains("response.clientDataJSON") == true)
    }

    @Test mutating func `counts failures as failed upgrades`() async throws {
        for _ in 0..<UpgradeLimits.defaultFailedUpgradesPerMinute {
            let body = try bench.authentication(over: [UInt8](repeating: 1, count: 32))
            #expect(try await bench.signIn(body).refusal?.code == .passkeyRejected)
        }
        let body = try bench.authentication(over: [UInt8](repeating: 1, count: 32))
        #expect(try await bench.signIn(body).refusal?.code == .rateLimited)
        #expect(try await signIn().token != nil)
    }

    @Test func `offers options that name no account`() throws {
        let text = String(decoding: try bench.requestOptions(), as: UTF8.self)
        #expect(text.contains(#""allowCredentials":[]"#) && text.contains(#""rpId":"mud.example""#))
        #expect(!text.contains(account.text))
    }
}
