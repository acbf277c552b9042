public import Foundation

/// A session with the service behind the gate. It comes back by itself after a lost network, sleep, and upgrades of the
/// gateway.
///
/// ```swift
/// let connection = client.connect()
/// for await event in connection {
///     switch event {
///     case .output(let output): show(output.text)
///     case .state(.ended(let end)): tell(end)
///     default: break
///     }
/// }
/// ```
///
/// One task reads the events. While it doesn't, the connection isn't read either, and the gateway keeps the output
/// within its limits. Inputs are numbered: none is sent twice, and what becomes of each is an event. A connection that
/// is dropped without ``close()`` leaves its session at the gateway for the gateway's grace period.
public final class GatedConnection: AsyncSequence, Sendable {
    public typealias Element = ConnectionEvent

    public struct AsyncIterator: AsyncIteratorProtocol {
        /// Keeps the connection while events are awaited.
        let connection: GatedConnection

        /// Nil after ``ConnectionState/ended(_:)``, and when the task is cancelled.
        public mutating func next() async -> ConnectionEvent? { await connection.driver.events.next() }
    }

    let driver: ConnectionDriver
    private let task: Task<Void, Never>

    init(_ driver: ConnectionDriver) {
        self.driver = driver
        task = Task { await driver.run() }
    }

    deinit {
        // Nobody reads the events any more, so nobody may wait for room.
        driver.events.finish()
        guard driver.isLeaving.withLock({ $0 }) else { return task.cancel() }
        // A session that the app has ended has something to write. A gateway that doesn't read it isn't awaited.
        Task { [task, clock = driver.platform.clock] in
            try? await clock.sleep(seconds: ConnectionDriver.leavingSeconds)
            task.cancel()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(connection: self) }

    /// Sends a line of input. It may be called at any time: an input waits for the connection.
    ///
    /// - Parameters:
    ///   - text: at most 64 KiB.
    ///   - endsLine: false: the text is sent as it is, for instance a single key.
    /// - Returns: its number, for ``ConnectionEvent/input(_:)``.
    /// - Throws: ``GateError/inputRefused(_:)`` if it is too large, or if too many inputs wait for confirmation;
    ///   ``GateError/notConnected`` after the end.
    @discardableResult
    public func send(_ text: String, endsLine: Bool = true) async throws(GateError) -> InputNumber {
        try await driver.send(Array(text.utf8), endsLine: endsLine)
    }

    /// Sends bytes, for instance telnet in raw.
    @discardableResult
    public func send(bytes: Data) async throws(GateError) -> InputNumber {
        try await driver.send(Array(bytes), endsLine: false)
    }

    /// Sends a GMCP message.
    @discardableResult
    public func send(gmcp name: String, json: Data? = nil) async throws(GateError) -> InputNumber {
        try await driver.send(gmcp: name, json: json.map(Array.init))
    }

    /// Tells the service the size of the terminal.
    public func resize(_ size: TerminalSize) async { await driver.resize(size) }

    /// Tries to connect now instead of after the back-off: for instance when the app has come to the foreground. A
    /// connection that seems to be open is probed.
    public func reconnectNow() { driver.nudges.postOnce(()) }

    /// Ends the session. The events end with ``ConnectionEnd/Cause/clientClosed``; during an attempt to connect, when
    /// that is over. A session that has lost its connection by then waits at the gateway for the gateway's grace
    /// period. The connection needn't be kept after it.
    public func close() async {
        driver.isLeaving.withLock { $0 = true }
        await driver.close()
    }
}
