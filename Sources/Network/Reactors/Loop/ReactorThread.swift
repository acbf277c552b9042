import Glibc

/// Starts a detached POSIX thread that runs `body` once.
///
/// The closure is boxed and retained for the thread, which first takes ownership of the box.
func startThread(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(ThreadBody(run: body))
    var thread = pthread_t()
    let result = pthread_create(
        &thread, nil,
        { argument in
            let body = Unmanaged<ThreadBody>.fromOpaque(argument!).takeRetainedValue()
            body.run()
            return nil
        }, box.toOpaque())
    precondition(result == 0, "pthread_create: \(String(cString: strerror(result)))")
    pthread_detach(thread)
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// The calling thread's identity, for precondition checks.
func currentThreadID() -> UInt {
    UInt(pthread_self())
}

/// A write to a connection that the peer has reset must fail with an error, not raise a signal.
func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
}

/// Carries a value that belongs to one reactor's thread through code that runs elsewhere.
///
/// - Note: `@unchecked Sendable` because the value can be read only on its reactor's thread; elsewhere that traps. The
///   last copy must be released on that thread too.
package struct Pinned<Value>: @unchecked Sendable {
    private let pinned: Value
    package let reactor: Reactor

    package init(_ value: Value, to reactor: Reactor) {
        pinned = value
        self.reactor = reactor
    }

    package var value: Value {
        reactor.preconditionOnThread()
        return pinned
    }
}
