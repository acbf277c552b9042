import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// A decision as a value: it asks, and calls no store.
struct DecisionTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private typealias GateStep = Step<Result<CredentialDecision, KeyRegistryError>>

    private func decision(_ request: AdmissionRequest, by gate: Gate? = nil) -> Decision<GateSteps> {
        let gate = gate ?? bench.gate
        return Decision(GateSteps(gate, gate.upgradePolicies, AdmissionAttempt(request, by: gate.methods)))
    }

    private func refusal(_ step: GateStep) -> Refusal? {
        guard case .decided(.success(.refused(let refusal))) = step else { return nil }
        return refusal
    }

    private func standing(of device: SimulatedDevice) throws -> (id: KeyID, answer: StoreAnswer) {
        let id = try #require(KeyID(bytes: device.keyID))
        return (id, .standing(bench.registry.standing(of: id), counter: 0))
    }

    @Test func `an assertion asks for its key, then for its counter, and changes nothing itself`() throws {
        var device = try bench.registeredDevice()
        let (id, standing) = try standing(of: device)
        var decision = decision(bench.request(try bench.assertion(by: &device)))
        guard case .ask(.standing(id, for: .assertion), _) = decision.next(nil, at: start),
            case .ask(.admit(let claim), _) = decision.next(.success(standing), at: start)
        else { throw OtherStep() }
        #expect(claim.key == id && claim.counter == 1 && claim.challenge == nil)
        #expect(bench.registry.key(id)?.counter == 0)
        guard
            case .decided(.success(.authenticated(let principal))) = decision.next(
                .success(.admit(.admitted)), at: start)
        else { throw OtherStep() }
        #expect(principal.identity == .key(id))
    }

    @Test func `the answers of the store are the refusals of an assertion`() throws {
        let answers: [(AssertionSpending, RefusalAnswer)] = [
            (.notAdvanced(.notHigher(stored: 9)), .assertionRejected), (.notAdvanced(.unknownKey), .unknownKey),
            (.notAdvanced(.revoked), .keyRevoked), (.refused(.alreadySpent), .invalidNonce),
            (.refused(.foreign), .invalidNonce), (.refused(.full), .challengesExhausted),
        ]
        for (spending, answer) in answers {
            var device = try bench.registeredDevice()
            var decision = decision(bench.request(try bench.assertion(by: &device)))
            _ = decision.next(nil, at: start)
            _ = decision.next(.success(try standing(of: device).answer), at: start)
            #expect(refusal(decision.next(.success(.admit(spending)), at: start))?.answer == answer, "\(spending)")
        }
    }

    @Test func `a counter that the store knows to be used is found before it is asked again`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        var decision = decision(bench.request(try bench.assertion(by: &device)))
        _ = decision.next(nil, at: start)
        let known = StoreAnswer.standing(bench.registry.standing(of: id), counter: 1)
        #expect(refusal(decision.next(.success(known), at: start))?.answer == .assertionRejected)
    }

    @Test func `an error of the store ends the decision at any question`() throws {
        for answers in 0...1 {
            var device = try bench.registeredDevice()
            var decision = decision(bench.request(try bench.assertion(by: &device)))
            _ = decision.next(nil, at: start)
            if answers == 1 { _ = decision.next(.success(try standing(of: device).answer), at: start) }
            guard case .decided(.failure(.busy)) = decision.next(.failure(.busy), at: start) else { throw OtherStep() }
        }
    }

    @Test func `a decision keeps the rules that it began with`() throws {
        var device = try bench.registeredDevice()
        let (id, standing) = try standing(of: device)
        let gate = bench.gate
        var begun = decision(bench.request(try bench.assertion(by: &device)), by: gate)
        _ = begun.next(nil, at: start)
        let list = try BlockList("key \(id.base64)")
        let reloaded = gate.changed { $0.blockList = list }
        _ = begun.next(.success(standing), at: start)
        guard case .decided(.success(.authenticated)) = begun.next(.success(.admit(.admitted)), at: start) else {
            throw OtherStep()
        }
        var next = decision(bench.request(try bench.assertion(by: &device)), by: reloaded)
        #expect(refusal(next.next(nil, at: start))?.answer == .deviceBlocked)
    }

    /// `REQUIRE_APP_AUTH=report` ends while the store is asked for a revocation.
    @Test func `what has expired by the last step doesn't count`() throws {
        var bench = bench
        bench.settings.appAuth = .reported(until: start.unixMilliseconds + 1_000)
        for (milliseconds, isOpen) in [(999, true), (1_000, false)] {
            var stranger = SimulatedDevice(app: Bench.app)
            var decision = decision(bench.request(try bench.assertion(by: &stranger)), by: bench.gate)
            _ = decision.next(nil, at: start)
            let step = decision.next(.success(.standing(nil, counter: 0)), at: start + milliseconds)
            if isOpen {
                guard case .ask(.standing(_, for: .recheck), _) = step else { throw OtherStep() }
            } else {
                #expect(refusal(step)?.answer == .unknownKey)
            }
        }
    }

    @Test func `a store that answers at once decides on the caller's stack`() throws {
        var device = try bench.registeredDevice()
        let decision = decision(bench.request(try bench.assertion(by: &device)))
        guard case .decided(.success(.authenticated)) = decision.run(at: start) else { throw OtherStep() }
        #expect(bench.registry.key(try standing(of: device).id)?.counter == 1)
    }

    private struct OtherStep: Error {}
}
