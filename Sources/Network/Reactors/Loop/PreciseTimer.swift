import CLibuv
import Glibc

/// One deadline with the precision of the kernel's clock; `ReactorTimer` has only libuv's milliseconds. For measuring
/// tools.
///
/// It is a timer file descriptor (timerfd_create(2)) that the loop polls. Reactor thread only.
package final class PreciseTimer {
    private let reactor: Reactor
    private let descriptor: Int32
    private let poll = allocateHandle(uv_poll_t.self)
    private let fired: (_ now: UInt64) -> Void
    private var deadline: UInt64?
    private var isClosed = false

    /// - Parameter fired: called once for each deadline that isn't replaced first.
    package init(on reactor: Reactor, fired: @escaping (_ now: UInt64) -> Void) {
        reactor.preconditionOnThread()
        self.reactor = reactor
        self.fired = fired
        descriptor = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_NONBLOCK) | Int32(TFD_CLOEXEC))
        precondition(descriptor >= 0, "timerfd_create: \(systemErrorText())")
        checkUV(uv_poll_init(reactor.loop, poll, descriptor), "uv_poll_init")
        poll.pointee.data = Unmanaged.passRetained(self).toOpaque()  // Released by closeOwnedHandle, in `close`.
        uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            Unmanaged<PreciseTimer>.fromOpaque(handle!.pointee.data).takeUnretainedValue().expired()
        }
    }

    /// Replaces the previous deadline.
    ///
    /// - Parameter deadline: nanoseconds of the reactor's clock; a past deadline fires in the next turn.
    package func arm(at deadline: UInt64) {
        guard !isClosed, deadline != self.deadline else { return }
        self.deadline = deadline
        let time = max(deadline, 1)  // Zero would disarm it.
        var setting = itimerspec()
        setting.it_value.tv_sec = time_t(time / 1_000_000_000)
        setting.it_value.tv_nsec = Int(time % 1_000_000_000)
        timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME), &setting, nil)
    }

    /// Call it once. The timer doesn't fire afterwards.
    package func close() {
        isClosed = true
        uv_poll_stop(poll)
        Glibc.close(descriptor)
        closeOwnedHandle(poll)
    }

    private func expired() {
        var count: UInt64 = 0
        guard read(descriptor, &count, MemoryLayout<UInt64>.size) > 0 else { return }
        deadline = nil
        fired(reactor.now)
    }
}
