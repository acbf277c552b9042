import Reactors

/// Returns the memory of ended sessions to the system.
///
/// glibc keeps freed memory. After many clients have left, that is most of the process' memory. Some of it is freed only when the timers of
/// the sessions would have fired, so the heap is trimmed several times.
struct MemoryReturn {
    /// The peak of open connections from which trimming the heap is worthwhile.
    private static let crowd = 256
    private static let looks = 12
    private var most = 0
    private var looksLeft = 0

    /// - Parameter connections: the number open now. Call this every few seconds, not on a reactor.
    mutating func note(_ connections: Int) {
        most = max(most, connections)
        if most >= Self.crowd, connections <= most / 2 {
            most = connections
            looksLeft = Self.looks
        }
        guard looksLeft > 0 else { return }
        // At once, and then every third time.
        if looksLeft.isMultiple(of: 3) { ReactorPool.returnFreedMemory() }
        looksLeft -= 1
    }
}
