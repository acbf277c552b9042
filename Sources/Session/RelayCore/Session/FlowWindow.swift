/// One direction's back-pressure: reading the source stops above a high-water mark and resumes at half of it.
///
/// It counts bytes and never sees them.
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

    /// - Parameters:
    ///   - queued: bytes that wait in this direction now.
    ///   - holdsMore: more bytes wait that aren't counted yet, so the source has to wait whatever `queued` is.
    mutating func update(queued: Int, holdsMore: Bool = false) -> Change {
        if !isPaused, holdsMore || queued > highWater {
            isPaused = true
            return .pause
        }
        if isPaused, !holdsMore, queued <= highWater / 2 {
            isPaused = false
            return .resume
        }
        return .none
    }
}
