/// Whether a place takes too long for a text: the CPU time for a whole text, and for a sixteenth of it.
///
/// Linear code takes 16 times as long for the whole, quadratic code 256 times.
struct Judgement: CustomStringConvertible {
    /// Sixteenths.
    static let ratio = 16
    static let maximumGrowth = 40.0
    /// For 64 KB; less for less.
    static let maximumMilliseconds = 20.0
    /// Only the shortest time counts. On a busy machine the kernel's own work for a thread, such as mapping memory, may
    /// last for a while.
    private static let repetitions = 12
    private static let pause = Duration.milliseconds(20)
    /// For what is slower without optimisation than the loop that calibrates, and for a busy machine. `scripts/attack`
    /// measures the release.
    private static let allowance = 4.0

    let bytes: Int
    let whole: Double
    let part: Double
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
    static func of(_ bytes: Int, _ cost: @Sendable (Int) async throws -> Double) async rethrows -> Judgement {
        let (budget, floor) = (budget(bytes), floor(bytes))
        var part = try await cost(bytes / ratio)
        // What would take minutes isn't tried out.
        let quarter = part > floor / 16 ? try await cost(bytes / 4) : 0
        guard max(part, quarter) <= budget else {
            return Judgement(bytes: bytes / 4, whole: quarter, part: part, budget: budget, isGood: false)
        }
        var whole = try await cost(bytes)
        var count = 1
        while whole > floor, count < repetitions, whole > budget || whole > maximumGrowth * part {
            try? await Task.sleep(for: Self.pause * count)
            whole = min(whole, try await cost(bytes))
            part = min(part, try await cost(bytes / ratio))
            count += 1
        }
        let isGood = whole <= floor || (whole <= budget && whole <= maximumGrowth * part)
        return Judgement(bytes: bytes, whole: whole, part: part, budget: budget, isGood: isGood)
    }

    var description: String {
        func shown(_ milliseconds: Double) -> String { "\((milliseconds * 100).rounded() / 100) ms" }
        let growth = part > 0 ? (whole / part * 10).rounded() / 10 : 0
        return
            "\(shown(whole)) for \(bytes) bytes, \(shown(part)) for the part: \(growth) times; budget \(shown(budget))"
    }
}
