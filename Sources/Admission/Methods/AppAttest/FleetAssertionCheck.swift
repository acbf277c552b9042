import AppAttest
import KeyStore

/// The check of one assertion by a gateway of a fleet: the same steps in the same order, but the key's standing may have to be asked for, and one step of the
/// shared store spends the challenge and raises the counter.
///
/// Counters are compared by that step alone, after the challenge: an assertion that another gateway has admitted is refused for its challenge, as by a gateway alone.
///
/// The signature is verified on the caller's thread if the key is known there, else on a thread for computations, never on the store's.
struct FleetAssertionCheck: Sendable {
    let check: AssertionCheck
    let fleet: Fleet

    private typealias Answer = @Sendable (Result<Verification, KeyRegistryError>) -> Void

    func verify(_ credential: AssertionCredential) -> Verification {
        let presented: AssertionCheck.Presented
        do throws(RefusedRequest) { presented = try check.present(credential) } catch { return .refused(error.refusal) }
        guard let use = presented.challenge.fleetUse else {
            return .refused(AssertionCheck.refusal(of: .foreign))
        }
        if let standing = fleet.standings.current(of: presented.id, at: check.moment.monotonic) {
            return verify(presented, use, by: standing)
        }
        return .later { answer in
            fleet.standings.load(presented.id, at: check.moment.monotonic) { loaded in
                switch loaded {
                case .failure(let error): answer(.failure(error))
                case .success(let standing): compute(presented, use, by: standing, answer)
                }
            }
        }
    }

    private func compute(
        _ presented: AssertionCheck.Presented, _ use: FleetUse, by standing: KeyStanding?, _ answer: @escaping Answer
    ) {
        let hasRoom = fleet.compute {
            let outcome = verify(presented, use, by: standing)
            guard case .later(let admit) = outcome else { return answer(.success(outcome)) }
            admit(answer)
        }
        if !hasRoom { answer(.failure(.queueFull)) }
    }

    private func verify(
        _ presented: AssertionCheck.Presented, _ use: FleetUse, by standing: KeyStanding?
    ) -> Verification {
        let (verified, app): (VerifiedAssertion, AppID)
        do throws(RefusedRequest) { (verified, app) = try check.verify(presented, by: standing, above: nil) } catch {
            return .refused(error.refusal)
        }
        return .later { answer in
            fleet.admit(use, by: presented.id, counter: verified.counter, at: check.moment.monotonic) { result in
                answer(result.map { conclude($0, verified, by: presented.id, of: app) })
            }
        }
    }

    private func conclude(
        _ spending: AssertionSpending, _ verified: VerifiedAssertion, by id: KeyID, of app: AppID
    ) -> Verification {
        switch spending {
        case .admitted: check.conclude(.advanced, verified, by: id, of: app)
        case .notAdvanced(let advance): check.conclude(advance, verified, by: id, of: app)
        case .refused(let mark): .refused(AssertionCheck.refusal(of: mark.refused() ?? .alreadySpent))
        }
    }
}
