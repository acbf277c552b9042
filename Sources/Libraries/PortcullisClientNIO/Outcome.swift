import NIOConcurrencyHelpers

/// A result that is told once, and awaited by one task or by a closure.
final class Outcome<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var callback: (@Sendable (Result<Value, any Error>) -> Void)?
    }

    private let state = NIOLockedValueBox(State())

    func succeed(_ value: Value) { complete(.success(value)) }

    func fail(_ error: any Error) { complete(.failure(error)) }

    /// Whatever comes first counts.
    func complete(_ result: Result<Value, any Error>) {
        let callback = state.withLockedValue { state -> (@Sendable (Result<Value, any Error>) -> Void)? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.callback = nil }
            return state.callback
        }
        callback?(result)
    }

    func whenComplete(_ callback: @escaping @Sendable (Result<Value, any Error>) -> Void) {
        let result = state.withLockedValue { state -> Result<Value, any Error>? in
            if state.result == nil { state.callback = callback }
            return state.result
        }
        if let result { callback(result) }
    }

    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                whenComplete { continuation.resume(with: $0) }
            }
        } onCancel: {
            fail(CancellationError())
        }
    }
}
