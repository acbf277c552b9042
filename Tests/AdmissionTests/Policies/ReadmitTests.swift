import StateCoding
import Synchronization
import Testing
import WireText

@testable import Admission

/// A client that another gateway of the fleet has admitted, and whose session is here.
@Suite("A readmitted client") struct ReadmitTests {
    private let drain = DrainSwitch()
    private let leases = SessionLeases(maximum: 2)
    /// Of the session that is here.
    private var owner = Identity.anonymous

    private func gate(_ list: BlockList = BlockList(), isOpen: Bool = true) -> Gate {
        var settings = GateSettings(
            drain: drain, leases: leases,
            methods: GateSettings.unconfigured.dropLast() + [AnonymousMethod(isAllowed: isOpen)])
        settings.blockList = list
        let owner = owner
        settings.findSession = { session, _ in
            session.id == "a" && session.token == "b" ? FoundSession(owner: owner) : nil
        }
        return Gate(settings)
    }

    private func carried(_ principal: Principal = .anonymous, by gate: Gate) throws -> [UInt8] {
        try StateEncoder.bytes(of: #require(gate.carrier.carry(principal)))
    }

    private let request: AdmissionRequest

    init() throws {
        request = try Bench().request().with { $0.session = SessionCredential(id: "a", token: "b") }
    }

    @Test func `is who it was, and takes one of this gateway's sessions`() throws {
        let gate = gate()
        let decision = gate.readmitted(try carried(by: gate), for: request)
        #expect(decision.admitted?.principal.identity == .anonymous && leases.count == 1)
        #expect(decision.admitted?.permit == nil)
    }

    /// Also where everybody is admitted.
    @Test(arguments: [nil, SessionCredential(id: "x", token: "b"), SessionCredential(id: "a", token: "x")])
    func `is refused without a session that is here, and its token`(session: SessionCredential?) throws {
        let gate = gate()
        let bytes = try carried(by: gate)
        let request = request.with { $0.session = session }
        #expect(gate.readmitted(bytes, for: request).refusal?.code == .invalidResume)
        #expect(gate.evaluate(request, passedOnAs: nil).refusal?.code == .invalidResume)
        #expect(leases.count == 0)
        #expect(gate.evaluate(request).admitted?.permit != nil)
    }

    @Test func `is refused a session of somebody else`() throws {
        var other = self
        other.owner = Identity(method: AppAttestMethod.name, subject: "somebody")
        let gate = other.gate()
        #expect(gate.readmitted(try carried(by: gate), for: request).refusal?.code == .invalidResume)
        #expect(gate.evaluate(request, passedOnAs: nil).refusal?.code == .invalidResume)
        #expect(leases.count == 0)
    }

    /// Of a session that began with a ticket.
    private func gate(ofBearer bearer: Principal, _ list: BlockList = BlockList()) -> Gate {
        gate(list).changed {
            $0.sessionBearer = { session, _ in session.id == "a" && session.token == "b" ? bearer : nil }
        }
    }

    @Test func `is admitted by its session's token alone if that session began with a ticket`() throws {
        let gate = gate(ofBearer: .anonymous)
        let decision = gate.readmitted(nil, for: request)
        #expect(decision.admitted?.principal.identity == .anonymous && decision.admitted?.permit == nil)
        #expect(leases.count == 1)
        let wrong = request.with { $0.session = SessionCredential(id: "a", token: "x") }
        #expect(gate.readmitted(nil, for: wrong).refusal?.code == .invalidResume)
        let blocked = try BlockList("address 0.0.0.0/0\naddress ::/0")
        #expect(self.gate(ofBearer: .anonymous, blocked).readmitted(nil, for: request).refusal?.code == .deviceBlocked)
    }

    @Test func `isn't admitted by the token of any other session, and that is no failed upgrade`() throws {
        var other = self
        other.owner = Identity(method: AppAttestMethod.name, subject: "somebody")
        let gate = other.gate().changed { $0.limits = UpgradeLimits(failedUpgradesPerMinute: 1) }
        for _ in 0..<3 {
            #expect(gate.evaluate(request, passedOnAs: nil).refusal?.code == .invalidResume)
        }
        let wrong = request.with { $0.session = SessionCredential(id: "a", token: "x") }
        _ = gate.evaluate(wrong, passedOnAs: nil)
        #expect(gate.evaluate(wrong, passedOnAs: nil).refusal?.code == .rateLimited)
    }

    @Test func `is asked for by its gateway if it has nothing but the token`() throws {
        let gate = gate(ofBearer: .anonymous)
        #expect(gate.knowsOnlyToken(of: request))
        #expect(!gate.knowsOnlyToken(of: request.with { $0.ticket = "x" }))
        #expect(!self.gate().changed { $0.methods = [AnonymousMethod(isAllowed: true)] }.knowsOnlyToken(of: request))
    }

    /// The gateway that it has reached, told by another one whose the session is, decides by its own lists.
    @Test func `is admitted by the word of the gateway that has its session`() throws {
        let gate = gate().changed { settings in
            settings.methods = [SessionTokenMethod { _, _ in nil }, AnonymousMethod(isAllowed: false)]
        }
        #expect(gate.evaluate(request).refusal?.code == .invalidResume)
        let bytes = try carried(by: self.gate())
        let bearer = try #require(self.gate().bearer(carried: bytes, at: request.moment.monotonic))
        let told = request.with { $0.bearer = bearer }
        #expect(gate.decided(told).refusal != nil, "an anonymous client isn't admitted here any more")
        let open = gate.changed { $0.methods[1] = AnonymousMethod(isAllowed: true) }
        #expect(open.decided(told).admitted?.principal.identity == .anonymous)
        let blocked = try BlockList("address 0.0.0.0/0\naddress ::/0")
        #expect(open.changed { $0.blockList = blocked }.decided(told).refusal?.code == .deviceBlocked)
        #expect(gate.bearer(carried: [1, 2, 3], at: request.moment.monotonic) == nil)
    }

    @Test func `is refused by what this gateway says now`() throws {
        let bytes = try carried(by: gate())
        #expect(gate(isOpen: false).readmitted(bytes, for: request).refusal != nil)
        let blocked = try BlockList("address 0.0.0.0/0\naddress ::/0")
        #expect(gate(blocked).readmitted(bytes, for: request).refusal?.code == .deviceBlocked)
        let closed = request.with { $0.allowedMethods = ["none"] }
        #expect(gate().readmitted(bytes, for: closed).refusal != nil)
        // Its session is on the way to another process.
        drain.isHandingOver = true
        #expect(gate().readmitted(bytes, for: request).refusal?.code == .draining)
        drain.isHandingOver = false
        drain.beginDraining()
        #expect(gate().readmitted(bytes, for: request).refusal?.code == .draining)
        #expect(leases.count == 0)
    }

    @Test func `is refused where nobody could have admitted it`() throws {
        let good = try carried(by: gate())
        for bytes in [[], [1, 2, 3], good.dropLast(), good + [0]] as [[UInt8]] {
            #expect(gate().readmitted(Array(bytes), for: request).refusal?.code == .invalidResume)
        }
        // No certificates are configured here.
        let certified = try carried(Principal(debugging: .good), by: gate())
        #expect(gate().readmitted(certified, for: request).refusal != nil)
    }

    /// The other gateway's clock isn't this one's.
    @Test func `gets no further tickets`() throws {
        let gate = gate()
        let principal = Principal(.anonymous, proof: nil, ticketChainEnd: MonotonicTime(nanoseconds: .max))
        let readmitted = gate.readmitted(try carried(principal, by: gate), for: request).admitted?.principal
        #expect(readmitted?.isByTicket == true && readmitted?.ticketChainEnd == request.moment.monotonic)
    }
}

extension Gate {
    fileprivate func readmitted(_ carried: [UInt8]?, for request: AdmissionRequest) -> AdmissionDecision {
        evaluate(request, passedOnAs: carried).now
    }

    fileprivate func decided(_ request: AdmissionRequest) -> AdmissionDecision { evaluate(request).now }
}

extension AdmissionDecision {
    /// The store of these tests answers at once.
    fileprivate var now: AdmissionDecision {
        guard case .later(let later) = self else { return self }
        let answer = Answer()
        later.whenDecided { decision in answer.decision.withLock { $0 = decision } }
        return answer.decision.withLock { $0 } ?? self
    }
}

private final class Answer: Sendable {
    let decision = Mutex<AdmissionDecision?>(nil)
}
