import Testing

@testable import PostgreSQL

@Suite("The circuit breaker")
struct CircuitBreakerTests {
    private let second: UInt64 = 1_000_000_000

    @Test func `opens after failures in a row, and not after others`() {
        var breaker = CircuitBreaker()
        for _ in 0..<3 {
            for _ in 1..<CircuitBreaker.maximumFailures { breaker.failed(at: second, random: 0) }
            #expect(breaker.passage(at: second) == .pass)
            breaker.succeeded()
        }
        for _ in 0..<CircuitBreaker.maximumFailures { breaker.failed(at: second, random: 0) }
        #expect(breaker.isOpen)
        #expect(breaker.passage(at: second) == .refuse(retryAfterSeconds: 1))
    }

    @Test func `lets one probe through after a pause, and closes when it is answered`() {
        var breaker = CircuitBreaker()
        breaker.open(at: 0, random: 0)
        #expect(breaker.passage(at: Backoff.shortest - 1) == .refuse(retryAfterSeconds: 1))
        #expect(breaker.passage(at: Backoff.shortest) == .probe)
        #expect(breaker.passage(at: Backoff.shortest) == .refuse(retryAfterSeconds: 4))
        // A probe without an answer is followed by another.
        #expect(breaker.passage(at: Backoff.shortest + Backoff.longest) == .probe)
        breaker.succeeded()
        #expect(breaker.passage(at: Backoff.shortest) == .pass)
    }

    @Test func `pauses longer after each failed probe, up to a maximum, and never in step with others`() {
        var backoff = Backoff()
        let pauses = (0..<8).map { _ in backoff.next(random: 0) }
        #expect(pauses.first == Backoff.shortest && pauses.last == Backoff.longest)
        #expect(pauses == pauses.sorted())
        for random in [1, 7, UInt64.max] {
            var backoff = Backoff()
            for pause in pauses {
                let other = backoff.next(random: random)
                #expect(other <= pause && other > pause / 2)
            }
        }
        backoff.reset()
        #expect(backoff.next(random: 0) == Backoff.shortest)
    }
}
