import Foundation

/// Connects, reads, writes and connects again, as the ``SessionCore`` orders.
actor ConnectionDriver {
    /// The longest input: what the gateway accepts by default (`MAX_MESSAGE_BYTES`).
    static let maximumInputBytes = 65_536
    /// Closes a connection whose session goes on. In gmcp and json 1000 would end the session.
    private static let leavingCode: UInt16 = 1001
    private static let closingCode: UInt16 = 1000
    /// So long may the end of a session take that nobody keeps.
    static let leavingSeconds = 5.0

    nonisolated let events: HandoverQueue<ConnectionEvent>
    /// Somebody wants the next attempt, or a probe, at once.
    nonisolated let nudges = HandoverQueue<Void>()
    /// The app has begun to end the session.
    nonisolated let isLeaving = Locked(false)

    /// What waits to be written, in order: a ping has to be behind the inputs that it confirms.
    private enum Outgoing: Sendable {
        case message(WebSocketMessage)
        case ping(upTo: InputNumber)
        /// What the driver owes then.
        case acknowledgement
    }

    private let opener: ConnectionOpener
    private let policy: ReconnectPolicy
    /// How long the gateway may take to name a session.
    private let sessionWithin: Double
    let platform: ClientPlatform
    private let log: ClientLog
    private var core: SessionCore
    private var outgoing = HandoverQueue<Outgoing>()
    /// The latest acknowledgement that isn't written yet. A gateway that sends and doesn't read causes no second one.
    private var owed: WebSocketMessage?
    private var channel: (any WebSocketChannel)?
    private var isOver = false
    private var messages = 0
    /// The reader waits for the app.
    private var isHeldUp = false

    init(
        _ opener: ConnectionOpener, _ options: ConnectionOptions, _ configuration: GateConfiguration,
        _ platform: ClientPlatform
    ) {
        (self.opener, self.platform, policy) = (opener, platform, configuration.reconnection)
        sessionWithin = max(configuration.reconnection.firstConnectionWithin, configuration.limits.upgrade)
        log = ClientLog(configuration, platform)
        core = SessionCore(options, configuration.limits)
        events = HandoverQueue(
            maximumCount: configuration.limits.queuedEvents, maximumCost: configuration.limits.queuedEventBytes)
    }

    // MARK: The life of a session

    /// Runs until the session has ended, or its task is cancelled.
    func run() async {
        let stop = platform.network.observe { [nudges] isAvailable in
            if isAvailable { nudges.postOnce(()) }
        }
        defer { stop() }
        let end = await live()
        isOver = true
        await perform(core.ended())
        if let end {
            log.info("the session ended: \(end.cause)")
            await emit(.state(.ended(end)))
        }
        events.finish()
        nudges.finish()
    }

    /// - Returns: why it ended; nil if nobody is interested any more.
    private func live() async -> ConnectionEnd? {
        var attempts = ReconnectAttempts(policy)
        // The app may end the session during a pause.
        while !Task.isCancelled, !core.isClosing {
            attempts.begin(at: platform.clock.now)
            await emit(.state(.connecting(attempt: attempts.count)))
            let verdict = await connectOnce()
            if core.isClosing { return ConnectionEnd(.clientClosed, .nothing) }
            if core.isLive { attempts.succeeded() }
            switch verdict.verdict {
            case .end(let end): return end
            case .comeBack(let hint):
                await perform(core.detached())
                let delay = attempts.delay(at: platform.clock.now, hint: hint, random: platform.random())
                guard let delay else { return attempts.givenUp(verdict.error) }
                await emit(.state(.waiting(seconds: delay, because: verdict.error)))
                await wait(delay)
            }
        }
        return core.isClosing ? ConnectionEnd(.clientClosed, .nothing) : nil
    }

    /// Opens a connection and carries the session until it ends.
    private func connectOnce() async -> (verdict: ConnectionVerdict, error: GateError?) {
        let opened: any WebSocketChannel
        do {
            opened = try await opener.open(query: core.query)
        } catch {
            let error = GateError(wrapping: error)
            log.warning("the connection failed: \(error)")
            return (Self.verdict(on: error, canResume: core.canResume), error)
        }
        guard !core.isClosing else {
            // A session that was resumed by the query has to end.
            opened.close(code: Self.closingCode, reason: "")
            return (.end(ConnectionEnd(.clientClosed, .nothing)), nil)
        }
        let end = await carry(opened)
        log.info("the connection ended: \(Self.words(for: end))")
        let verdict = ConnectionVerdict.of(end, core)
        opened.close(code: Self.leavingCode, reason: "")
        return (verdict, Self.error(for: end))
    }

    /// A session that can be resumed waits until the player has signed in again, until the circuit breaker, which other
    /// connections may have opened, permits it, and until a network is left that puts itself between: it gets nothing.
    private static func verdict(on error: GateError, canResume: Bool) -> ConnectionVerdict {
        if error.isPassing { return .comeBack(after: error.wishedDelay) }
        switch error {
        case .signInRequired, .network, .circuitOpen: if canResume { return .comeBack(after: error.wishedDelay) }
        default: break
        }
        if case .signInRequired = error { return .end(ConnectionEnd(.failed, .askUser, error)) }
        // Coming back would show the dialog again and again.
        if case .unlock = error { return .end(ConnectionEnd(.failed, .askUser, error)) }
        switch error.refusal?.reaction {
        case .newSession: return .end(ConnectionEnd(.sessionExpired, .connectAgain, error))
        case .giveUp: return .end(ConnectionEnd(.blocked, .giveUp, error))
        default: break
        }
        if case .circuitOpen(_, let seconds) = error {
            return .end(ConnectionEnd(.failed, .connectLater(seconds: seconds), error))
        }
        return .end(ConnectionEnd(.failed, error.retry == .now ? .connectAgain : .giveUp, error))
    }

    private static func error(for end: WebSocketEnd) -> GateError? {
        switch end {
        case .closed: nil
        case .lost(let problem): .network(problem)
        case .violated(let fault): .malformedAnswer(fault)
        }
    }

    /// For the log. A server's reason may repeat what is secret.
    private static func words(for end: WebSocketEnd) -> String {
        guard case .closed(let code, let reason) = end else { return "\(end)" }
        return "closed with \(code): \(RefusalReader.harmless(reason))"
    }

    /// The pause before an attempt, which a nudge ends.
    private func wait(_ seconds: Double) async {
        let race = Race<Void>()
        let (clock, nudges) = (platform.clock, nudges)
        let sleep = Task {
            try? await clock.sleep(seconds: seconds)
            race.finish(.success(()))
        }
        let nudge = Task {
            _ = await nudges.next()
            race.finish(.success(()))
        }
        await withTaskCancellationHandler {
            try? await race.value()
        } onCancel: {
            race.finish(.success(()))
        }
        sleep.cancel()
        nudge.cancel()
    }

    // MARK: One connection

    /// Carries the session over a connection, until one of its tasks ends.
    private func carry(_ channel: any WebSocketChannel) async -> WebSocketEnd {
        self.channel = channel
        outgoing = HandoverQueue()
        owed = nil
        let outgoing = outgoing
        await perform(core.opened())
        let end = await withTaskCancellationHandler {
            await carry(channel, outgoing)
        } onCancel: {
            // URLSession's reads don't heed cancellation.
            channel.close(code: Self.leavingCode, reason: "")
        }
        self.channel = nil
        return end
    }

    private func carry(_ channel: any WebSocketChannel, _ outgoing: HandoverQueue<Outgoing>) async -> WebSocketEnd {
        await withTaskGroup(of: WebSocketEnd?.self) { group in
            group.addTask { await self.read(channel) }
            group.addTask { await self.write(outgoing, to: channel) }
            group.addTask { await self.watch(channel) }
            group.addTask { await self.answerNudges(channel) }
            var end: WebSocketEnd?
            while end == nil, let next = await group.next() { end = next }
            group.cancelAll()
            outgoing.finish()
            channel.close(code: Self.leavingCode, reason: "")
            return end ?? .lost(.connectionLost)
        }
    }

    private func read(_ channel: any WebSocketChannel) async -> WebSocketEnd? {
        do {
            while !Task.isCancelled {
                let message = try await channel.receive()
                messages &+= 1
                let orders =
                    switch message {
                    case .text(let bytes): core.receive(bytes, isText: true)
                    case .binary(let bytes): core.receive(bytes, isText: false)
                    }
                isHeldUp = true
                let end = await perform(orders)
                isHeldUp = false
                if let end { return end }
                if core.isOver { return await closing(channel) }
            }
            return nil
        } catch {
            return Self.end(error)
        }
    }

    /// The gateway has said how it ends. Its Close frame says it again, or never comes.
    private func closing(_ channel: any WebSocketChannel) async -> WebSocketEnd? {
        channel.close(code: Self.leavingCode, reason: "")
        return .closed(code: 1000, reason: "")
    }

    private func write(_ outgoing: HandoverQueue<Outgoing>, to channel: any WebSocketChannel) async
        -> WebSocketEnd?
    {
        do {
            while let next = await outgoing.next() {
                switch next {
                case .message(let message): try await channel.send(message)
                case .ping(let number): ping(upTo: number, channel, of: outgoing)
                case .acknowledgement:
                    guard let message = owed else { break }
                    owed = nil
                    try await channel.send(message)
                }
            }
            // After the last message of a session that the app ends.
            if core.isClosing { channel.close(code: Self.closingCode, reason: "") }
            return nil
        } catch {
            return await afterReading(Self.end(error))
        }
    }

    /// What the gateway has sent before it closed tells more than a write that failed: reading ends soon, too.
    private func afterReading(_ end: WebSocketEnd) async -> WebSocketEnd {
        try? await platform.clock.sleep(seconds: 2)
        return end
    }

    /// Probes a connection over which nothing comes, and looks for inputs that nothing confirms.
    private func watch(_ channel: any WebSocketChannel) async -> WebSocketEnd? {
        var seen = messages
        var (idle, unnamed) = (0.0, 0.0)
        let interval = max(policy.probeAfter / 4, 0.05)
        while (try? await platform.clock.sleep(seconds: interval)) != nil {
            // While the app doesn't read the events, pongs aren't read either.
            idle = messages == seen && !isHeldUp ? idle + interval : 0
            seen = messages
            // A gateway that answers pings and names no session isn't awaited forever.
            unnamed = core.isLive || isHeldUp ? 0 : unnamed + interval
            if unnamed > sessionWithin { return .lost(.connectionLost) }
            if !isHeldUp { await perform(core.look()) }
            let isDue = idle >= policy.probeAfter || idle >= policy.probeAfter / 2 && core.awaitsConfirmation
            if isDue {
                if let end = await probe(channel) { return end }
                idle = 0
            }
        }
        return nil
    }

    private func answerNudges(_ channel: any WebSocketChannel) async -> WebSocketEnd? {
        while await nudges.next() != nil {
            guard !isHeldUp else { continue }
            if let end = await probe(channel) { return end }
        }
        return nil
    }

    private func probe(_ channel: any WebSocketChannel) async -> WebSocketEnd? {
        do {
            try await platform.clock.limit(policy.probeWithin, .pong) { try await channel.ping() }
            return nil
        } catch {
            return Task.isCancelled ? nil : .lost(.connectionLost)
        }
    }

    private static func end(_ error: any Error) -> WebSocketEnd {
        switch error {
        case let end as WebSocketEnd: end
        case let fault as AnswerFault: .violated(fault)
        case let problem as NetworkProblem: .lost(problem)
        default: .lost(.connectionLost)
        }
    }

    // MARK: Orders

    /// - Returns: an end, if the orders have one.
    @discardableResult
    private func perform(_ orders: [SessionCore.Order]) async -> WebSocketEnd? {
        for order in orders {
            switch order {
            case .send(let message): outgoing.post(.message(message))
            case .event(let event): await emit(event)
            case .ping(let number): outgoing.post(.ping(upTo: number))
            case .acknowledge(let message):
                if owed == nil { outgoing.post(.acknowledgement) }
                owed = message
            case .abandon(let end):
                core.toldEnd = end
                channel?.close(code: 1002, reason: "")
                return .closed(code: 1002, reason: "")
            }
        }
        return nil
    }

    private func emit(_ event: ConnectionEvent) async { await events.push(event, cost: event.cost) }

    /// Begins a ping; its pong confirms the inputs that were written before it.
    private func ping(upTo number: InputNumber, _ channel: any WebSocketChannel, of outgoing: HandoverQueue<Outgoing>) {
        Task {
            guard (try? await channel.ping()) != nil, outgoing === self.outgoing, self.channel != nil else { return }
            await perform(core.pong(upTo: number))
        }
    }

    // MARK: From the app

    func send(_ text: [UInt8], endsLine: Bool) async throws(GateError) -> InputNumber {
        let text = endsLine ? text + (core.dialect == .raw ? [0x0D, 0x0A] : [0x0A]) : text
        try checkInput(text.count)
        let (number, orders) = core.input(text)
        await perform(orders)
        return number
    }

    func send(gmcp name: String, json: [UInt8]?) async throws(GateError) -> InputNumber {
        guard GMCPName.isValid(name), !GMCPName.isOwn(name),
            json.map({ !$0.isEmpty && JSONData.isValid($0[...], maximumBytes: Self.maximumInputBytes) }) ?? true
        else { throw .inputRefused(.malformed) }
        try checkInput(name.utf8.count + (json?.count ?? 0))
        do {
            let (number, orders) = try core.gmcp(name, json)
            await perform(orders)
            return number
        } catch {
            throw GateError(wrapping: error)
        }
    }

    private func checkInput(_ count: Int) throws(GateError) {
        guard !isOver, !core.isClosing else { throw .notConnected }
        guard count <= Self.maximumInputBytes else { throw .inputRefused(.tooLarge) }
        guard core.hasRoom(for: count) else { throw .inputRefused(.queueFull) }
    }

    func resize(_ size: TerminalSize) async { await perform(core.resize(size)) }

    func close() async {
        guard !isOver, !core.isClosing else { return }
        await perform(core.close())
        // The writer closes the connection when all of it is written.
        outgoing.finish()
        if channel == nil { nudges.postOnce(()) }
    }
}

extension ConnectionEvent {
    /// What it takes in the queue.
    var cost: Int {
        switch self {
        case .output(let output): output.bytes.count
        case .gmcp(let message): message.name.utf8.count + (message.json?.count ?? 0)
        default: 0
        }
    }
}
