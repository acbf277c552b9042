import Reactors

extension RelayServer {
    /// A gateway that is silent but alive is near, and answers at once.
    package static let probeMilliseconds = 1_000

    /// Connects to the listener of another gateway, and closes the connection. From any thread.
    ///
    /// - Parameter host: what `FLEET_BIND` of the other gateway advertises.
    /// - Returns: false if nothing accepts a connection within ``probeMilliseconds``; nil if that couldn't be tried,
    ///   because the name wasn't resolved.
    package func isAnswered(host: String, port: UInt16) async -> Bool? {
        guard let reactor = pool.reactors.first else { return nil }
        return await withCheckedContinuation { continuation in
            reactor.submit { GatewayProbe { continuation.resume(returning: $0) }.dial(host, port, on: reactor) }
        }
    }
}

/// One connection, on its reactor's thread. Its connection holds it.
private final class GatewayProbe: TCPHandler {
    private var report: ((Bool?) -> Void)?
    private var connection: TCPConnection?

    init(report: @escaping (Bool?) -> Void) { self.report = report }

    func dial(_ host: String, _ port: UInt16, on reactor: Reactor) {
        var options = DialOptions(timeoutMilliseconds: RelayServer.probeMilliseconds)
        options.chooser = .operators
        let connection = TCPConnection.dial(host: host, port: port, options: options, on: reactor, handler: self)
        if report != nil { self.connection = connection } else { connection.drop() }
    }

    private func end(_ isAnswered: Bool?) {
        report?(isAnswered)
        report = nil
        connection?.drop()
        connection = nil
    }

    func tcpConnected() { end(true) }
    func tcpClosed(error: TCPError?) {
        if case .notResolved? = error { end(nil) } else { end(false) }
    }
    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {}
    func tcpPeerFinished() {}
    func tcpWrote() {}
}
