import StateCoding
import Synchronization
import Testing
import WireText

@testable import Admission

/// A client that another gateway of the fleet has admitted, and whose session is here.
@Suite("A readmitted client") struct ReadmitTests {
    private let drain = DrainSwitch()
    private let leases = SessionLeases(maximum: 2)

    private func gate(_ list: BlockList = BlockList(), isOpen: Bool = true) -> Gate {
        var settings = GateSettings(
            drain: drain, leases: leases,
            methods: GateSettings.unconfigured.dropLast() + [AnonymousMethod(isAllowed: isOpen)])
        settings.blockList = list
        return Gate(settings)
    }

    private func carried(_ principal: Principal = .anonymous, by gate: Gate) throws -> [UInt8] {
        try StateEncoder.bytes(of: #require(gate.carrier.carry(principal)))
    }

    private let request: AdmissionRequest

    init() throws { request = try Bench().request() }

    @Test func `is who it was, and takes one of this gateway's sessions`() throws {
        let gate = gate()
        let decision = gate.readmitted(try carried(by: gate), for: request)
        #expect(decision.admitted?.principal.identity == .anonymous && leases.count == 1)
    }

    @Test func `is refused by what this gateway says now`() throws {
        let bytes = try carried(by: gate())
        #expect(gate(isOpen: false).readmitted(bytes, for: request).refusal != nil)
        let blocked = try BlockList("address 0.0.0.0/0\naddress ::/0")
        #expect(gate(blocked).readmitted(bytes, for: request).refusal?.code == .deviceBlocked)
        let closed = request.with { $0.allowedMethods = ["none"] }
        #expect(gate().readmitted(bytes, for: closed).refusal != nil)
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
        let decision = readmit(carried, for: request)
        guard case .later(let later) = decision else { return decision }
        let answer = Answer()
        later.whenDecided { decision in answer.decision.withLock { $0 = decision } }
        return answer.decision.withLock { $0 } ?? decision
    }
}

private final class Answer: Sendable {
    let decision = Mutex<AdmissionDecision?>(nil)
}
