import Reactors
import RelayCore
import WireText

/// The events of a session's target, on the loop's thread.
protocol TargetLegHandler: AnyObject {
    func targetConnected()
    /// The bytes are valid only during the call.
    func targetSent(_ bytes: UnsafeRawBufferPointer)
    /// These came in so many TLS records.
    func targetDecrypted(records: Int)
    /// The target's FIN.
    func targetFinished()
    /// Some of the queued bytes were handed to the socket.
    func targetWrote()
    /// The last call.
    func targetClosed(error: TCPError?)
}

/// A session's connection to one target, from the dial to its end. On the session's loop only.
///
/// A session may change its target; it gets no more events of the previous one.
final class TargetLeg: TCPHandler {
    let target: AuthorizedTarget
    /// Until the connection is closed or abandoned.
    private var handler: (any TargetLegHandler)?
    private var connection: (any TargetSocket)?
    /// Between two loops.
    private var departed: (any DepartedTarget)?
    private(set) var isConnected = false
    /// By the loop's clock.
    private(set) var dialledAt: UInt64 = 0

    init(_ target: AuthorizedTarget, handler: any TargetLegHandler) {
        self.target = target
        self.handler = handler
    }

    /// One that another process has given away, until ``adopt(on:)``.
    init(_ target: AuthorizedTarget, departed: any DepartedTarget, handler: any TargetLegHandler) {
        self.target = target
        self.handler = handler
        self.departed = departed
        isConnected = true
    }

    /// Call it once. If the target can't be dialled at all, the handler is called before this returns.
    func dial(_ options: DialOptions, tls: TargetTLS?, on loop: any SessionLoop) {
        dialledAt = loop.now
        let dialled = loop.dial(
            host: target.host.text, port: target.port, options: options, tls: tls, handler: self)
        if handler != nil { connection = dialled }
    }

    /// Its events are for this handler from here on, unless it is closed or abandoned.
    func pass(to handler: any TargetLegHandler) {
        if self.handler != nil { self.handler = handler }
    }

    /// See `TargetConnection`.
    var tlsVersion: String? { connection?.tlsVersion }
    var fallback: TargetTLSFailure? { connection?.fallback }

    var queuedBytes: Int { connection?.queuedBytes ?? 0 }

    func send(_ bytes: UnsafeRawBufferPointer) { connection?.send(bytes) }
    func setReading(paused: Bool) { connection?.setReading(paused: paused) }
    func finish() { connection?.finish() }
    func drop() { connection?.drop() }

    /// Closes the connection; the handler gets no more calls.
    func abandon() {
        handler = nil
        connection?.drop()
        connection = nil
    }

    // MARK: To another loop

    /// Leaves its loop, until ``adopt(on:)``.
    ///
    /// - Returns: false if it isn't connected or can't be moved; then it stays as it is.
    func depart() -> Bool {
        guard isConnected, let departed = connection?.depart() else { return false }
        self.departed = departed
        connection = nil
        return true
    }

    /// Lets go of its loop, for another process; ``adopt(on:)`` takes it back.
    ///
    /// - Returns: nil where it can't; then nothing has changed.
    func departForAnotherProcess(from loop: any SessionLoop) -> (descriptor: Int32, unsent: [UInt8])? {
        guard depart() else { return nil }
        if let moved = departed?.forAnotherProcess { return moved }
        adopt(on: loop)
        return nil
    }

    /// Continues on `loop`. If the connection can't be adopted, the handler is called before this returns.
    func adopt(on loop: any SessionLoop) {
        guard let departed else { return }
        self.departed = nil
        let adopted = loop.adopt(departed, handler: self)
        if handler != nil { connection = adopted }
    }

    // MARK: From the connection

    func tcpConnected() {
        isConnected = true
        handler?.targetConnected()
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) { handler?.targetSent(bytes) }
    func tcpDecrypted(records: Int) { handler?.targetDecrypted(records: records) }
    func tcpPeerFinished() { handler?.targetFinished() }
    func tcpWrote() { handler?.targetWrote() }

    func tcpClosed(error: TCPError?) {
        connection = nil
        let handler = handler
        self.handler = nil
        handler?.targetClosed(error: error)
    }
}
