import Reactors

/// Answers the tools of the operator on the control socket. On one reactor; whoever can open the socket's file may ask.
final class ControlServer {
    /// Tools that are being answered at once; further ones are turned away.
    static let maximumConnections = 16

    private let reactor: Reactor
    private let answer: (ControlRequest) -> ControlAnswer
    private var listener: LocalListener?
    private var open = 0

    init(
        path: String, on reactor: Reactor, answer: @escaping (ControlRequest) -> ControlAnswer
    ) throws(ReactorError) {
        self.reactor = reactor
        self.answer = answer
        listener = try LocalListener(path: path, on: reactor) { [weak self] in self?.accepted($0) }
    }

    func close() {
        listener?.close()
        listener = nil
    }

    private func accepted(_ socket: Int32) {
        open += 1
        let connection = ControlConnection(on: reactor, answer: answer) { [weak self] in self?.open -= 1 }
        connection.serve(socket)
        if open > Self.maximumConnections { connection.drop() }
    }
}

/// One tool's connection: a request, an answer, the end.
private final class ControlConnection: TCPHandler, TimerTarget {
    private static let timeLimitNanoseconds: UInt64 = 5_000_000_000

    private let reactor: Reactor
    private let answer: (ControlRequest) -> ControlAnswer
    private let closed: () -> Void
    private var connection: TCPConnection?
    private var line: [UInt8] = []
    private lazy var timer = ReactorTimer(on: reactor, target: self)

    init(on reactor: Reactor, answer: @escaping (ControlRequest) -> ControlAnswer, closed: @escaping () -> Void) {
        self.reactor = reactor
        self.answer = answer
        self.closed = closed
    }

    func serve(_ socket: Int32) {
        connection = TCPConnection.adopt(socket, on: reactor, handler: self)
        timer.arm(at: reactor.now + Self.timeLimitNanoseconds)
    }

    func drop() { connection?.drop() }

    func tcpConnected() {}

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        guard line.count + bytes.count <= ControlLine.maximumBytes else { return drop() }
        line.append(contentsOf: bytes)
        guard line.last == UInt8(ascii: "\n") else { return }
        let request = ControlLine.decode(ControlRequest.self, line)
        let message = request.map(answer) ?? .refused(reason: "the gateway doesn't know this request")
        ControlLine.encode(message).withUnsafeBytes { connection?.send($0) }
        connection?.finish()
    }

    func tcpPeerFinished() { connection?.finish() }
    func tcpWrote() {}

    func tcpClosed(error: TCPError?) {
        timer.cancel()
        connection = nil
        closed()
    }

    func timerFired(now: UInt64) { drop() }
}
