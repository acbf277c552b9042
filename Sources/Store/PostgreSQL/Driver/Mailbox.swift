import Glibc
import Synchronization

/// What other threads leave for the driver's thread, and what wakes it.
final class Mailbox: Sendable {
    struct Mail {
        var calls: [Call] = []
        var dialed: [(lane: Int, result: Result<LibpqConnection, ConnectFailure>)] = []
        var isClosed = false
    }

    private struct State {
        var mail = Mail()
        /// The driver's thread will look without another signal.
        var isSignalled = false
        /// Statements without an answer.
        var statements = 0
        var figures = DriverFigures()
    }

    /// Both ends of a pipe, which has a byte in it while there is mail. The driver's thread polls the reading end.
    let descriptor: Int32
    private let signal: Int32
    private let state = Mutex(State())

    init() {
        var ends: [Int32] = [-1, -1]
        let result = pipe(&ends)
        precondition(result == 0, "The process has no descriptor left at its start.")
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (descriptor, signal) = (ends[0], ends[1])
    }

    deinit {
        Glibc.close(descriptor)
        Glibc.close(signal)
    }

    enum Refusal { case full, closed }

    /// - Returns: nil if the driver's thread will answer the call.
    func add(_ call: Call, maximum: Int) -> Refusal? {
        signalling { state in
            if state.mail.isClosed { return .closed }
            guard state.statements < maximum else { return .full }
            state.statements += 1
            state.mail.calls.append(call)
            return nil
        }
    }

    func add(_ result: Result<LibpqConnection, ConnectFailure>, lane: Int) {
        signalling { state in
            // After the end nobody would take it.
            if !state.mail.isClosed { state.mail.dialed.append((lane, result)) }
        }
    }

    func close() { signalling { $0.mail.isClosed = true } }

    private func signalling<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        state.withLock { state in
            let value = body(&state)
            if !state.isSignalled {
                // Under the lock: the byte is there when `take` sees the flag.
                var byte: UInt8 = 1
                write(signal, &byte, 1)
                state.isSignalled = true
            }
            return value
        }
    }

    // MARK: On the driver's thread

    func take() -> Mail {
        state.withLock { state in
            defer { state.mail = Mail(isClosed: state.mail.isClosed) }
            if state.isSignalled {
                var byte: UInt8 = 0
                read(descriptor, &byte, 1)
                state.isSignalled = false
            }
            return state.mail
        }
    }

    func note(answered: Int, connections: Int, isOpen: Bool) {
        state.withLock { state in
            state.statements -= answered
            state.figures.connections = connections
            state.figures.isOpen = isOpen
        }
    }

    var figures: DriverFigures {
        state.withLock { state in
            var figures = state.figures
            figures.statements = state.statements
            return figures
        }
    }
}

enum Monotonic {
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    static func nanoseconds(milliseconds: Int) -> UInt64 { UInt64(max(0, milliseconds)) * 1_000_000 }
}
