import Synchronization

/// Ends one task's pause early. A ring before the pause isn't lost.
package final class Alarm: Sendable {
    private struct State {
        var hasRung = false
        var sleeper: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// From any thread.
    package func ring() {
        let sleeper = state.withLock { state in
            state.hasRung = true
            return state.sleeper
        }
        sleeper?.cancel()
    }

    /// Returns after this time, at the next ring, or when the task is cancelled. For one task.
    package func pause(atMost limit: Duration) async {
        let sleeper = Task { _ = try? await Task.sleep(for: limit) }
        let hasRung = state.withLock { state in
            state.sleeper = sleeper
            return state.hasRung
        }
        if hasRung { sleeper.cancel() }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        state.withLock { $0 = State() }
    }
}
