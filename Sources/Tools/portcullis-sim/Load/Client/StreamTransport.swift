import Reactors

/// A client's stream without WebSocket, over TLS or TCP: for peers of the gateway that relay a plain stream. Reactor
/// thread only; its connection holds it as its handler.
final class StreamTransport: TCPHandler, ClientTransport {
    private let leg: ClientLeg
    private var connection: TargetConnection?
    /// Nil once it has been open.
    private var failed: (() -> Void)?

    private init(_ leg: ClientLeg, failed: @escaping () -> Void) {
        self.leg = leg
        self.failed = failed
    }

    /// - Parameter failed: called once if the leg can't be opened.
    static func dial(for leg: ClientLeg, on worker: LoadWorker, from source: String?, failed: @escaping () -> Void) {
        let stream = StreamTransport(leg, failed: failed)
        let edge = worker.settings.edge
        var options = DialOptions(timeoutMilliseconds: 10_000)
        options.source = source
        stream.connection = TargetConnection.dial(
            host: edge.host, port: edge.port, options: options, tls: worker.streamTLS, on: worker.reactor,
            handler: stream)
    }

    func tcpConnected() {
        failed = nil
        leg.opened(self)
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) { leg.client?.received(bytes, isLast: true) }
    func tcpWrote() { leg.client?.wrote() }
    func tcpPeerFinished() { connection?.finish() }

    func tcpClosed(error: TCPError?) {
        connection = nil
        if let failed {
            self.failed = nil
            failed()
        } else {
            leg.closed()
        }
    }

    // MARK: What a client does with it

    var queuedBytes: Int { connection?.queuedBytes ?? 0 }
    func sendMessage(_ bytes: UnsafeRawBufferPointer, isText: Bool) { connection?.send(bytes) }
    func setReading(paused: Bool) { connection?.setReading(paused: paused) }
    func close(code: UInt16, reason: String) { connection?.finish() }
    func drop() { connection?.drop() }
    func reset() { connection?.drop() }
}
