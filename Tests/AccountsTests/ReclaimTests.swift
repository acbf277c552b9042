import Accounts
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

@Suite("A player who comes back with the operator's ticket")
struct ReclaimTests {
    private let bench: AccountBench
    private let account: AccountID

    /// No new accounts are made: the account is there.
    init() throws {
        bench = try AccountBench(signUp: .off)
        account = try #require(AccountID(bytes: [UInt8](repeating: 5, count: AccountID.length)))
        let mark = try #require(PasskeyMark(bytes: [UInt8](repeating: 6, count: PasskeyMark.length)))
        let lost = Passkey(
            mark: mark, credentialID: [6], publicKey: [6], signCount: 0, isBackupEligible: false, isBackedUp: false,
            isUserVerified: true, aaguid: [UInt8](repeating: 0, count: AccountLimits.aaguidBytes), attestation: "none",
            label: "lost", madeAt: 1)
        #expect(
            bench.store.begin(Account(id: account, origin: .device, madeAt: 1, passkeys: [lost]), maximum: 9) == .begun)
    }

    private var bearer: Principal { .showing(.reclaimed(account), as: "ticket") }

    private func body() async throws -> String {
        try bench.registration(over: bench.challenge(in: try await bench.creationOptions(for: bearer)))
    }

    @Test func `gets a passkey of the account, without showing the ticket again`() async throws {
        let options = String(decoding: try await bench.creationOptions(for: bearer), as: UTF8.self)
        #expect(options.contains(#""excludeCredentials":[{"#))
        let body = try await body()
        let registered = try await bench.register(body, by: nil).get()
        #expect(registered.account == account && !registered.isFirst)
        #expect(
            bench.store.account(account)?.passkeys.map(\.credentialID).contains(bench.passkey.credentialID) == true)
        #expect(await bench.register(body, by: nil).refusal?.failed.check == .challenge)
    }

    @Test func `is recorded with the ticket`() async throws {
        let refusal = await bench.register(try await body(), by: nil) { act in
            #expect(act.kind == .passkeyAdded && act.detail.hasPrefix("by the operator's ticket, passkey "))
            return Refusal(.auditUnavailable, detail: "full")
        }.refusal
        #expect(refusal?.code == .auditUnavailable)
        #expect(bench.store.account(account)?.passkeys.count == 1)
    }

    @Test(arguments: [true, false])
    func `comes back to no account that has ended`(isForgotten: Bool) async throws {
        let body = try await body()
        #expect(isForgotten ? bench.store.forget(account, at: 2) : bench.store.close(account, at: 2))
        #expect(await bench.register(body, by: nil).refusal?.code == .deviceBlocked)
        let options = await PasskeyRegistration(bench.services).options(bench.request("/x", ""), for: bearer).refusal
        #expect(options?.code == .deviceBlocked)
    }

    /// The principal of a ticket shows nothing a second time.
    @Test func `changes nothing else`() async throws {
        let changes = AccountChanges(bench.services)
        #expect(await changes.account(of: bearer).refusal?.code == .freshPasskeyRequired)
    }
}
