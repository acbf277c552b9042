package import KeyStore
import Synchronization

/// A decision under way: the steps, with the policy that was in force when it began.
///
/// It can't be copied, so no answer of a store is used for two decisions: who passes one on has none any more.
package struct Decision<Steps: DecisionSteps>: ~Copyable, Sendable {
    private var steps: Steps

    package init(_ steps: Steps) { self.steps = steps }

    /// - Parameters:
    ///   - answer: to the last question; `nil` at first. An error ends the decision.
    ///   - moment: of this step.
    package mutating func next(
        _ answer: Result<StoreAnswer, KeyRegistryError>?, at moment: Moment
    ) -> Step<Result<Steps.Outcome, KeyRegistryError>> {
        do throws(KeyRegistryError) {
            switch try steps.next(answer?.get(), at: moment) {
            case .ask(let question, let store): return .ask(question, of: store)
            case .decided(let outcome): return .decided(.success(outcome))
            }
        } catch {
            return .decided(.failure(error))
        }
    }
}

/// How far a decision comes without waiting.
package enum Progress<Outcome: Sendable>: Sendable {
    case decided(Outcome)
    case later(LaterDecision<Outcome>)
}

extension Progress {
    func map<Other: Sendable>(_ change: @escaping @Sendable (Outcome) -> Other) -> Progress<Other> {
        switch self {
        case .decided(let outcome): .decided(change(outcome))
        case .later(let later): .later(later.map(change))
        }
    }

    /// `body` is called once: on this stack if the outcome is known, otherwise on any thread.
    package func whenDecided(_ body: @escaping @Sendable (Outcome) -> Void) {
        switch self {
        case .decided(let outcome): body(outcome)
        case .later(let later): later.whenDecided(body)
        }
    }
}

extension Decision {
    package typealias Outcome = Result<Steps.Outcome, KeyRegistryError>

    /// Drives the decision with stores that answer at once, on this stack. At the first question that takes time it
    /// stops: the rest goes on in ``LaterDecision/whenDecided(_:)``.
    package consuming func run(at moment: Moment) -> Progress<Outcome> {
        var decision = self
        var step = decision.next(nil, at: moment)
        while case .ask(let question, let store) = step {
            let answer: StoreAnswer?
            do throws(KeyRegistryError) { answer = try store.answerAtOnce(question, at: moment) } catch {
                step = decision.next(.failure(error), at: moment)
                continue
            }
            guard let answer else {
                let pending = PendingDecision(decision, began: moment)
                return .later(LaterDecision { body in pending.proceed(question, store, then: body) })
            }
            step = decision.next(.success(answer), at: moment)
        }
        guard case .decided(let outcome) = step else { preconditionFailure("A step asks, or decides.") }
        return .decided(outcome)
    }

    /// Drives the decision for a caller that can't wait. A store that would have to be asked answers from what is known
    /// of it, or with an error.
    package consuming func runWithoutWaiting(at moment: Moment) -> Outcome {
        var decision = self
        var answer: Result<StoreAnswer, KeyRegistryError>?
        while true {
            switch decision.next(answer, at: moment) {
            case .decided(let outcome): return outcome
            case .ask(let question, let store):
                answer = Result { () throws(KeyRegistryError) in try store.knownAnswer(question, at: moment) }
            }
        }
    }
}

/// A decision that waits for an answer. It has one owner: the store that was asked.
private final class PendingDecision<Steps: DecisionSteps>: Sendable {
    private let decision: Mutex<Decision<Steps>?>
    private let began: Moment

    init(_ decision: consuming Decision<Steps>, began: Moment) {
        self.decision = Mutex(decision)
        self.began = began
    }

    func proceed(
        _ question: StoreQuestion, _ store: GateStore,
        then body: @escaping @Sendable (Result<Steps.Outcome, KeyRegistryError>) -> Void
    ) {
        store.answer(question, at: began) { [self] answer in
            switch next(answer, at: store.now(after: began)) {
            case .decided(let outcome): body(outcome)
            case .ask(let question, let store): proceed(question, store, then: body)
            }
        }
    }

    private func next(
        _ answer: Result<StoreAnswer, KeyRegistryError>, at moment: Moment
    ) -> Step<Result<Steps.Outcome, KeyRegistryError>> {
        decision.withLock { decision in
            guard let step = decision?.next(answer, at: moment) else { preconditionFailure("It has been decided.") }
            if case .decided = step { decision = nil }
            return step
        }
    }
}
