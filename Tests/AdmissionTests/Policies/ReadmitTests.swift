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

    @Test func `may have its own credentials instead, which admit it to its session only`() throws {
        let decision = gate().evaluate(request, passedOnAs: nil)
        #expect(decision.admitted?.principal.identity == .anonymous && decision.admitted?.permit == nil)
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
    /// The store of these tests answers at once.
    fileprivate func readmitted(_ carried: [UInt8], for request: AdmissionRequest) -> AdmissionDecision {
        let decision = evaluate(request, passedOnAs: carried)
        guard case .later(let later) = decision else { return decision }
        let answer = Answer()
        later.whenDecided { decision in answer.decision.withLock { $0 = decision } }
        return answer.decision.withLock { $0 } ?? decision
    }
}

private final class Answer: Sendable {
    let decision = Mutex<AdmissionDecision?>(nil)
}
