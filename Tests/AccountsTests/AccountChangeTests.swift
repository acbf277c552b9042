import Accounts
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing
import WireText

@testable import Admission

@Suite("A player's changes of an account")
struct AccountChangeTests {
    private var bench: AccountBench
    private let account: AccountID

    init() async throws {
        bench = try AccountBench()
        account = try await bench.signUp().account
    }

    private var changes: AccountChanges { AccountChanges(bench.services) }

    private mutating func freshBody() throws -> String {
        let fresh = try bench.authentication(over: bench.challenge(in: bench.requestOptions()))
        return #"{"passkey":\#(fresh)}"#
    }

    @Test func `are for players who have signed in`() async throws {
        #expect(try await changes.account(of: bench.player(account)).get().id == account)
        #expect(await changes.account(of: .newcomer).refusal?.code == .freshPasskeyRequired)
    }

    @Test mutating func `need a passkey that was used for them, once`() async throws {
        let body = try freshBody()
        let player = bench.player(account)
        let id = Base64URL.encode(bench.passkey.credentialID)
        let none = await changes.removePasskey(id, bench.request("/x", "{}"), of: player) { _ in nil }
        #expect(none.refusal?.code == .freshPasskeyRequired)
        #expect(
            await changes.removeDevice("x", bench.request("/x", body), of: player) { _ in nil }.refusal?.code
                == .notFound)
        let again = await changes.removePasskey(id, bench.request("/x", body), of: player) { _ in nil }
        #expect(again.refusal?.failed.check == .challenge)
        #expect(bench.store.account(account)?.passkeys.count == 1)
    }

    @Test mutating func `remove a passkey, a device and the account`() async throws {
        _ = bench.store.join(AccountDevice(key: .sample(9), label: "", joinedAt: 1), to: account)
        let player = bench.player(account)
        let device = try bench.request("/x", freshBody())
        #expect(await changes.removeDevice(KeyID.sample(9).base64, device, of: player) { _ in nil }.refusal == nil)
        #expect(bench.store.account(account)?.devices == [])
        let unrecorded = try bench.request("/x", freshBody())
        let refused = await changes.removeAccount(unrecorded, of: player) { _ in
            Refusal(.auditUnavailable, detail: "full")
        }
        #expect(refused.refusal?.code == .auditUnavailable && bench.store.account(account) != nil)
        let all = try bench.request("/x", freshBody())
        #expect(await changes.removeAccount(all, of: player) { _ in nil }.refusal == nil)
        #expect(bench.store.account(account) == nil)
    }

    @Test mutating func `say that the passkey's eligibility for backups has changed`() async throws {
        _ = bench.store.join(AccountDevice(key: .sample(9), label: "", joinedAt: 1), to: account)
        bench.passkey.flags ^= SimulatedPasskey.backupEligible | SimulatedPasskey.backedUp
        let request = try bench.request("/x", freshBody())
        let removed = await changes.removeDevice(KeyID.sample(9).base64, request, of: bench.player(account)) { act in
            #expect(act.detail == "key \(KeyID.sample(9)), the passkey's eligibility for backups has changed")
            return nil
        }
        #expect(removed.refusal == nil)
        #expect(bench.store.account(account)?.passkeys.first?.isBackupEligible == false)
    }

    @Test mutating func `are refused for an unknown passkey only with a challenge of this gate`() async throws {
        let body = #"{"passkey":\#(try bench.authentication(over: [UInt8](repeating: 1, count: 32)))}"#
        let refusal = await changes.removeAccount(bench.request("/x", body), of: bench.player(account)) { _ in nil }
            .refusal
        #expect(refusal?.failed.check == .challenge)
    }

    @Test mutating func `are limited by account`() async throws {
        let player = bench.player(account)
        let device = AccountDevice(key: .sample(9), label: "", joinedAt: 1)
        for _ in 0..<SignUpLimits.changesPerHour {
            _ = bench.store.join(device, to: account)
            let request = try bench.request("/x", freshBody())
            let removed = await changes.removeDevice(KeyID.sample(9).base64, request, of: player) { _ in nil }
            #expect(removed.refusal == nil)
        }
        _ = bench.store.join(device, to: account)
        let request = try bench.request("/x", freshBody())
        let refused = await changes.removeDevice(KeyID.sample(9).base64, request, of: player) { _ in nil }.refusal
        #expect(refused?.code == .rateLimited && (refused?.retryAfter ?? 0) > 60)
        #expect(bench.store.account(account)?.devices.count == 1)
    }

    @Test mutating func `aren't made with another account's passkey`() async throws {
        var other = try AccountBench(sharing: bench)
        other.passkey = SimulatedPasskey(.es256())
        let another = try await other.signUp(by: .showing(.device(.sample(3), isFresh: true), as: "other")).account
        let body = try freshBody()
        let refusal = await changes.removeAccount(bench.request("/x", body), of: bench.player(another)) { _ in nil }
            .refusal
        #expect(refusal?.code == .passkeyRejected && refusal?.failed.check == .passkeyKnown)
        #expect(bench.store.account(another) != nil)
    }
}
