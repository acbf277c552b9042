import Dispatch
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

    /// With a timer of its own, which ends with its sleep. What `Task.sleep` has put into the runtime's queue stays
    /// there until it is due, 0.6 KiB each, also after a cancellation, which is how nearly every time limit ends.
    public func sleep(seconds: Double) async throws {
        let race = Race<Void>()
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now() + min(max(seconds, 0), Self.longestSleep))
        timer.setEventHandler { race.finish(.success(())) }
        timer.activate()
        defer { timer.cancel() }
        try await withTaskCancellationHandler {
            try await race.value()
        } onCancel: {
            race.finish(.failure(CancellationError()))
        }
    }

    private static let longestSleep = 86_400.0
}
