import Accounts
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

@Suite("A sign-up with a passkey")
struct SignUpTests {
    @Test func `begins an account with its first passkey, and nothing before`() async throws {
        let bench = try AccountBench()
        let options = try await bench.creationOptions(for: .newcomer)
        #expect(bench.store.accounts(after: nil, limit: 9) == [])
        let body = try bench.registration(over: bench.challenge(in: options))
        let registered = try await bench.register(body, by: .newcomer).get()
        let account = try #require(bench.store.account(registered.account))
        #expect(registered.isFirst && account.origin == .device && account.lastUsedAt == nil)
        #expect(account.passkeys.map(\.credentialID) == [bench.passkey.credentialID])
        #expect(String(decoding: options, as: UTF8.self).contains(#""id":"mud.example""#))
    }

    @Test func `is for the client that asked for the options`() async throws {
        let bench = try AccountBench()
        let options = try await bench.creationOptions(for: .newcomer)
        let body = try bench.registration(over: bench.challenge(in: options))
        let other = Principal.showing(.device(.sample(2), isFresh: true), as: "another")
        for principal in [other, nil] {
            let refusal = await bench.register(body, by: principal).refusal
            #expect(refusal?.code == .passkeyRejected && refusal?.failed.check == .challenge)
        }
        #expect(await bench.register(body, by: .newcomer).refusal == nil)
        #expect(await bench.register(body, by: .newcomer).refusal?.failed.check == .challenge)
    }

    @Test(arguments: [SignUpRule.off, .proven])
    func `needs a proof, unless anyone may make an account`(rule: SignUpRule) async throws {
        let bench = try AccountBench(signUp: rule)
        let refusal = await PasskeyRegistration(bench.services).options(bench.request("/x", ""), for: nil).refusal
        #expect(refusal?.code == (rule == .off ? .signUpRefused : .appAuthRequired))
    }

    @Test func `is refused where no new accounts are made`() async throws {
        let bench = try AccountBench(signUp: .off)
        let refusal = await PasskeyRegistration(bench.services).options(bench.request("/x", ""), for: .newcomer).refusal
        #expect(refusal?.status == 403 && refusal?.code == .signUpRefused)
    }

    @Test func `is limited by address where anyone may make an account`() async throws {
        var bench = try AccountBench(signUp: .open, signUpsPerHour: 2)
        for _ in 0..<2 {
            bench.passkey = SimulatedPasskey(.es256())
            let made = try await bench.signUp(by: nil)
            #expect(bench.store.account(made.account)?.origin == .open)
        }
        bench.passkey = SimulatedPasskey(.es256())
        let options = try await bench.creationOptions(for: nil)
        let body = try bench.registration(over: bench.challenge(in: options))
        #expect(await bench.register(body, by: nil).refusal?.code == .rateLimited)
    }

    @Test func `is limited by client with a proof, and by network for a shared one`() async throws {
        var bench = try AccountBench(signUpsPerHour: 1)
        let shared = Principal(
            Identity(method: ClientCertificateMethod.name, subject: "team"), proof: ShownProof(.origin(.device)))
        for principal in [Principal.newcomer, shared] {
            for _ in 0..<SignUpLimits.perClient {
                bench.passkey = SimulatedPasskey(.es256())
                _ = try await bench.signUp(by: principal)
            }
            bench.passkey = SimulatedPasskey(.es256())
            let body = try bench.registration(over: bench.challenge(in: await bench.creationOptions(for: principal)))
            #expect(await bench.register(body, by: principal).refusal?.code == .rateLimited)
        }
        _ = try await bench.signUp(by: .showing(.device(.sample(2), isFresh: true), as: "another"))
    }

    @Test func `begins one account with an operator's ticket, and with those that its session gets`() async throws {
        var bench = try AccountBench()
        let bearer = Principal.showing(.origin(.ticket), as: "ticket 1")
        let body = try bench.registration(over: bench.challenge(in: await bench.creationOptions(for: bearer)))
        let second = try await bench.creationOptions(for: bearer)
        let made = try await bench.register(body, by: nil).get()
        #expect(bench.store.account(made.account)?.origin == .ticket)
        bench.passkey = SimulatedPasskey(.es256())
        let late = try bench.registration(over: bench.challenge(in: second))
        #expect(await bench.register(late, by: nil).refusal?.code == .signUpRefused)
        let refused = await PasskeyRegistration(bench.services).options(bench.request("/x", ""), for: bearer).refusal
        #expect(refused?.code == .signUpRefused)
        let other = Principal.showing(.origin(.ticket), as: "ticket 2")
        let options = try await bench.creationOptions(for: other)
        _ = try await bench.register(bench.registration(over: bench.challenge(in: options)), by: nil).get()
        #expect(bench.store.accounts(after: nil, limit: 9).count == 2)
    }

    @Test func `is open to those who show nothing, not to those who show too little`() async throws {
        let bench = try AccountBench(signUp: .open)
        let bare = Principal(Identity(method: AppAttestMethod.name, subject: "bare"), proof: nil)
        let refusal = await PasskeyRegistration(bench.services).options(bench.request("/x", ""), for: bare).refusal
        #expect(refusal?.code == .appAuthRequired)
        _ = try await bench.creationOptions(for: .anonymous)
        let account = try await bench.signUp(by: nil).account
        let ticket = Principal.showing(.account(account, key: [1]), as: account.text, byTicket: true)
        let stale = await PasskeyRegistration(bench.services).options(bench.request("/x", "{}"), for: ticket).refusal
        #expect(stale?.code == .freshPasskeyRequired)
        #expect(await AccountChanges(bench.services).account(of: ticket).refusal?.code == .freshPasskeyRequired)
    }

    @Test func `is refused for a credential that an account has, and at the maximum of accounts`() async throws {
        var bench = try AccountBench(maximumAccounts: 1)
        _ = try await bench.signUp()
        await #expect(throws: RefusedRequest.self) { try await bench.signUp() }
        bench.passkey = SimulatedPasskey(.es256())
        let options = try await bench.creationOptions(for: .newcomer)
        let body = try bench.registration(over: bench.challenge(in: options))
        let refusal = await bench.register(body, by: .newcomer).refusal
        #expect(refusal?.status == 503 && refusal?.code == .accountsExhausted)
    }

    @Test func `isn't done if it can't be recorded`() async throws {
        let bench = try AccountBench()
        let options = try await bench.creationOptions(for: .newcomer)
        let body = try bench.registration(over: bench.challenge(in: options))
        let refusal = await bench.register(body, by: .newcomer) { act in
            #expect(act.kind == .begun)
            return Refusal(.auditUnavailable, detail: "full")
        }.refusal
        #expect(refusal?.code == .auditUnavailable)
        #expect(bench.store.accounts(after: nil, limit: 9) == [])
    }

    @Test func `rejects a passkey that was made on another page`() async throws {
        let bench = try AccountBench()
        let options = try await bench.creationOptions(for: .newcomer)
        let body = try bench.registration(over: bench.challenge(in: options), origin: "https://evil.example")
        let refusal = await bench.register(body, by: .newcomer).refusal
        #expect(refusal?.code == .passkeyRejected && refusal?.failed.check == .passkeyOrigin)
    }

    // MARK: A further passkey

    @Test func `of a player adds a passkey only after one was used for it`() async throws {
        var bench = try AccountBench()
        let account = try await bench.signUp().account
        let player = bench.player(account)
        let stale = await PasskeyRegistration(bench.services).options(bench.request("/x", "{}"), for: player).refusal
        #expect(stale?.code == .freshPasskeyRequired)
        let fresh = try bench.authentication(over: bench.challenge(in: bench.requestOptions()))
        let options = try await bench.creationOptions(for: player, #"{"passkey":\#(fresh)}"#)
        bench.passkey = SimulatedPasskey(.edDSA())
        let body = try bench.registration(over: bench.challenge(in: options))
        let added = try await bench.register(body, by: player).get()
        #expect(!added.isFirst && added.account == account)
        #expect(bench.store.account(account)?.passkeys.count == 2)
    }

    @Test func `of an account's device adds a passkey with a fresh assertion`() async throws {
        var bench = try AccountBench()
        let account = try await bench.signUp().account
        _ = bench.store.join(AccountDevice(key: .sample(9), label: "", joinedAt: 1), to: account)
        let device = { Principal.showing(.device(.sample(9), isFresh: $0), as: "device") }
        let stale = await PasskeyRegistration(bench.services).options(bench.request("/x", ""), for: device(false))
            .refusal
        #expect(stale?.code == .freshPasskeyRequired)
        bench.passkey = SimulatedPasskey(.es256())
        let options = try await bench.creationOptions(for: device(true))
        let body = try bench.registration(over: bench.challenge(in: options))
        #expect(try await bench.register(body, by: device(true)).get().account == account)
    }
}
