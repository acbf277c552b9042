import Accounts
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

@Suite("A refresh token")
struct RefreshTests {
    private static let path = "/api/auth/token/validate"

    private var bench: AccountBench
    private let account: AccountID

    init() async throws {
        bench = try AccountBench()
        account = try await bench.signUp().account
        bench.userHandle = account.bytes
    }

    private mutating func signIn(at moment: Moment = start) async throws -> IssuedAccountToken {
        let challenge = try bench.challenge(in: bench.requestOptions(at: moment))
        return try #require(try await bench.signIn(bench.authentication(over: challenge), at: moment).token)
    }

    private func refresh(
        _ body: String, by player: AccountBench? = nil, proof: String? = nil, at moment: Moment = start
    ) async throws -> SignInOutcome {
        let player = player ?? bench
        let proof = try proof ?? player.proof(Self.path, at: moment)
        let request = bench.request(Self.path, body, proof: proof, at: moment)
        return await Refresh(bench.services).validate(request, by: bench.gate) { bench.gate.refuseBlocked($0) }
    }

    private func refresh(
        with token: String, by player: AccountBench? = nil, at moment: Moment = start
    ) async throws -> SignInOutcome {
        try await refresh(#"{"refreshToken":"\#(token)"}"#, by: player, at: moment)
    }

    /// The text of the refresh token beside an access token.
    private func token(of outcome: SignInOutcome) throws -> String { try #require(outcome.token?.refresh?.text) }

    @Test mutating func `comes with a sign-in, and gives the next pair`() async throws {
        let first = try await signIn()
        let refresh = try #require(first.refresh)
        #expect(refresh.isFirst && refresh.lifetimeSeconds == 30 * 86_400)
        #expect(refresh.text.utf8.count == 64 && !"\(refresh.text)".contains("="))
        let next = try #require(try await self.refresh(with: refresh.text).token)
        #expect(next.account == account && next.lifetimeSeconds == 900 && next.refresh?.isFirst == false)
        #expect(next.refresh?.text != refresh.text && next.text != first.text)
        #expect(try await self.refresh(with: next.refresh?.text ?? "").token != nil)
    }

    @Test mutating func `gives the same successor again, while that is unused`() async throws {
        let first = try #require(try await signIn().refresh).text
        let successor = try token(of: try await refresh(with: first))
        for milliseconds in [0, 59_000, 60_000] {
            #expect(try token(of: try await refresh(with: first, at: start + milliseconds)) == successor)
        }
        // A phone that slept.
        let later = start + 8 * 3_600_000
        #expect(try token(of: try await refresh(with: first, at: later)) == successor)
        for milliseconds in [0, 1_000, 3_600_000] {
            let again = try #require(try await refresh(with: first, at: later + milliseconds).refusal)
            #expect(again.status == 401 && again.code == .invalidToken && again.failed.check == .refreshRepeat)
            #expect(again.signer == account.text)
        }
        #expect(try await refresh(with: successor, at: start + 9 * 3_600_000).token != nil)
    }

    @Test mutating func `isn't used up while no access token can be signed`() async throws {
        let first = try #require(try await signIn().refresh).text
        let successor = try token(of: try await refresh(with: first))
        let later = start + 8 * 3_600_000
        let keys = bench.services.tokens.keys
        let schedule = try #require(SigningKeySchedule(tokenLifetime: 900))
        let stored = try SigningKeyRotation(MemorySigningKeyStore(), schedule: schedule).keepUp(at: start.date)
        #expect(keys.replace(StoredSigningKeys()))
        let refusal = try #require(try await refresh(with: first, at: later).refusal)
        #expect(refusal.status == 503 && refusal.failed.check == .signingKey)
        #expect(keys.replace(stored))
        #expect(try token(of: try await refresh(with: first, at: later)) == successor)
    }

    @Test mutating func `ends its family when it is used after its successor`() async throws {
        let signedIn = try await signIn()
        let first = try #require(signedIn.refresh).text
        let second = try token(of: try await refresh(with: first))
        let third = try token(of: try await refresh(with: second))
        let theft = try #require(try await refresh(with: first).refusal)
        #expect(theft.status == 401 && theft.code == .invalidToken && theft.failed.check == .refreshUnused)
        #expect(theft.signer == account.text)
        let end = try #require(try await refresh(with: third).refusal)
        #expect(end.code == .invalidToken && end.failed.check == .refreshKnown && end.reason == theft.reason)
        let resource = ResourceRequest(
            method: "POST", url: AccountBench.origin + "/x", authorization: ["DPoP \(signedIn.text)"],
            proofs: [try bench.proof(for: signedIn.text, "/x")], moment: start)
        let refusal = try #require(ResourceVerifier(bench.services.tokens).verify(resource).refusal)
        #expect(refusal.code == .invalidToken && refusal.failed.check == .account)
    }

    /// The client is told of the limit alone, and the audit log of the theft.
    @Test mutating func `ends its family above the limit of failures, too, and that is told with its account`()
        async throws
    {
        var settings = GateSettings(drain: DrainSwitch(), leases: SessionLeases(maximum: nil))
        settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1, verificationsPerSecond: 100)
        bench.gate = Gate(settings)
        let first = try #require(try await signIn().refresh).text
        _ = try await refresh(with: try token(of: try await refresh(with: first)))
        let unknown = try await refresh(with: String(repeating: "A", count: 64)).refusal
        #expect(unknown?.code == .invalidToken)
        let theft = try #require(try await refresh(with: first).refusal)
        #expect(theft.code == .rateLimited && theft.failed.check == .refreshUnused && theft.signer == account.text)
        #expect(bench.store.families(of: account).isEmpty)
    }

    @Test mutating func `isn't used up while no use can be recorded, and its proof isn't either`() async throws {
        let first = try #require(try await signIn().refresh).text
        let (bench, before) = (self.bench, self.bench.store.families(of: account))
        let request = bench.request(
            Self.path, #"{"refreshToken":"\#(first)"}"#, proof: try bench.proof(Self.path, at: start), at: start)
        let full = Refusal(.auditUnavailable, detail: "full")
        let refused = await Refresh(bench.services).validate(
            request, by: bench.gate, unless: { _ in nil }, or: { full })
        #expect(refused.refusal?.code == .auditUnavailable)
        #expect(bench.store.families(of: account) == before)
        let used = await Refresh(bench.services).validate(request, by: bench.gate) { _ in nil }
        #expect(used.token != nil && bench.store.families(of: account) != before)
    }

    @Test mutating func `is refused with another key, and stays good`() async throws {
        let first = try #require(try await signIn().refresh).text
        let thief = try AccountBench(sharing: bench)
        let refusal = try #require(try await refresh(with: first, by: thief).refusal)
        #expect(refusal.status == 401 && refusal.code == .invalidToken && refusal.failed.check == .refreshKey)
        let second = try token(of: try await refresh(with: first))
        _ = try await refresh(with: second)
        #expect(try await refresh(with: first, by: thief).refusal?.failed.check == .refreshKey)
        #expect(bench.store.families(of: account).count == 1)
    }

    @Test mutating func `expires after its days, counted from the last use`() async throws {
        let first = try #require(try await signIn().refresh).text
        let hour = start + 3_600_000
        _ = try await refresh(with: first, at: hour)
        let end = hour.unixMilliseconds + 30 * 86_400_000
        #expect(bench.store.families(of: account).map(\.expiresAt) == [end])
        let late = try #require(try await refresh(with: first, at: hour + 30 * 86_400_000).refusal)
        #expect(late.code == .invalidToken && late.failed.check == .refreshLifetime)
    }

    @Test(arguments: [
        (#"{}"#, "refreshToken is missing"), (#"{"refreshToken":7}"#, "refreshToken is missing"),
        (#"{"refreshToken":""}"#, "refreshToken is not a refresh token"),
        (#"{"refreshToken":"AAAA"}"#, "refreshToken is not a refresh token"),
        ("[]", "the body is not a JSON object"), ("", "refreshToken is missing"),
    ]) func `is missing or malformed`(body: String, reason: String) async throws {
        let refusal = try #require(try await refresh(body).refusal)
        #expect(refusal.status == 400 && refusal.code == .invalidRequest && refusal.reason == reason)
        #expect(refusal.failed.check == .body)
    }

    @Test func `has at most 200 bytes, and a proof`() async throws {
        let long = try #require(try await refresh(with: String(repeating: "A", count: 201)).refusal)
        #expect(long.code == .invalidRequest && long.reason == "refreshToken is not a refresh token")
        let unknown = try #require(try await refresh(with: String(repeating: "A", count: 64)).refusal)
        #expect(unknown.status == 401 && unknown.failed.check == .refreshKnown)
        let proof = try bench.proof(Self.path)
        let body = #"{"refreshToken":"\#(String(repeating: "A", count: 64))"}"#
        #expect(try await refresh(body, proof: proof).refusal?.failed.check == .refreshKnown)
        #expect(try await refresh(body, proof: proof).refusal?.code == .invalidProof)
        #expect(try await refresh(body, proof: "").refusal?.code == .invalidProof)
    }

    @Test mutating func `ends with its passkey, and when the player signs out`() async throws {
        let one = try #require(try await signIn().refresh).text
        let other = try #require(try await signIn().refresh).text
        let family = try #require(bench.store.families(of: account).first { other.hasPrefix(start64($0)) })
        #expect(try await logOut("", family: family.id) == nil)
        #expect(try await refresh(with: other).refusal?.failed.check == .refreshKnown)
        #expect(try await refresh(with: one).token != nil)
        #expect(try await logOut(#"{"everywhere":true}"#, family: nil) == nil)
        #expect(bench.store.families(of: account).isEmpty)
        #expect(try await logOut(#"{"everywhere":"yes"}"#, family: nil)?.code == .invalidRequest)
        let last = try #require(try await signIn().refresh).text
        let passkey = try #require(bench.store.account(account)?.passkeys.first)
        #expect(bench.store.remove(passkey.mark, of: account, at: 1))
        #expect(try await refresh(with: last).refusal?.failed.check == .refreshKnown)
    }

    /// The part of a token's text that only the family's name decides.
    private func start64(_ family: RefreshFamily) -> Substring { family.id.text.prefix(21) }

    private func logOut(_ body: String, family: RefreshFamilyID?) async throws -> Refusal? {
        let principal = Principal.showing(.account(account, key: bench.thumbprint, family: family))
        let request = bench.request("/api/auth/logout", body)
        return await LogOut(bench.services).logOut(request, of: principal, unless: { _ in nil }).refusal
    }
}
