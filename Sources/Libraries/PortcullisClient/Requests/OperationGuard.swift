/// Keeps an operation from being tried too often: it backs off after failures that pass by themselves, and opens its
/// circuit breaker after others.
actor OperationGuard {
    /// Attempts of one call.
    static let maximumAttempts = 3
    /// A call waits at most this long between attempts, in seconds. A longer wait is left to the app.
    static let longestWait = 10.0

    private let operation: GateOperation
    private let clock: any ClientClock
    private let random: @Sendable () -> Double
    private var breaker = CircuitBreaker()
    /// Failures in a row that pass by themselves.
    private var passingFailures = 0
    private var notBefore = -Double.infinity

    init(_ operation: GateOperation, _ platform: ClientPlatform) {
        (self.operation, clock, random) = (operation, platform.clock, platform.random)
    }

    var state: CircuitState { breaker.wait(at: clock.now).map { .open(retryAfter: $0) } ?? .closed }

    func tryAgain() {
        breaker.reset()
        (passingFailures, notBefore) = (0, -Double.infinity)
    }

    func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        var attempt = 1
        while true {
            try await waitForTurn()
            do {
                let value = try await body()
                tryAgain()
                return value
            } catch {
                let error = GateError(wrapping: error)
                note(error)
                guard error.isPassing, attempt < Self.maximumAttempts, notBefore - clock.now <= Self.longestWait else {
                    throw error
                }
                attempt += 1
            }
        }
    }

    /// One attempt, for callers that wait and repeat by themselves. A network that puts itself between isn't the gate's
    /// failure.
    func runOnce<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        if let seconds = breaker.wait(at: clock.now) { throw GateError.circuitOpen(operation, retryAfter: seconds) }
        do {
            let value = try await body()
            tryAgain()
            return value
        } catch {
            let error = GateError(wrapping: error)
            if case .network = error { throw error }
            note(error)
            throw error
        }
    }

    private func waitForTurn() async throws {
        if let seconds = breaker.wait(at: clock.now) { throw GateError.circuitOpen(operation, retryAfter: seconds) }
        let wait = notBefore - clock.now
        guard wait > 0 else { return }
        guard wait <= Self.longestWait else { throw GateError.mustWait(operation, retryAfter: wait) }
        try await clock.sleep(seconds: wait)
    }

    private func note(_ error: GateError) {
        switch error {
        // Nothing was tried, or nobody waits for it any more.
        case .cancelled, .circuitOpen, .mustWait, .configuration, .appAttestUnsupported, .passkey, .unlock,
            .signInRequired:
            return
        default: break
        }
        guard error.isPassing else { return breaker.failed(at: clock.now) }
        passingFailures += 1
        notBefore =
            clock.now
            + Backoff.requests.delay(attempt: passingFailures, retryAfter: error.wishedDelay, random: random())
    }
}
