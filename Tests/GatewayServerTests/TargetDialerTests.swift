import KeyStore
import Reactors
import RelayCore
import Testing
import WireText

@testable import Admission
@testable import Relay

/// The permissions of a dial depend on whether the operator or the client chose the host.
@Suite struct TargetDialerTests {
    private func options(_ request: TargetRequest, for client: ClientIdentity) throws -> DialOptions {
        let policy = try TargetPolicy(
            TargetSettings(mode: .arbitrary, standard: TargetEndpoint("mud.example:4000"), ports: [23...23]))
        guard case .authorized(let target) = policy.authorize(request, for: "anonymous") else { throw Refused() }
        let dialer = TargetDialer(
            tlsMode: .plain, preferredTLS: nil, requiredTLS: nil, proxyHeader: .off, timeoutMilliseconds: 1)
        return dialer.options(for: target, client)
    }

    private struct Refused: Error {}

    private func client(_ principal: Principal, _ address: String) throws -> ClientIdentity {
        ClientIdentity(
            session: "", principal: principal, address: try #require(IPAddress(text: address)), port: 0,
            isSecure: true)
    }

    private let debugger = Principal(.certificate(sha256: [0xAB, 0xCD]), proof: nil)

    @Test func `the operator's target is looked up for all clients and may be this machine`() throws {
        for request in [TargetRequest.standard, .address(host: "mud.example", port: 4_000)] {
            let options = try options(request, for: client(.anonymous, "192.0.2.1"))
            #expect(options.chooser == .operators)
            #expect(!options.refusesThisMachine)
            #expect(options.accepts([127, 0, 0, 1]))
        }
    }

    @Test func `a client's target is looked up on its own budget and must be elsewhere`() throws {
        let request = TargetRequest.address(host: "any.example", port: 23)
        let options = try options(request, for: client(debugger, "2001:db8::1:2:3:4"))
        #expect(options.chooser == .client(["2001:db8::/64", "abcd"]))
        #expect(options.refusesThisMachine)
        #expect(!options.accepts([127, 0, 0, 1]))
        #expect(
            try self.options(request, for: client(.anonymous, "192.0.2.1")).chooser == .client(["192.0.2.1/32"]))
    }

    private struct MemberProof: AdmissionProof {
        let account: AccountID?

        var isLarge: Bool { false }
        var routes: Set<String>? { nil }
        func isRevoked(by revocations: Revocations) -> Bool { false }
        static var expiry: ProofExpiry<MemberProof> { .never }
        func name(for name: MethodName) -> MethodName { name }
        var accountEvidence: AccountEvidence? { nil }
        var origins: [Identity] { [] }
    }

    @Test func `a target is told the account in version 2, if there is one`() throws {
        let account = try #require(AccountID(bytes: [UInt8](repeating: 0xAB, count: AccountID.length)))
        let policy = try TargetPolicy(TargetSettings(standard: TargetEndpoint("mud.example:4000")))
        guard case .authorized(let target) = policy.authorize(.standard, for: "app") else { throw Refused() }
        let address = SocketAddress(try #require(IPAddress(text: "192.0.2.9")), port: 4_000)
        for (proxy, known, isTold) in [
            (TargetProxyHeader.v2, account, true), (.v2, nil, false), (.v1, account, false),
        ] as [(TargetProxyHeader, AccountID?, Bool)] {
            let dialer = TargetDialer(
                tlsMode: .plain, preferredTLS: nil, requiredTLS: nil, proxyHeader: proxy, timeoutMilliseconds: 1)
            let principal = Principal(
                Identity(method: AppAttestMethod.name, subject: "x"), proof: MemberProof(account: known))
            let prologue = try #require(dialer.options(for: target, client(principal, "192.0.2.1")).prologue)
            let header = prologue(address, address)
            let told = [0xE1, 0, 32] + Array(account.text.utf8)
            #expect((header.firstRange(of: told) != nil) == isTold && !header.isEmpty, "\(proxy)")
        }
    }
}
