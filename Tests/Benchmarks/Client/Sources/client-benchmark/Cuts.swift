import Foundation
import PortcullisClient

/// A session whose connection is cut again and again, at random moments after it was back, while the service sends.
struct Cuts {
    enum Limit {
        case number(Int)
        case seconds(Double)
    }

    struct Result {
        var cuts = 0
        /// Seconds from each cut to the first output behind the resume; of the first thousand.
        var times: [Double] = []
        var memory = MemorySamples()
        var gaps = 0
        /// Sessions that began anew.
        var losses = 0
        var ticks = Ticks()

        var isComplete: Bool { gaps == 0 && losses == 0 && ticks.isInOrder && ticks.count > 0 }
    }

    private let limit: Limit
    /// Seconds between a resume and the next cut.
    private let pause: ClosedRange<Double>
    private let cutter: Cutter

    init(_ limit: Limit, pause: ClosedRange<Double>, _ cutter: Cutter) {
        (self.limit, self.pause, self.cutter) = (limit, pause, cutter)
    }

    func play(_ client: GateClient) async throws -> Result {
        let connection = client.connect(ConnectionOptions(.accessToken))
        let begin = Machine.now
        var result = Result()
        var (hasBegun, awaitsOutput) = (false, false)
        try await connection.send("ticks")
        for await event in connection {
            switch event {
            case .state(.connected(let isResumed)):
                if hasBegun, !isResumed { result.losses += 1 }
                awaitsOutput = true
            case .output(let output):
                result.ticks.take(output.bytes)
                guard awaitsOutput else { break }
                awaitsOutput = false
                if hasBegun, let time = cutter.sinceCut { note(time, &result) }
                hasBegun = true
                if isOver(result, begin) { await connection.close() } else { cutLater() }
            case .gap: result.gaps += 1
            case .state(.ended(let end)) where end.cause != .clientClosed:
                throw Failure("the session has ended: \(end)")
            default: break
            }
        }
        return result
    }

    private func note(_ time: Double, _ result: inout Result) {
        result.cuts += 1
        if result.times.count < 1_000 { result.times.append(time) }
        if case .seconds(let seconds) = limit { result.memory.take(at: result.cuts, over: seconds) }
    }

    private func isOver(_ result: Result, _ begin: Double) -> Bool {
        switch limit {
        case .number(let number): result.cuts >= number
        case .seconds(let seconds): Machine.now - begin >= seconds
        }
    }

    private func cutLater() {
        Task { [cutter, pause] in
            try? await Task.sleep(nanoseconds: UInt64(.random(in: pause) * 1e9))
            cutter.cut()
        }
    }
}
