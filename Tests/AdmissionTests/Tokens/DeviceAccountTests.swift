import Crypto
import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

@Suite("A device that has joined an account")
struct DeviceAccountTests {
    private let bench: Bench
    private var device: SimulatedDevice
    private let key: KeyID
    private let account: AccountID

    init() throws {
        bench = try Bench()
        device = try bench.registeredDevice()
        key = try #require(KeyID(bytes: device.keyID))
        account = try #require(AccountID(bytes: [UInt8](repeating: 3, count: AccountID.length)))
    }

    private mutating func principal(in gate: Gate? = nil) throws -> Principal? {
        let request = bench.request(try bench.assertion(by: &device))
        return (gate ?? bench.gate).evaluate(request).admitted?.principal
    }

    private var ended: RevokedCredentials {
        var revocations = StoreRevocations()
        revocations.accounts = [account]
        return RevokedCredentials(revocations)
    }

    @Test mutating func `is admitted as itself, with the account, and ends with it`() throws {
        #expect(try principal()?.account == nil)
        bench.registry.note(account, ofDevice: key)
        let member = try #require(try principal())
        #expect(member.identity == .key(key) && member.account == account)
        #expect(member.names == [.key(key), .account(account)])
        #expect(member.isRevoked(by: .store(ended)))
        bench.registry.note(nil, ofDevice: key)
        let stranger = try #require(try principal())
        #expect(stranger.account == nil && !stranger.isRevoked(by: .store(ended)))
    }

    /// The owner has removed it; as itself it may come back.
    @Test mutating func `ends when it is removed from the account`() throws {
        bench.registry.note(account, ofDevice: key)
        let member = try #require(try principal())
        func isEnded(_ departure: DeviceDeparture) -> Bool {
            var revocations = StoreRevocations()
            revocations.departures = [departure]
            return member.isRevoked(by: .store(RevokedCredentials(revocations)))
        }
        let other = try #require(AccountID(bytes: [UInt8](repeating: 4, count: AccountID.length)))
        #expect(isEnded(DeviceDeparture(of: key, from: account)))
        #expect(!isEnded(DeviceDeparture(of: key, from: other)))
        bench.registry.note(nil, ofDevice: key)
        let stranger = try #require(try principal())
        var revocations = StoreRevocations()
        revocations.departures = [DeviceDeparture(of: key, from: account)]
        #expect(!RevokedCredentials(revocations).isEmpty)
        #expect(!stranger.isRevoked(by: .store(RevokedCredentials(revocations))))
    }

    @Test mutating func `has the account at the next process, too`() throws {
        bench.registry.note(account, ofDevice: key)
        let carrier = bench.gate.carrier
        let member = try #require(try principal())
        let carried = try #require(carrier.carry(member))
        #expect(try carrier.restore(carried).account == account)
    }

    @Test mutating func `shows its credentials again once it has left the account`() throws {
        bench.registry.note(account, ofDevice: key)
        let member = try #require(try principal())
        #expect(bench.gate.recheck(member, from: address("192.0.2.1"), at: start) == nil)
        bench.registry.note(nil, ofDevice: key)
        #expect(bench.gate.recheck(member, from: address("192.0.2.1"), at: start)?.answer == .invalidTicket)
        #expect(try principal() != nil)
    }

    @Test func `is named by the certificate that the account ends with`() throws {
        let proof = ClientCertificateProof(.good)
        let origin = try #require(AccountEnd.certificate(proof).origin)
        let mark = try #require(PasskeyMark(bytes: [UInt8](repeating: 1, count: PasskeyMark.length)))
        let standing = AccountStanding(id: account, origin: origin, isClosed: false, passkeys: [mark])
        let own = try #require(proof.chain?.certificates.first)
        let certificate = Identity.certificate(sha256: Array(SHA256.hash(data: own)))
        #expect(standing.names.first == .account(account) && standing.names.contains(certificate))
        let subject = AccountSubject(account, AccountCredential(passkey: mark), key: []).noting(standing)
        #expect(subject.fingerprints.map(Identity.certificates)?.contains(certificate) == true)
        let list = try BlockList(
            "certificate \(certificate.subject ?? "")", kinds: [ClientCertificateMethod.blockListKind])
        #expect(list.contains(certificate) && standing.names.contains { list.contains($0) })
    }

    @Test mutating func `is refused while the block list has the account`() throws {
        bench.registry.note(account, ofDevice: key)
        let member = try #require(try principal())
        let list = try BlockList("account \(account)", kinds: [AccessTokenMethod.accountBlockListKind])
        let gate = bench.gate.changed { $0.blockList = list }
        #expect(try principal(in: gate) == nil)
        #expect(gate.recheck(member, from: address("192.0.2.1"), at: start)?.answer == .deviceBlocked)
    }
}
