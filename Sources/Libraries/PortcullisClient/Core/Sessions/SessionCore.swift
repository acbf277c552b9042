/// A session as its client sees it: it outlives the connections that carry it. Bytes and events in, orders out; it does
/// no I/O and reads no clock.
struct SessionCore: Sendable {
    enum Order: Sendable {
        case send(WebSocketMessage)
        /// Send it, too; an earlier one that isn't sent yet has no use any more.
        case acknowledge(WebSocketMessage)
        case event(ConnectionEvent)
        /// Send a ping, and call ``pong(upTo:)`` when its pong has come.
        case ping(InputNumber)
        /// The gateway breaks the protocol: close the connection.
        case abandon(ConnectionEnd)
    }

    /// Messages of one connection that can't be read, before it is given up.
    static let maximumFaults = 16
    /// Received messages between two acknowledgements.
    static let acknowledgeEvery: UInt64 = 64

    private enum Phase {
        /// Without a connection.
        case detached
        /// The gateway hasn't said yet which session this is.
        case beginning
        case live
    }

    let dialect: SessionDialect
    private let codec: any SessionCodec
    private let maximumMessageBytes: Int
    /// The query names the session, so no message does.
    private let resumesByQuery: Bool

    private var phase = Phase.detached
    private var ledger: InputLedger
    private(set) var identity: SessionIdentity?
    private var isResumable = false
    /// The number of the last message, or the bytes, that have arrived.
    private var received: UInt64 = 0
    private var acknowledged: UInt64 = 0
    private var faults = 0
    private var pingUnderWay = false
    private(set) var size: TerminalSize?
    /// It isn't the one that the session was opened with any more.
    private var hasResized = false
    /// When the gateway wants the client back.
    var hint: Double?
    /// The cause of the end, if the gateway has told it by a message.
    var toldEnd: ConnectionEnd?
    /// The gateway can't resume the session at the moment.
    var isPostponed = false
    var isClosing = false

    init(_ options: ConnectionOptions, _ limits: ClientLimits) {
        (dialect, codec, size) = (options.dialect, options.dialect.codec, options.size)
        maximumMessageBytes = limits.messageBytes
        ledger = InputLedger(maximumCount: limits.unconfirmedInputs, maximumBytes: limits.unconfirmedInputBytes)
        if case .ticket = options.admission { resumesByQuery = true } else { resumesByQuery = codec.countsBytes }
    }

    /// Whether the session can go on over another connection.
    var canResume: Bool { identity != nil && isResumable }
    var isLive: Bool { if case .live = phase { true } else { false } }
    var awaitsConfirmation: Bool { !ledger.isEmpty }

    /// The part of the query that names the session.
    var query: [(name: String, value: String)] {
        guard resumesByQuery, canResume, let identity else { return [] }
        return [("session", identity.id), ("token", identity.token), ("lastSeq", "\(received)")]
    }

    // MARK: Connections

    /// There is a connection.
    mutating func opened() -> [Order] {
        phase = .beginning
        (faults, hint, toldEnd, isPostponed, pingUnderWay) = (0, nil, nil, false, false)
        guard dialect.isResumable else { return began(isResumed: false) }
        if canResume, let identity {
            return resumesByQuery ? [] : send(codec.greeting(.resume(identity, after: received)))
        }
        return send(codec.greeting(.connect(size)))
    }

    /// The connection is gone, and another one is made.
    mutating func detached() -> [Order] {
        phase = .detached
        pingUnderWay = false
        let uncertain = ledger.connectionLost()
        return uncertain.isEmpty ? [] : [.event(.input(.uncertain(uncertain)))]
    }

    /// The session is over.
    mutating func ended() -> [Order] {
        phase = .detached
        identity = nil
        let loss = ledger.sessionEnded()
        return (loss.uncertain.isEmpty ? [] : [.event(.input(.uncertain(loss.uncertain)))])
            + (loss.undelivered.isEmpty ? [] : [.event(.input(.undelivered(loss.undelivered)))])
    }

    /// What has waited is sent before the app hears of the connection: its next input must not overtake. A size that
    /// has changed is told again, because what was sent last may not have arrived.
    private mutating func began(isResumed: Bool) -> [Order] {
        phase = .live
        return (hasResized ? sendSize() : []) + sendInputs() + [.event(.state(.connected(isResumed: isResumed)))]
    }

    private func sendSize() -> [Order] { size.map { send(codec.size($0)) } ?? [] }

    private func send(_ message: WebSocketMessage?) -> [Order] { message.map { [.send($0)] } ?? [] }

    // MARK: Input

    func hasRoom(for count: Int) -> Bool { ledger.hasRoom(for: count) }

    mutating func input(_ text: [UInt8]) -> (InputNumber, [Order]) {
        let message = codec.input(text, number: ledger.nextNumber)
        let number = ledger.add(message, isNumbered: codec.numbersInputs)
        return (number, sendInputs())
    }

    /// - Throws: `unsupported` in a dialect without GMCP.
    mutating func gmcp(_ name: String, _ json: [UInt8]?) throws(InputProblem) -> (InputNumber, [Order]) {
        guard let message = codec.gmcp(name, json) else { throw .unsupported }
        let number = ledger.add(message, isNumbered: false)
        return (number, sendInputs())
    }

    mutating func resize(_ size: TerminalSize) -> [Order] {
        (self.size, hasResized) = (size, true)
        return isLive ? sendSize() : []
    }

    private mutating func sendInputs() -> [Order] {
        guard isLive, !isClosing else { return [] }
        return ledger.takeUnsent().map { .send($0) } + pingIfNeeded()
    }

    private mutating func pingIfNeeded() -> [Order] {
        guard !pingUnderWay, let number = ledger.awaitsPong else { return [] }
        pingUnderWay = true
        return [.ping(number)]
    }

    mutating func pong(upTo number: InputNumber) -> [Order] {
        pingUnderWay = false
        // A gateway that can't resume sessions may know no numbers, and would apply a copy.
        let again = canResume && !isClosing ? ledger.takeOverdue(upTo: number) : []
        return again.map { .send($0) } + ledger.pong(upTo: number).map { .event(.input(.delivered($0))) }
            + pingIfNeeded()
    }

    /// To be called now and then while messages are read: a gateway leaves confirmations out while too much output
    /// waits. A ping tells when it has caught up.
    mutating func look() -> [Order] {
        guard isLive, canResume, !isClosing, let number = ledger.overdue(), !pingUnderWay else { return [] }
        pingUnderWay = true
        return [.ping(number)]
    }

    /// The app ends the session.
    mutating func close() -> [Order] {
        isClosing = true
        return isLive ? send(codec.farewell()) : []
    }

    // MARK: Output

    mutating func receive(_ bytes: [UInt8], isText: Bool) -> [Order] {
        do throws(MessageFault) {
            let message = try codec.message(bytes, isText: isText, maximumBytes: maximumMessageBytes)
            return take(message, count: bytes.count)
        } catch {
            return take(error, count: bytes.count)
        }
    }

    private mutating func take(_ message: GatewayMessage, count: Int) -> [Order] {
        switch message {
        case .content(let content, let numbering): return take(content, numbering, count: count)
        case .inputConfirmed(let number): return ledger.settle(number) ? [.event(.input(.delivered(number)))] : []
        case .session(let identity, let count, let isResumed, let isResumable):
            return take(identity, count: count, isResumed: isResumed, isResumable: isResumable)
        case .gap(let sequence, let bytes):
            if let sequence { received = max(received, sequence) }
            return [.event(.gap(OutputGap(bytes: bytes)))]
        case .error(let code, let message, let number): return take(code: code, message: message, input: number)
        case .draining(let seconds):
            hint = seconds
            return [.event(.notice(SessionNotice(code: "draining", message: "The gateway is about to close.")))]
        case .ended:
            toldEnd = ConnectionEnd(.serviceClosed, .connectAgain)
            return []
        case .nothing: return []
        }
    }

    /// A message that can't be read. It counts all the same, so that a resume doesn't bring it again; what it held is a
    /// gap.
    private mutating func take(_ fault: MessageFault, count: Int) -> [Order] {
        faults += 1
        guard faults <= Self.maximumFaults else {
            return [.abandon(ConnectionEnd(.protocolViolation, .giveUp, .malformedAnswer(fault.fault)))]
        }
        _ = advance(fault.numbering, count: count)
        let notice = SessionNotice(code: "malformed", message: "A message of the gateway can't be read: \(fault.fault)")
        return [.event(.notice(notice)), .event(.gap(OutputGap(bytes: nil)))]
    }

    private mutating func take(
        _ content: SessionContent, _ numbering: GatewayMessage.Numbering, count: Int
    ) -> [Order] {
        let isEarly = !isLive
        let step = advance(numbering, count: count)
        // What a resume tells first is a state, which may be old.
        let isReplayed = numbering.isReplayed || isEarly
        guard step != .known || isReplayed else { return [] }
        if step == .known, case .output = content { return [] }
        let event: ConnectionEvent =
            switch content {
            case .output(let bytes): .output(SessionOutput(bytes, isReplayed: isReplayed))
            case .prompt: .prompt
            case .gmcp(let name, let json):
                .gmcp(GMCPMessage(name, json, isReplayed: isReplayed))
            case .echo(let isSuppressed): .echo(isSuppressed: isSuppressed)
            }
        let gap: [Order] = step == .skipping ? [.event(.gap(OutputGap(bytes: nil)))] : []
        return gap + [.event(event)] + acknowledgement()
    }

    private enum Step { case next, known, skipping }

    /// Counts a message.
    private mutating func advance(_ numbering: GatewayMessage.Numbering, count: Int) -> Step {
        if codec.countsBytes {
            // Before the session is named, nothing is counted.
            if isLive, numbering.isCounted { received += UInt64(count) }
            return .next
        }
        guard let sequence = numbering.sequence else { return .next }
        guard sequence > received else { return .known }
        defer { received = sequence }
        return sequence == received + 1 ? .next : .skipping
    }

    private mutating func acknowledgement() -> [Order] {
        guard let identity, !codec.countsBytes, received - acknowledged >= Self.acknowledgeEvery else { return [] }
        acknowledged = received
        return codec.acknowledgement(identity, upTo: received).map { [.acknowledge($0)] } ?? []
    }

    // MARK: The session's own messages

    private mutating func take(
        _ identity: SessionIdentity, count: UInt64?, isResumed: Bool, isResumable: Bool
    ) -> [Order] {
        // A session that was resumed keeps its identifier; its token is new each time.
        let isSame = self.identity.map { $0.id.isSame(as: identity.id) } ?? false
        guard !isLive, isResumed == canResume, !isResumed || isSame else {
            return [.abandon(ConnectionEnd(.protocolViolation, .connectAgain, .malformedAnswer(.member("session"))))]
        }
        (self.identity, self.isResumable) = (identity, isResumable)
        if let count { received = count }
        return began(isResumed: isResumed)
    }

    private mutating func take(code: String, message: String, input number: UInt64?) -> [Order] {
        if let number, ledger.settle(number) { return [.event(.input(.refused(number, code: code)))] }
        if !isLive { learn(code, message) }
        return [.event(.notice(SessionNotice(code: code, message: message)))]
    }

    /// An error instead of a session.
    private mutating func learn(_ code: String, _ message: String) {
        if code.isSame(as: "rate_limited") {
            isPostponed = true
        } else if code.isSame(as: "session_expired") || code.isSame(as: "invalid_resume") {
            toldEnd = ConnectionEnd(.sessionExpired, .connectAgain)
        } else if code.isSame(as: "connection_failed") {
            toldEnd = ConnectionEnd(.serviceUnreachable, .connectLater(seconds: ConnectionVerdict.serviceDelay))
        } else if code.isSame(as: "invalid_request") {
            toldEnd = ConnectionEnd(
                .serviceNotAllowed, .giveUp, .refused(Refusal(status: 101, code: code, message: message)))
        }
    }

    /// Whether the connection is of no use any more, because of what the gateway has said.
    var isOver: Bool { toldEnd != nil || isPostponed }
}
