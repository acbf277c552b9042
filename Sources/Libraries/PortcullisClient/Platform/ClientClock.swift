public import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Time, as the library needs it. Tests move it by hand.
public protocol ClientClock: Sendable {
    /// Seconds since any fixed moment. It goes on while the device sleeps, and nobody can set it.
    var now: Double { get }
    /// The device's date, which the user can set.
    var date: Date { get }
    /// - Throws: `CancellationError` when its task is cancelled.
    func sleep(seconds: Double) async throws
}

/// The system's clocks.
public struct SystemClock: ClientClock {
    public init() {}

    public var now: Double {
        var time = timespec()
        #if canImport(Glibc)
            clock_gettime(CLOCK_BOOTTIME, &time)
        #else
            // On Apple's systems this one goes on during sleep.
            clock_gettime(CLOCK_MONOTONIC_RAW, &time)
        #endif
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    public var date: Date { Date() }

    public func sleep(seconds: Double) async throws {
        try await Task.sleep(nanoseconds: UInt64(min(max(seconds, 0), 86_400) * 1e9))
    }
}
