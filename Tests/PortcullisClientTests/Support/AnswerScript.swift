import EdgeTestKit

/// What a ``StandIn`` answers at a path before it answers as usual, one answer after the other.
final class AnswerScript: Sendable {
    private let answers = Awaited<[String: [StandIn.Answer]]>([:])

    func add(_ path: String, _ more: [StandIn.Answer]) {
        answers.update { $0[path, default: []] += more }
    }

    /// - Returns: nil if nothing is left for the request's path.
    func next(for request: StandIn.Request) -> StandIn.Answer? {
        answers.update { answers in
            guard answers[request.path]?.isEmpty == false else { return nil }
            return answers[request.path]?.removeFirst()
        }
    }
}

extension Awaited where State == Int {
    /// The numbers from 1 on, each once.
    func next() -> Int {
        update { number in
            number += 1
            return number
        }
    }
}
