/// One run of an operation at a time. Callers that come meanwhile wait for its result.
///
/// A caller that is cancelled leaves alone. When all have left the run is cancelled, unless it has to be finished: then
/// those who come later join it.
final class SingleFlight<Value: Sendable>: Sendable {
    private struct Flight {
        let number: Int
        let task: Task<Void, Never>
        var waiting: [Int: Race<Value>]
    }

    private struct State {
        var flight: Flight?
        var lastNumber = 0
    }

    private let state = Locked(State())
    private let isFinishedAlways: Bool

    init(isFinishedAlways: Bool = false) { self.isFinishedAlways = isFinishedAlways }

    func run(_ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let race = Race<Value>()
        let (flight, caller) = join(race, operation)
        return try await withTaskCancellationHandler {
            try await race.value()
        } onCancel: {
            self.leave(flight, caller, race)
        }
    }

    private func join(
        _ race: Race<Value>, _ operation: @escaping @Sendable () async throws -> Value
    ) -> (flight: Int, caller: Int) {
        state.withLock { state in
            state.lastNumber += 1
            let caller = state.lastNumber
            if let number = state.flight?.number {
                state.flight?.waiting[caller] = race
                return (number, caller)
            }
            let task = Task {
                do { self.land(caller, .success(try await operation())) } catch { self.land(caller, .failure(error)) }
            }
            state.flight = Flight(number: caller, task: task, waiting: [caller: race])
            return (caller, caller)
        }
    }

    private func land(_ number: Int, _ result: Result<Value, any Error>) {
        let waiting = state.withLock { state -> [Race<Value>] in
            guard let flight = state.flight, flight.number == number else { return [] }
            state.flight = nil
            return Array(flight.waiting.values)
        }
        for race in waiting { race.finish(result) }
    }

    private func leave(_ number: Int, _ caller: Int, _ race: Race<Value>) {
        race.finish(.failure(CancellationError()))
        let abandoned = state.withLock { state -> Task<Void, Never>? in
            guard state.flight?.number == number else { return nil }
            state.flight?.waiting[caller] = nil
            guard !isFinishedAlways, let flight = state.flight, flight.waiting.isEmpty else { return nil }
            // Callers that come from now on begin anew.
            state.flight = nil
            return flight.task
        }
        abandoned?.cancel()
    }
}

/// Lets one caller in at a time, in the order in which they came.
actor Turnstile {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func pass<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
        await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async {
        guard isTaken else { return isTaken = true }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func leave() {
        guard !waiting.isEmpty else { return isTaken = false }
        waiting.removeFirst().resume()
    }
}
