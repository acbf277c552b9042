import Reactors

/// Answers the operator's tools on the control socket, on one reactor. The permissions of the socket's file decide who
/// may connect.
final class ControlServer {
    /// The maximum number of simultaneous connections; further ones are closed.
    static let maximumConnections = 16

    /// Calls its last argument once, on the reactor's thread: at once or later.
    typealias Answering = (ControlRequest, ControlPeer, @escaping (ControlAnswer) -> Void) -> Void

    private let reactor: Reactor
    private let answering: Answering
    private var listener: LocalListener?
    private var open = 0

    init(
        path: String, inherited: InheritedListener? = nil, on reactor: Reactor, answering: @escaping Answering
    ) throws(ReactorError) {
        self.reactor = reactor
        self.answering = answering
        if let inherited {
            listener = LocalListener(
                inherited: inherited.descriptor, path: inherited.ownedPath, on: reactor, accepts: inherited.accepts
            ) { [weak self] in self?.accepted($0) }
            return
        }
        listener = try LocalListener(path: path, on: reactor) { [weak self] in self?.accepted($0) }
    }

    /// - Parameter keepsFile: another process goes on with the socket.
    func close(keepsFile: Bool = false) {
        listener?.close(keepsFile: keepsFile)
        listener = nil
    }

    func setAccepting(_ accepts: Bool) { listener?.setAccepting(accepts) }

    var listeningSocket: Int32? { listener?.descriptor }

    private func accepted(_ socket: Int32) {
        open += 1
        let connection = ControlConnection(on: reactor, answering: answering) { [weak self] in self?.open -= 1 }
        connection.serve(socket)
        if open > Self.maximumConnections { connection.drop() }
    }
}

/// One tool's connection: a request, an answer, then the end.
private final class ControlConnection: TCPHandler, TimerTarget {
    /// Time limit for receiving the request, and for sending the answer.
    private static let timeLimitNanoseconds: UInt64 = 5_000_000_000
    /// Time limit for producing the answer.
    private static let workLimitNanoseconds: UInt64 = 900_000_000_000

    private let reactor: Reactor
    private let answering: ControlServer.Answering
    private let closed: () -> Void
    private var connection: TCPConnection?
    private var peer: ControlPeer?
    private var line: [UInt8] = []
    private var isAsked = false
    private lazy var timer = ReactorTimer(on: reactor)

    init(on reactor: Reactor, answering: @escaping ControlServer.Answering, closed: @escaping () -> Void) {
        self.reactor = reactor
        self.answering = answering
        self.closed = closed
    }

    func serve(_ socket: Int32) {
        peer = ControlPeer(of: socket)
        connection = TCPConnection.adopt(socket, on: reactor, handler: self)
        timer.arm(at: reactor.now + Self.timeLimitNanoseconds, calling: self)
    }

    func drop() { connection?.drop() }

    func tcpConnected() {}

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        guard !isAsked, line.count + bytes.count <= ControlLine.maximumBytes else { return drop() }
        line.append(contentsOf: bytes)
        guard line.last == UInt8(ascii: "\n") else { return }
        isAsked = true
        guard let peer, let request = ControlLine.decode(ControlRequest.self, line) else {
            return reply(.refused(reason: "the gateway doesn't know this request"))
        }
        timer.arm(at: reactor.now + Self.workLimitNanoseconds, calling: self)
        answering(request, peer, reply)
    }

    private func reply(_ message: ControlAnswer) {
        guard let connection else { return }
        timer.arm(at: reactor.now + Self.timeLimitNanoseconds, calling: self)
        ControlLine.encode(message).withUnsafeBytes { connection.send($0) }
        connection.finish()
    }

    /// A tool may close its sending side after the request and still wait for the answer.
    func tcpPeerFinished() {
        if !isAsked { connection?.finish() }
    }

    func tcpWrote() {}

    func tcpClosed(error: TCPError?) {
        timer.cancel()
        connection = nil
        closed()
    }

    func timerFired(now: UInt64) { drop() }
}
