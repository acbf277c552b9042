import AppAttest
import DPoP
import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// A registration as a decision: what it asks, and what it says of each answer.
struct RegistrationStepsTests {
    private let bench: TokenBench
    private let verifier: AttestationVerifier

    init() throws {
        bench = try TokenBench()
        verifier = AttestationVerifier(trustRoot: bench.bench.trustRoot, policy: bench.bench.policy)
    }

    private func decision(
        unless refuse: @escaping Registrar.Objection = { _ in nil }
    ) throws -> Decision<ProofRegistrationSteps> {
        let request = try bench.registration()
        let presented = try PresentedRegistration(
            request, TokenDialectBody(request.body, maximumBytes: 65_536), bench.settings, verifier,
            maximumBytes: 65_536)
        let devices = try #require(bench.settings.devices)
        return Decision(ProofRegistrationSteps(presented, bench.settings, devices, at: start, unless: refuse))
    }

    /// Drives the decision to its question for the proof's last word.
    private func spending(_ decision: inout Decision<ProofRegistrationSteps>) async throws {
        guard case .ask(.attestation(let presented), _) = decision.next(nil, at: start) else { throw OtherStep() }
        let verified = try await verifier.verify(
            attestation: presented.object, keyID: presented.id.bytes, clientDataHash: presented.clientDataHash,
            at: start.date)
        guard
            case .ask(.trying(.spend), _) = decision.next(.success(.attestation(.success(verified))), at: start)
        else { throw OtherStep() }
    }

    private func refusal(_ step: Step<Result<RegistrationOutcome, KeyRegistryError>>) throws -> Refusal {
        guard case .decided(.success(let outcome)) = step else { throw OtherStep() }
        return try #require(outcome.refusal)
    }

    private struct OtherStep: Error {}

    @Test func `asks for the attestation, the proof, the challenge, the key, and then keeps it`() async throws {
        var decision = try decision()
        try await spending(&decision)
        guard case .ask(.confirm(nil), _) = decision.next(.success(.spend(.spent)), at: start),
            case .ask(.standing(_, for: .enrolment), _) = decision.next(.success(.confirm(.spent)), at: start),
            case .ask(.trying(.enrol(let key)), _) = decision.next(.success(.standing(nil, counter: 0)), at: start),
            case .decided(.success(.registered(let registered))) = decision.next(
                .success(.enrol(.enrolled)), at: start)
        else { throw OtherStep() }
        #expect(registered.id == key.id && !registered.wasKnown && registered.isInTokenDialect)
    }

    @Test func `a proof or a challenge that others have used refuses`() async throws {
        var replayed = try decision()
        try await spending(&replayed)
        #expect(try refusal(replayed.next(.success(.spend(.replayed)), at: start)).answer == .invalidProofAtToken)
        for (mark, answer) in [
            (MarkSpending.alreadySpent, RefusalAnswer.nonceExpired), (.foreign, .nonceExpired),
            (.full, .challengesExhausted),
        ] {
            var decision = try decision()
            try await spending(&decision)
            _ = decision.next(.success(.spend(.spent)), at: start)
            #expect(try refusal(decision.next(.success(.confirm(mark)), at: start)).answer == answer, "\(mark)")
        }
    }

    @Test func `a store's failure says what it has prevented`() async throws {
        var unspent = try decision()
        try await spending(&unspent)
        let refused = try refusal(unspent.next(.success(.failed(.busy)), at: start))
        #expect(refused.answer == .tokensUnavailable && refused.failed.check == .keyStore)
        var unkept = try decision()
        try await spending(&unkept)
        for answer in [StoreAnswer.spend(.spent), .confirm(.spent), .standing(nil, counter: 0)] {
            _ = unkept.next(.success(answer), at: start)
        }
        guard case .decided(.success(.unstored(let refusal))) = unkept.next(.success(.failed(.busy)), at: start) else {
            throw OtherStep()
        }
        #expect(refusal.answer == .tokensUnavailable && refusal.failed.check == .keyStored)
    }

    @Test func `a tried question is answered with its failure, by every driver`() async throws {
        let failing = FailingRegistry(bench.bench.registry, failing: [.look: .busy])
        let store = GateStore(devices: .immediate(failing))
        let id = try #require(KeyID(bytes: bench.device.keyID))
        let question = StoreQuestion.trying(.standing(id, for: .recheck))
        guard case .failed(.busy)? = try store.answerAtOnce(question, at: start),
            case .failed(.busy) = try store.knownAnswer(question, at: start),
            case .failed(.busy) = try await WaitingStore(keys: failing).answer(question, of: store, at: start)
        else { throw OtherStep() }
    }
}
