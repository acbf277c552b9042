import CoreFoundation
import Glibc

/// CPU time in milliseconds. A busy machine takes turns away, but hardly lengthens it.
enum CPUTime {
    /// - Parameter body: runs on this thread alone.
    static func ofThread(_ body: () -> Void) -> Double {
        let start = now(CLOCK_THREAD_CPUTIME_ID)
        body()
        return now(CLOCK_THREAD_CPUTIME_ID) - start
    }

    /// Of all threads of another process since its start.
    static func ofProcess(_ id: Int32) -> Double? {
        var clock = clockid_t()
        guard clock_getcpuclockid(id, &clock) == 0 else { return nil }
        return now(clock)
    }

    private static func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1_000_000
    }

    /// How many times longer this build takes than an optimised one: 1 to some dozens. A loop over bytes is what
    /// protocol code is made of.
    static let slowness: Double = {
        let bytes = [UInt8](repeating: 97, count: 65_536)
        var sum = 0
        let time = (0..<5).map { _ in
            ofThread { for byte in bytes { sum = (sum &* 31 &+ Int(byte)) & 0xFFFF_FFFF } }
        }.min()
        precondition(sum != 1, "the loop isn't removed")
        // What an optimised build takes on the slowest machine that is in use for this.
        return max(1, (time ?? 0) / 0.15)
    }()
}
