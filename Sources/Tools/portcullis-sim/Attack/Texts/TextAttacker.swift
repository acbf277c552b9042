import Reactors

/// One connection that sends hostile texts, and its successor when it has ended. Reactor thread only; it lives as long
/// as the process.
///
/// It sends one packet at a time, at its share of the attack's rate: the goals are about the cost of a byte, not about
/// floods.
final class TextAttacker: TCPHandler, TimerTarget {
    struct Settings: Sendable {
        var edge: EdgeClientSettings
        var packets: [AttackTexts.Packet]
        /// Bytes a second of this connection.
        var rate: Double
        var source: String
    }

    private let settings: Settings
    private let tls: TargetTLS?
    private unowned let reactor: Reactor
    private var connection: TargetConnection?
    private var answers = HTTPAnswerParser()
    private var next: Int
    private var isOpen = false
    /// The packet's upgrade was answered with 101.
    private var isUpgraded = false
    private var isWaiting = false
    private var begun: UInt64 = 0
    private var paidBytes = 0.0
    private var isOver = false
    private lazy var timer = ReactorTimer(on: reactor)
    private(set) var counts = AttackCounts()

    private static let retryInterval: UInt64 = 100_000_000
    /// A gateway that answers nothing any more is tried again.
    private static let answerInterval: UInt64 = 10_000_000_000
    private static let second = 1_000_000_000.0

    init(_ settings: Settings, number: Int, on reactor: Reactor, tls: TargetTLS?) {
        (self.settings, self.reactor, self.tls) = (settings, reactor, tls)
        next = number % settings.packets.count
    }

    func begin() {
        if begun == 0 { begun = reactor.now }
        (isOpen, isUpgraded, isWaiting, answers) = (false, false, false, HTTPAnswerParser())
        var options = DialOptions(timeoutMilliseconds: 10_000)
        options.source = settings.source
        connection = TargetConnection.dial(
            host: settings.edge.host, port: settings.edge.port, options: options, tls: tls, on: reactor, handler: self)
    }

    func stop() {
        isOver = true
        timer.cancel()
        connection?.drop()
    }

    /// The next packet is due, or nothing was answered in time.
    func timerFired(now: UInt64) {
        guard let connection, isOpen else { return begin() }
        guard !isWaiting else { return connection.drop() }
        sendPacket(to: connection)
    }

    // MARK: The connection

    func tcpConnected() {
        isOpen = true
        counts.opened += 1
        arm()
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        counts.bytesReceived += UInt64(bytes.count)
        guard let connection, !isUpgraded else { return }
        answers.append(bytes)
        do throws(HTTPAnswerParser.Failure) {
            while let answer = try answers.next() { take(answer, on: connection) }
        } catch {
            // The 101 has no length.
            guard settings.packets[next].upgrade != nil else { return connection.drop() }
            (isUpgraded, isWaiting) = (true, false)
            counts.answers[101, default: 0] += 1
            arm()
        }
    }

    private func take(_ answer: HTTPAnswerParser.Answer, on connection: TargetConnection) {
        counts.answers[answer.status, default: 0] += 1
        isWaiting = false
        let isRequest = settings.packets[next].upgrade == nil
        advance()
        if isRequest, !answer.isLast { arm() } else { connection.drop() }
    }

    func tcpWrote() {}

    func tcpPeerFinished() {
        connection?.drop()
    }

    func tcpClosed(error: TCPError?) {
        connection = nil
        timer.cancel()
        if isOpen { counts.ended += 1 } else { counts.notOpened += 1 }
        guard !isOver else { return }
        if isUpgraded { advance() }
        timer.arm(at: max(due, reactor.now + (isOpen ? 0 : Self.retryInterval)), calling: self)
        isOpen = false
    }

    // MARK: Packets

    /// When the bytes that were sent are paid for.
    private var due: UInt64 { begun + UInt64(paidBytes / settings.rate * Self.second) }

    private func arm() { timer.arm(at: max(due, reactor.now), calling: self) }

    private func advance() { next = (next + 1) % settings.packets.count }

    /// A request is answered before the next one; a message is sent again and again.
    private func sendPacket(to connection: TargetConnection) {
        let packet = settings.packets[next]
        let isMessage = packet.upgrade != nil && isUpgraded
        send(isMessage ? packet.bytes : packet.upgrade ?? packet.bytes, to: connection)
        isWaiting = !isMessage
        timer.arm(at: isMessage ? max(due, reactor.now) : reactor.now + Self.answerInterval, calling: self)
    }

    private func send(_ bytes: [UInt8], to connection: TargetConnection) {
        counts.bytesSent += UInt64(bytes.count)
        paidBytes += Double(bytes.count)
        bytes.withUnsafeBytes { connection.send($0) }
    }
}
