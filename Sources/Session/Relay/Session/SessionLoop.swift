import Admission
import Reactors

// What sessions need of the network. The gateway's own implementations are in `Reactors`; the tests' are in memory,
// with a clock that the tests move.

/// The event loop that a session runs on: its thread, its clock, its timers and its connections to targets.
///
/// Everything but ``submit(_:)`` is for the loop's own thread.
protocol SessionLoop: AnyObject, Sendable {
    /// Nanoseconds of a monotonic clock, which all loops share.
    var now: UInt64 { get }
    /// Counts the turns of the loop.
    var turn: UInt64 { get }
    var moment: Moment { get }

    func makeTimer() -> any SessionTimer

    /// Runs `job` on the loop's thread, after the jobs that were submitted before it. From any thread.
    func submit(_ job: @escaping @Sendable () -> Void)

    /// Traps on any other thread.
    func preconditionOnThread()

    /// Connects to a target. If it can't be dialled at all, `handler` is called before this returns.
    func dial(
        host: String, port: UInt16, options: DialOptions, tls: TargetTLS?, handler: any TCPHandler
    ) -> any TargetSocket

    /// Takes over a target that ``TargetSocket/depart()`` of a loop of the same kind has returned.
    func adopt(_ target: any DepartedTarget, handler: any TCPHandler) -> any TargetSocket
}

/// As `ReactorTimer`: while it is armed it retains its target.
protocol SessionTimer: AnyObject {
    func arm(at deadline: UInt64, calling target: any TimerTarget)
    func cancel()
}

/// A client's WebSocket, as `WebSocketConnection` describes it.
protocol ClientSocket: AnyObject {
    var queuedBytes: Int { get }
    var isCompressed: Bool { get }
    var wireBytesRead: Int { get }
    var wireBytesWritten: Int { get }

    func send(_ bytes: UnsafeRawBufferPointer)
    func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool, isSecret: Bool)
    func setCompressing(_ isCompressing: Bool)
    func setReading(paused: Bool)
    func ping()
    func close(code: UInt16, reason: String)
    func closeAfterInput(code: UInt16, reason: String, within nanoseconds: UInt64)
    func drop()
}

/// A connection to a target, as `TargetConnection` describes it.
protocol TargetSocket: AnyObject {
    var queuedBytes: Int { get }
    var tlsVersion: String? { get }
    var fallback: TargetTLSFailure? { get }

    func send(_ bytes: UnsafeRawBufferPointer)
    func setReading(paused: Bool)
    func finish()
    func drop()

    /// Gives the connection away, for another loop to adopt. The handler gets no more calls.
    ///
    /// - Returns: nil if it can't be moved; then it stays as it is.
    func depart() -> (any DepartedTarget)?
}

/// A target's connection between two loops. If no loop adopts it, it is closed.
protocol DepartedTarget: AnyObject, Sendable {
    /// For another process, which gets a copy of the descriptor, and what hasn't been written yet; nil: it can't leave
    /// this one.
    var forAnotherProcess: (descriptor: Int32, unsent: [UInt8])? { get }
}

extension DepartedTarget {
    var forAnotherProcess: (descriptor: Int32, unsent: [UInt8])? { nil }
}

// MARK: The gateway's own

extension Reactor: SessionLoop {
    func makeTimer() -> any SessionTimer { ReactorTimer(on: self) }

    func dial(
        host: String, port: UInt16, options: DialOptions, tls: TargetTLS?, handler: any TCPHandler
    ) -> any TargetSocket {
        TargetConnection.dial(host: host, port: port, options: options, tls: tls, on: self, handler: handler)
    }

    func adopt(_ target: any DepartedTarget, handler: any TCPHandler) -> any TargetSocket {
        guard let target = target as? MovingTarget else { preconditionFailure("a target of another kind of loop") }
        return TargetConnection.adopt(target, on: self, handler: handler)
    }
}

extension ReactorTimer: SessionTimer {}
extension WebSocketConnection: ClientSocket {}
extension MovingTarget: DepartedTarget {}

extension TargetConnection: TargetSocket {
    func depart() -> (any DepartedTarget)? { leave() }
}

/// Carries a value that belongs to one loop's thread through code that runs elsewhere: `Pinned`, for any
/// ``SessionLoop``.
///
/// - Note: `@unchecked Sendable` because the value can only be taken out on its loop's thread: elsewhere it traps.
struct LoopBound<Value>: @unchecked Sendable {
    private let bound: Value
    let loop: any SessionLoop

    init(_ value: Value, to loop: any SessionLoop) {
        bound = value
        self.loop = loop
    }

    var value: Value {
        loop.preconditionOnThread()
        return bound
    }
}
