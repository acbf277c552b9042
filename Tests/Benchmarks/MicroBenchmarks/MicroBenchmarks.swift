import Benchmark
import Glibc

/// What `scripts/bench-micro` runs. The name is the library's: its plugin makes the program's entry point, which calls
/// this.
let benchmarks: @Sendable () -> Void = {
    attestBenchmarks()
    dpopBenchmarks()
    passkeyBenchmarks()
    gateBenchmarks()
    telnetBenchmarks()
    dialectBenchmarks()
    resumeBenchmarks()
    webSocketBenchmarks()
    metricsBenchmarks()
}

/// Measures `body`, `times` of it a round and a second of rounds in all; the figures are those of one.
///
/// - Parameters:
///   - prepare: makes what a round of so many uses up or begins with; it isn't measured.
///   - body: takes the number of its run within the round.
func measure<State>(
    _ name: String, times: BenchmarkScalingFactor, prepare: @escaping (Int) throws -> State,
    _ body: @escaping (inout State, Int) throws -> Void
) {
    Benchmark(name, configuration: configuration(times)) { benchmark in
        var state = try prepare(benchmark.scaledIterations.count)
        benchmark.startMeasurement()
        let start = processorTime()
        for run in benchmark.scaledIterations { try body(&state, run) }
        let end = processorTime()
        benchmark.stopMeasurement()
        benchmark.measurement(.processorTime, end - start)
    }
}

/// The same for what is asynchronous.
func measure(_ name: String, times: BenchmarkScalingFactor, _ body: @escaping () async throws -> Void) {
    Benchmark(name, configuration: configuration(times)) { benchmark in
        benchmark.startMeasurement()
        let start = processorTime()
        for _ in benchmark.scaledIterations { try await body() }
        let end = processorTime()
        benchmark.stopMeasurement()
        benchmark.measurement(.processorTime, end - start)
    }
}

extension BenchmarkMetric {
    /// The library's own metric of the kind counts the scheduler's ticks, of which one takes longer than a round.
    fileprivate static let processorTime = BenchmarkMetric.custom("CPU time (ns)")
}

private func configuration(_ times: BenchmarkScalingFactor) -> Benchmark.Configuration {
    // Virtual machines often have no counter of instructions: then the metric would read 0.
    let countsInstructions = access("/sys/bus/event_source/devices/cpu", F_OK) == 0
    return Benchmark.Configuration(
        metrics: [.processorTime, .wallClock] + (countsInstructions ? [.instructions] : []),
        warmupIterations: 3, scalingFactor: times, maxDuration: .seconds(1), maxIterations: 100_000)
}

/// Nanoseconds of all threads, by the microsecond.
private func processorTime() -> Int { clock() * (1_000_000_000 / Int(CLOCKS_PER_SEC)) }
