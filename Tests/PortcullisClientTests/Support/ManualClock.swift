import EdgeTestKit
import Foundation
import PortcullisClient

/// A clock that a test moves.
final class ManualClock: ClientClock {
    private struct State: Sendable {
        var now = 1_000.0
        var date = 1_800_000_000.0
        var sleepers: [Int: (due: Double, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var cancelled: Set<Int> = []
        var lastSleeper = 0
    }

    private let state = Awaited(State())

    var now: Double { state.current.now }
    var date: Date { Date(timeIntervalSince1970: state.current.date) }

    /// When those who sleep want to wake up, in seconds from now.
    var sleeps: [Double] {
        let state = state.current
        return state.sleepers.values.map { $0.due - state.now }.sorted()
    }

    /// The user sets the device's clock.
    func setDate(_ seconds: Double) { state.update { $0.date = seconds } }

    func sleep(seconds: Double) async throws {
        let number = state.update { state -> Int in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isOver = state.update { state -> Bool in
                    if state.cancelled.remove(number) != nil { return true }
                    state.sleepers[number] = (state.now + max(0, seconds), continuation)
                    return false
                }
                if isOver { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.update { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper?.continuation
            }
            sleeper?.resume(throwing: CancellationError())
        }
    }

    func advance(_ seconds: Double) {
        let due = state.update { state in
            state.now += seconds
            state.date += seconds
            let due = state.sleepers.filter { $0.value.due <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.sorted { $0.value.due < $1.value.due }.map(\.value.continuation)
        }
        for sleeper in due { sleeper.resume() }
    }

    /// Waits until somebody sleeps for about this long, and moves on to its end.
    func pass(_ seconds: ClosedRange<Double>) async throws {
        let wait = try await state.wait(for: "a sleeper for \(seconds) s") { state in
            state.sleepers.values.map { $0.due - state.now }.first { seconds.contains($0) }
        }
        advance(wait)
    }
}
