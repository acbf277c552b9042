import Reactors

/// Gives the memory of sessions that have ended back to the system.
///
/// glibc keeps what was freed. After a crowd has left, that is most of what the process holds; and some of it comes free only when the timers
/// of its sessions would have fired, so it is looked for a few times.
struct MemoryReturn {
    /// Connections that must have been open for it to be worth the walk through the heap.
    private static let crowd = 256
    private static let looks = 12
    private var most = 0
    private var looksLeft = 0

    /// - Parameter connections: open now. To be called every few seconds, off the reactors.
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
