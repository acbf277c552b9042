/// What is first of several outcomes. Later ones are dropped.
///
/// A task group would wait for a call that hangs, and Apple's calls can't be cancelled.
final class Race<Value: Sendable>: Sendable {
    private enum State {
        case open(CheckedContinuation<Value, any Error>?)
        case over(Result<Value, any Error>?)
    }

    private let state = Locked(State.open(nil))

    func finish(_ result: Result<Value, any Error>) {
        let waiting: CheckedContinuation<Value, any Error>? = state.withLock { state in
            guard case .open(let waiting) = state else { return nil }
            state = .over(waiting == nil ? result : nil)
            return waiting
        }
        waiting?.resume(with: result)
    }

    /// For one caller.
    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<Value, any Error>? = state.withLock { state in
                guard case .over(let result) = state else {
                    state = .open(continuation)
                    return nil
                }
                return result
            }
            if let result { continuation.resume(with: result) }
        }
    }
}

extension ClientClock {
    /// Runs `work`, and stops waiting for it after a time. The work is cancelled then, but isn't waited for.
    func limit<Value: Sendable>(
        _ seconds: Double, _ operation: TimedOperation, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let race = Race<Value>()
        let task = Task {
            do { race.finish(.success(try await work())) } catch { race.finish(.failure(error)) }
        }
        let alarm = Task {
            try await sleep(seconds: seconds)
            race.finish(.failure(GateError.timedOut(operation)))
            task.cancel()
        }
        defer { alarm.cancel() }
        return try await withTaskCancellationHandler {
            try await race.value()
        } onCancel: {
            race.finish(.failure(CancellationError()))
            task.cancel()
        }
    }
}
