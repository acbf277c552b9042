import DeviceSimulation
import KeyStore
import Testing
import WireText

@testable import Admission

struct BlockPolicyTests {
    private func bench(_ list: String) throws -> Bench {
        var bench = try Bench()
        bench.settings.blockList = try BlockList(list)
        bench.settings.requiresAppAuth = false
        bench.settings.clientCertificates = TrustedChains()
        return bench
    }

    @Test func `a blocked address is refused, and its neighbour isn't`() throws {
        let bench = try bench("address 192.0.2.1")
        let refusal = try #require(bench.gate.evaluate(bench.request()).refusal)
        #expect(refusal.status == 403 && refusal.code.rawValue == "device_blocked")
        #expect(refusal.freshChallenge == nil)
        #expect(bench.gate.evaluate(bench.request().with { $0.address = address("192.0.2.2") }).admitted != nil)
        #expect(bench.gate.refuseBlocked(address("192.0.2.1"))?.answer == .deviceBlocked)
        #expect(bench.gate.refuseBlocked(address("192.0.2.2")) == nil)
    }

    @Test func `the fleet's list has effect in addition, and at once`() throws {
        var bench = try bench("address 192.0.2.1")
        let shared = SharedBlockList()
        bench.settings.fleetBlockList = shared
        let (gate, other) = (bench.gate, bench.request().with { $0.address = address("192.0.2.2") })
        #expect(gate.evaluate(other).admitted != nil && shared.takeNew() == nil)
        let list = try BlockList("address 192.0.2.2")
        shared.replace(list)
        #expect(gate.evaluate(other).refusal?.answer == .deviceBlocked)
        #expect(gate.evaluate(bench.request()).refusal?.answer == .deviceBlocked)
        #expect(shared.takeNew() == list && shared.takeNew() == nil)
        shared.replace(list)
        #expect(shared.takeNew() == nil)
        shared.replace(BlockList())
        #expect(gate.evaluate(other).admitted != nil && shared.takeNew() == BlockList())
    }

    @Test func `a blocked key is refused in any spelling, before its challenge is spent`() throws {
        var open = try Bench()
        var device = try open.registeredDevice()
        let fields = try open.assertion(by: &device)
        let id = try #require(KeyID(bytes: device.keyID))
        open.settings.blockList = try BlockList("key \(id.base64)")
        let urlSafe = id.base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        for text in [id.base64, urlSafe] {
            var fields = fields
            fields.keyID = text
            #expect(open.gate.evaluate(open.request(fields)).refusal?.answer == .deviceBlocked)
        }
        #expect(open.challenges.spentCount == 0)
        var stranger = SimulatedDevice(app: Bench.app)
        let other = try open.assertion(by: &stranger)
        #expect(open.gate.evaluate(open.request(other)).refusal?.answer == .unknownKey)
    }

    @Test func `a blocked certificate is refused, verified or not`() throws {
        let bench = try bench("certificate " + Hexadecimal.encode(ClientCertificate.good.sha256))
        for certificate in [ClientCertificate.good, .good.with { $0.isVerified = false }] {
            let refusal = bench.gate.evaluate(bench.request().with { $0.certificate = certificate }).refusal
            #expect(refusal?.answer == .deviceBlocked)
        }
        let other = ClientCertificate.good.with { $0.sha256 = [UInt8](repeating: 8, count: 32) }
        #expect(bench.gate.evaluate(bench.request().with { $0.certificate = other }).admitted != nil)
    }

    @Test func `a ticket of a client that was blocked later is refused`() throws {
        var bench = try bench("")
        let office = TicketOffice()
        bench.settings.tickets = office
        let request = bench.request().with { $0.certificate = .good }
        guard case .authenticated(let principal) = bench.gate.authenticate(request),
            case .issued(let issued) = office.issue(to: principal, at: start.monotonic)
        else {
            Issue.record("no ticket")
            return
        }
        let blocked = try BlockList("certificate " + Hexadecimal.encode(ClientCertificate.good.sha256))
        let gate = bench.gate.changed { $0.blockList = blocked }
        let byTicket = bench.request().with { $0.ticket = issued.ticket.text }
        #expect(gate.evaluate(byTicket).refusal?.answer == .deviceBlocked)
    }

    @Test func `a blocked client gets no ticket`() throws {
        let bench = try bench("address 192.0.2.0/24")
        guard case .refused(let refusal) = bench.gate.authenticate(bench.request()) else {
            Issue.record("authenticated")
            return
        }
        #expect(refusal.answer == .deviceBlocked)
    }

    @Test func `a blocked client's refusal doesn't count as a failed upgrade`() throws {
        var bench = try bench("address 192.0.2.1")
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1)
        for _ in 0..<5 { #expect(bench.gate.evaluate(bench.request()).refusal?.answer == .deviceBlocked) }
        #expect(bench.gate.changed { $0.blockList = BlockList() }.evaluate(bench.request()).admitted != nil)
    }
}
