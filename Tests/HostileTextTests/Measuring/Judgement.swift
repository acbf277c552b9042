/// Whether a place takes too long for a text: the CPU time for a whole text, and for a sixteenth of it.
///
/// Linear code takes 16 times as long for the whole, quadratic code 256 times.
struct Judgement: CustomStringConvertible {
    /// Sixteenths.
    static let ratio = 16
    static let maximumGrowth = 40.0
    /// For 64 KB; less for less.
    static let maximumMilliseconds = 20.0
    /// Only the shortest time and the least growth count. On a busy machine the kernel's own work for a thread, such as
    /// mapping memory, may last for a while, and a thread that loses its core finds cold caches: a part is too short
    /// for that. So each repetition takes as many parts as make a whole, and compares them with the whole beside them.
    /// What is bad isn't any better with fewer.
    static let repetitions = 12
    private static let pause = Duration.milliseconds(20)
    /// For what is slower without optimisation than the loop that calibrates, and for a busy machine. `scripts/attack`
    /// measures the release.
    private static let allowance = 4.0

    let bytes: Int
    let whole: Double
    let part: Double
    /// How many times longer the whole takes.
    let growth: Double
    /// Milliseconds.
    let budget: Double
    let isGood: Bool

    /// The time below which nothing is compared: what a clock and a memory allocator add.
    static func floor(_ bytes: Int) -> Double { 1 + 100 * Double(bytes) / 65_536 * max(1, CPUTime.slowness / 20) }

    /// Milliseconds for so many bytes. Code that isn't optimised may take several times what a loop over bytes does.
    static func budget(_ bytes: Int) -> Double {
        2 + maximumMilliseconds * CPUTime.slowness * allowance * max(Double(bytes) / 65_536, 1.0 / 16)
    }

    /// - Parameter cost: the milliseconds for so many bytes.
    static func of(
        _ bytes: Int, repetitions: Int = repetitions, _ cost: @Sendable (Int) async throws -> Double
    ) async rethrows -> Judgement {
        let (budget, floor) = (budget(bytes), floor(bytes))
        let part = try await cost(bytes / ratio)
        // What would take minutes isn't tried out.
        let quarter = part > floor / 16 ? try await cost(bytes / 4) : 0
        guard max(part, quarter) <= budget else {
            return Judgement(
                bytes: bytes / 4, whole: quarter, part: part, growth: quarter / part, budget: budget, isGood: false)
        }
        var best = (whole: try await cost(bytes), part: part)
        var (whole, count) = (best.whole, 1)
        while whole > floor, count < repetitions, whole > budget || growth(best) > maximumGrowth {
            try? await Task.sleep(for: Self.pause * count)
            var next = (whole: try await cost(bytes), part: 0.0)
            for _ in 0..<ratio { next.part += try await cost(bytes / ratio) / Double(ratio) }
            whole = min(whole, next.whole)
            if growth(next) < growth(best) { best = next }
            count += 1
        }
        let isGood = whole <= floor || (whole <= budget && growth(best) <= maximumGrowth)
        return Judgement(
            bytes: bytes, whole: whole, part: best.part, growth: growth(best), budget: budget, isGood: isGood)
    }

    private static func growth(_ times: (whole: Double, part: Double)) -> Double {
        times.part > 0 ? times.whole / times.part : .infinity
    }

    var description: String {
        func shown(_ milliseconds: Double) -> String { "\((milliseconds * 100).rounded() / 100) ms" }
        let times = (growth * 10).rounded() / 10
        return
            "\(shown(whole)) for \(bytes) bytes, \(shown(part)) for the part: \(times) times; budget \(shown(budget))"
    }
}
