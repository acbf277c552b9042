import Reactors

/// One connection of the target. Its TCP connection holds it as its handler. Reactor thread only.
final class EchoConnection: TCPHandler, TimerTarget {
    /// Above this the connection isn't read, so that a client that doesn't read gets no more echoes; reading resumes at
    /// half of it.
    private static let maximumQueuedBytes = 262_144

    private let reactor: Reactor
    private var answers: TargetAnswers
    private let lines: (atOnce: Int, interval: UInt64)
    private let flood: TargetFlood?
    private var round = 0
    private var next: UInt64
    private var connection: TCPConnection?
    private lazy var timer = ReactorTimer(on: reactor)

    private init(
        _ reactor: Reactor, _ answer: ClientStream.Answer, _ lines: (atOnce: Int, interval: UInt64),
        _ flood: TargetFlood?
    ) {
        self.reactor = reactor
        self.flood = flood
        answers = TargetAnswers(answer)
        self.lines = lines
        next = reactor.now + lines.interval
    }

    /// - Parameter lines: for numbered lines: how many at a time, and the nanoseconds between them.
    static func serve(
        _ socket: Int32, on reactor: Reactor, answer: ClientStream.Answer, lines: (atOnce: Int, interval: UInt64),
        flood: TargetFlood? = nil
    ) {
        let echo = EchoConnection(reactor, answer, lines, flood)
        echo.connection = TCPConnection.adopt(socket, on: reactor, handler: echo)
        if answer == .numbered { echo.timer.arm(at: echo.next, calling: echo) }
        echo.sendFlood()
    }

    private func sendFlood() {
        guard let flood, let connection, connection.queuedBytes < Self.maximumQueuedBytes else { return }
        flood.bytes(round: round).withUnsafeBytes { connection.send($0) }
        round += 1
    }

    func timerFired(now: UInt64) {
        while next <= now {
            next += lines.interval
            // Lines without room are sent later: the numbers have no gaps.
            if let connection, connection.queuedBytes < Self.maximumQueuedBytes {
                answers.nextLines(lines.atOnce).withUnsafeBytes { connection.send($0) }
            }
        }
        timer.arm(at: next, calling: self)
    }

    func tcpConnected() {}

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        guard let connection, flood == nil else { return }
        if answers.kind == .echo {
            connection.send(bytes)
        } else {
            answers.received(bytes).withUnsafeBytes { connection.send($0) }
        }
        if connection.queuedBytes > Self.maximumQueuedBytes { connection.setReading(paused: true) }
    }

    func tcpWrote() {
        sendFlood()
        guard let connection, connection.queuedBytes < Self.maximumQueuedBytes / 2 else { return }
        connection.setReading(paused: false)
    }

    func tcpPeerFinished() {
        timer.cancel()
        connection?.finish()
    }

    func tcpClosed(error: TCPError?) {
        timer.cancel()
        connection = nil
    }
}

/// A target's answers, without a socket.
struct TargetAnswers: Sendable {
    let kind: ClientStream.Answer
    private var position: UInt64 = 0
    private var lines: UInt64 = 0

    init(_ kind: ClientStream.Answer) {
        self.kind = kind
    }

    /// - Returns: the answer to the input, in addition to its echo.
    mutating func received(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        guard kind == .screens else { return [] }
        var length: UInt64 = 0
        for byte in bytes where byte == 0x0A {
            length += Screen.bytes(afterLine: lines)
            lines += 1
        }
        return take(length)
    }

    /// The next numbered lines.
    mutating func nextLines(_ count: Int) -> [UInt8] {
        take(NumberedLine.bytes * UInt64(count))
    }

    private mutating func take(_ count: UInt64) -> [UInt8] {
        defer { position += count }
        return count > 0 ? StreamPattern.numbered.bytes(position..<position + count) : []
    }
}
