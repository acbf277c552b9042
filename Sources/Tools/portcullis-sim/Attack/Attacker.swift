import Reactors

/// One slot of an attack: a connection, and its successor when it has ended. Reactor thread only.
final class Attacker: TCPHandler, TimerTarget {
    private let kind: AttackKind
    private let number: Int
    private unowned let worker: AttackWorker
    private var connection: TargetConnection?
    private var isOpen = false
    private var round = 0
    private var answers = HTTPAnswerParser()
    /// The head of the answer to an upgrade; nil once it has been read.
    private var head: [UInt8]? = []
    private lazy var timer = ReactorTimer(on: worker.reactor)
    /// It has reached its attacking state, or found that it can't.
    private(set) var hasBegun = false

    private static let byteInterval: UInt64 = 1_000_000_000
    /// A refused attacker tries again after this time: a closed port costs the attacked gateway nothing.
    private static let retryInterval: UInt64 = 100_000_000
    private static let maximumQueuedBytes = 131_072
    private static let maximumHeadBytes = 16_384
    /// Pipelined requests that wait for an answer, for the kinds that pipeline.
    private static let pipelined = 16
    /// The connection is given up if no answer arrives in this time.
    private static let answerInterval: UInt64 = 2_000_000_000

    init(_ kind: AttackKind, number: Int, worker: AttackWorker) {
        self.kind = kind
        self.number = number
        self.worker = worker
    }

    func begin() {
        guard worker.mayOpen(kind) else { return hasBegun = true }
        (isOpen, head, answers) = (false, [], HTTPAnswerParser())
        var options = DialOptions(timeoutMilliseconds: 10_000)
        let settings = worker.settings
        options.source = kind.source(
            of: number, addresses: kind.isAdmitted ? settings.clientAddresses : settings.addresses)
        connection = TargetConnection.dial(
            host: worker.settings.edge.host, port: worker.settings.edge.port, options: options,
            tls: kind.speaksTLS ? worker.tls : nil, on: worker.reactor, handler: self)
    }

    func stop() {
        timer.cancel()
        connection?.drop()
    }

    func timerFired(now: UInt64) {
        guard let connection, isOpen else { return begin() }
        guard kind != .refusals else { return connection.drop() }
        send([0x61], to: connection)
        timer.arm(at: now + Self.byteInterval, calling: self)
    }

    // MARK: The connection

    func tcpConnected() {
        guard let connection else { return }
        isOpen = true
        worker.counts[kind, default: AttackCounts()].opened += 1
        switch kind {
        case .upgrades: send(worker.settings.messages.badUpgrade(number + round), to: connection)
        case .handshakes: send(AttackMessages.beginningOfHandshake, to: connection)
        case .headers:
            send(worker.settings.messages.beginningOfHeader, to: connection)
            timer.arm(at: worker.reactor.now + Self.byteInterval, calling: self)
        case .frames: send(worker.settings.messages.goodUpgrade, to: connection)
        case .muds: send(worker.settings.messages.upgradeToMud, to: connection)
        case .challenges: send(worker.settings.messages.challenge, to: connection)
        case .refusals:
            for _ in 0..<Self.pipelined { refuse(on: connection) }
            timer.arm(at: worker.reactor.now + Self.answerInterval, calling: self)
        }
        round += 1
        if !kind.isAdmitted { hasBegun = true }
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        worker.counts[kind, default: AttackCounts()].bytesReceived += UInt64(bytes.count)
        switch kind {
        case .challenges, .refusals: takeAnswers(bytes)
        case .upgrades, .frames, .muds: takeHead(bytes)
        case .handshakes, .headers: break
        }
    }

    func tcpWrote() {
        if kind == .frames, head == nil { flood() }
    }

    func tcpPeerFinished() {
        connection?.drop()
    }

    func tcpClosed(error: TCPError?) {
        connection = nil
        timer.cancel()
        hasBegun = true
        if isOpen {
            worker.counts[kind, default: AttackCounts()].ended += 1
        } else {
            worker.counts[kind, default: AttackCounts()].notOpened += 1
        }
        guard !worker.isOver else { return }
        // The timer opens the next connection, so that this never happens inside the end of the previous one.
        timer.arm(at: worker.reactor.now + (isOpen ? 0 : Self.retryInterval), calling: self)
        isOpen = false
    }

    // MARK: Answers

    private func takeAnswers(_ bytes: UnsafeRawBufferPointer) {
        answers.append(bytes)
        guard let connection else { return }
        do throws(HTTPAnswerParser.Failure) {
            while let answer = try answers.next() {
                worker.counts[kind, default: AttackCounts()].answers[answer.status, default: 0] += 1
                if answer.isLast { return connection.drop() }
                if kind == .refusals {
                    refuse(on: connection)
                    timer.arm(at: worker.reactor.now + Self.answerInterval, calling: self)
                } else {
                    send(worker.settings.messages.challenge, to: connection)
                }
            }
        } catch {
            connection.drop()
        }
    }

    private func takeHead(_ bytes: UnsafeRawBufferPointer) {
        guard var head else { return }
        head.append(contentsOf: bytes)
        self.head = head
        guard head.count < Self.maximumHeadBytes else { return connection?.drop() ?? () }
        guard let end = head.indices.first(where: { head[$0...].starts(with: [13, 10, 13, 10]) }) else { return }
        let words = String(decoding: head[..<end], as: UTF8.self).split(separator: " ", maxSplits: 2)
        let status = words.count > 1 ? Int(words[1]) ?? 0 : 0
        worker.counts[kind, default: AttackCounts()].answers[status, default: 0] += 1
        self.head = nil
        hasBegun = true
        guard kind.isAdmitted, status == 101 else { return connection?.drop() ?? () }
        if kind == .frames { flood() }
    }

    private func refuse(on connection: TargetConnection) {
        send(worker.settings.messages.refused(number + round), to: connection)
        round += 1
    }

    private func flood() {
        guard let connection, connection.queuedBytes < Self.maximumQueuedBytes else { return }
        send(worker.settings.messages.flood.frames, to: connection)
    }

    private func send(_ bytes: [UInt8], to connection: TargetConnection) {
        worker.counts[kind, default: AttackCounts()].bytesSent += UInt64(bytes.count)
        bytes.withUnsafeBytes { connection.send($0) }
    }
}
