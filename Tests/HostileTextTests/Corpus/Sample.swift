import Synchronization

/// A hostile text in one spelling, of a number of bytes. All places share the samples: to write them takes longer than
/// to read them.
enum Sample {
    private struct Key: Hashable {
        let text: HostileText
        let spelling: Spelling
        let count: Int
    }

    private static let samples = Mutex<[Key: [UInt8]]>([:])

    /// - Parameter count: bytes, at most, of the spelled text.
    static func of(_ text: HostileText, _ spelling: Spelling, _ count: Int) -> [UInt8] {
        let key = Key(text: text, spelling: spelling, count: count)
        if let known = samples.withLock({ $0[key] }) { return known }
        let trial = text.bytes(1_024)
        let spelled = max(1, spelling.spelled(trial).count)
        let sample = spelling.spelled(text.bytes(min(count, count * trial.count / spelled)))
        samples.withLock { $0[key] = sample }
        return sample
    }
}
