import Reactors
import RelayCore

/// What a session hears of its target, on the reactor's thread.
protocol TargetLegHandler: AnyObject {
    func targetConnected()
    /// The bytes are gone when this returns.
    func targetSent(_ bytes: UnsafeRawBufferPointer)
    /// The target's FIN.
    func targetFinished()
    /// Something of what waited has been handed to the socket.
    func targetWrote()
    /// The last call.
    func targetClosed(error: TCPError?)
}

/// A session's connection to one target, from the dial to its end. Reactor thread only.
///
/// A session may leave one target for another; what the one it has left still says is heard by nobody.
final class TargetLeg: TCPHandler {
    let target: AuthorizedTarget
    /// Until the connection is closed or has been given away.
    private var handler: (any TargetLegHandler)?
    private var connection: TargetConnection?
    private(set) var isConnected = false

    init(_ target: AuthorizedTarget, handler: any TargetLegHandler) {
        self.target = target
        self.handler = handler
    }

    /// Once. Where it can't be dialled at all the handler hears so before this returns.
    func dial(_ options: DialOptions, tls: TargetTLS?, on reactor: Reactor) {
        let dialled = TargetConnection.dial(
            host: target.host.text, port: target.port, options: options, tls: tls, on: reactor, handler: self)
        if handler != nil { connection = dialled }
    }

    /// As `TargetConnection` says.
    var tlsVersion: String? { connection?.tlsVersion }
    var fallback: TargetTLSFailure? { connection?.fallback }

    var queuedBytes: Int { connection?.queuedBytes ?? 0 }

    func send(_ bytes: UnsafeRawBufferPointer) { connection?.send(bytes) }
    func setReading(paused: Bool) { connection?.setReading(paused: paused) }
    func finish() { connection?.finish() }
    func drop() { connection?.drop() }

    /// Closes it, and the handler hears no more of it.
    func abandon() {
        handler = nil
        connection?.drop()
        connection = nil
    }

    // MARK: To another driver

    /// Takes the connection out, and the handler hears no more of it.
    ///
    /// - Returns: nil where it isn't connected or can't be moved; then it stays as it is.
    func leave(for other: Reactor) -> MovingLeg? {
        guard isConnected, let connection else { return nil }
        guard other !== connection.reactor else {
            handler = nil
            return .staying(self)
        }
        guard let moving = connection.leave() else { return nil }
        handler = nil
        self.connection = nil
        return .moving(target, moving)
    }

    /// - Parameter leg: of a driver on the same reactor, or from another one.
    static func arrive(_ leg: MovingLeg, on reactor: Reactor, handler: any TargetLegHandler) -> TargetLeg {
        switch leg {
        case .staying(let leg):
            leg.handler = handler
            return leg
        case .moving(let target, let moving):
            let leg = TargetLeg(target, handler: handler)
            leg.isConnected = true
            let arrived = TargetConnection.arrive(moving, on: reactor, handler: leg)
            if leg.handler != nil { leg.connection = arrived }
            return leg
        }
    }

    // MARK: From the connection

    func tcpConnected() {
        isConnected = true
        handler?.targetConnected()
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) { handler?.targetSent(bytes) }
    func tcpPeerFinished() { handler?.targetFinished() }
    func tcpWrote() { handler?.targetWrote() }

    func tcpClosed(error: TCPError?) {
        connection = nil
        let handler = handler
        self.handler = nil
        handler?.targetClosed(error: error)
    }
}

/// A session's target between two drivers.
enum MovingLeg {
    /// Both are on one reactor.
    case staying(TargetLeg)
    case moving(AuthorizedTarget, MovingTarget)
}
