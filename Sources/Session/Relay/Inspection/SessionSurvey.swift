/// A walk over the sessions of one loop, in slices of bounded time between which the loop does its other work. On the
/// loop's thread only.
///
/// It visits each session that is there from the beginning of the walk to its turn, once. Between the slices it holds
/// no session: one that ends or moves to another loop meanwhile isn't visited.
final class SessionSurvey<Result: Sendable> {
    private let table: SessionTable
    private let loop: any SessionLoop
    private let keys: [Int]
    private let slice: UInt64
    private var position = 0
    private var result: Result
    private let visit: (inout Result, SessionStage) -> Void
    private let done: (Result) -> Void

    /// - Parameters:
    ///   - slice: nanoseconds; a slice visits some sessions even if it is 0.
    ///   - done: called once, when all sessions have been visited.
    init(
        _ table: SessionTable, on loop: any SessionLoop, into result: Result,
        slice: UInt64 = UInt64(SurveyLimits.sliceNanoseconds),
        visit: @escaping (inout Result, SessionStage) -> Void, done: @escaping (Result) -> Void
    ) {
        self.table = table
        self.loop = loop
        self.result = result
        self.slice = slice
        self.visit = visit
        self.done = done
        keys = table.keys
    }

    /// Goes on for one slice. Call it once; further slices come by themselves.
    func advance() {
        let end = loop.now + slice
        repeat {
            let batch = keys[position..<min(position + SurveyLimits.batch, keys.count)]
            for key in batch {
                if let session = table.session(key) { visit(&result, session) }
            }
            position = batch.endIndex
        } while position < keys.count && loop.now < end
        guard position < keys.count else { return done(result) }
        let bound = LoopBound(self, to: loop)
        loop.submit { bound.value.advance() }
    }
}

enum SurveyLimits {
    /// The length of a slice: so long a walk may delay the loop's sessions.
    static let sliceNanoseconds = 500_000
    /// Sessions between two looks at the clock.
    static let batch = 32
}
