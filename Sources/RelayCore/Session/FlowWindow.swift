/// One direction's back-pressure: stop reading the source above a high-water mark, go on at half of it.
///
/// Pure bookkeeping; the bytes themselves never come here.
struct FlowWindow {
    enum Change {
        case none
        case pause
        case resume
    }

    private let highWater: Int
    private(set) var isPaused = false

    init(highWater: Int) {
        self.highWater = highWater
    }

    /// - Parameter queued: bytes that wait in this direction now.
    mutating func update(queued: Int) -> Change {
        if !isPaused, queued > highWater {
            isPaused = true
            return .pause
        }
        if isPaused, queued <= highWater / 2 {
            isPaused = false
            return .resume
        }
        return .none
    }
}
