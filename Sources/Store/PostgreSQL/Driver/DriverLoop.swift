import Glibc

/// The driver's thread: it gives calls to connections, reads their answers, and replaces connections. Nothing in it
/// waits but `poll`.
final class DriverLoop {
    private let options: DriverOptions
    private let mailbox: Mailbox
    private let report: @Sendable (DriverEvent) -> Void
    private let dial: (Int) -> Void
    private let lanes: [Lane]
    /// Calls without a connection, those of durable statements apart.
    private var waiting = [FIFO<Call>(), FIFO<Call>()]
    private var breaker = CircuitBreaker()
    private var random = SystemRandomNumberGenerator()
    private var now = Monotonic.now
    /// Nobody is late before this time.
    private var nextExpiry = UInt64.max
    /// What was heard before says nothing of a connection any more: another one was lost then.
    private var lastLoss: UInt64 = 0
    private var answered = 0
    private var isReachable = false
    private var hasReported = false
    private var lastReason = "it was not reached yet"

    /// - Parameter dial: makes a connection for a lane on another thread, and leaves it in the mailbox.
    init(
        _ options: DriverOptions, _ mailbox: Mailbox, dial: @escaping (Int) -> Void,
        report: @escaping @Sendable (DriverEvent) -> Void
    ) {
        self.options = options
        self.mailbox = mailbox
        self.dial = dial
        self.report = report
        let count = max(1, options.connections)
        lanes = (0..<count).map { Lane(index: $0, isDurable: $0 >= (count + 1) / 2) }
    }

    func run() {
        while turn() { sleep() }
    }

    private func turn() -> Bool {
        let mail = mailbox.take()
        now = Monotonic.now
        guard !mail.isClosed else {
            end(mail.calls)
            return false
        }
        for (lane, result) in mail.dialed { dialed(lanes[lane], result) }
        for call in mail.calls { accept(call) }
        expire()
        dispatch()
        maintain()
        mailbox.note(
            answered: answered, connections: lanes.count { $0.connection != nil }, isOpen: breaker.isOpen)
        answered = 0
        return true
    }

    private func end(_ calls: [Call]) {
        let closed = DatabaseError.unreachable("the program ends", retryAfterSeconds: 1)
        for call in calls { finish(call, .failure(closed)) }
        for index in waiting.indices { for call in waiting[index].takeAll() { finish(call, .failure(closed)) } }
        for lane in lanes {
            for call in lane.abandon(until: .max) { finish(call, .failure(.unknown("the program ends"))) }
        }
    }

    private func finish(_ call: Call, _ result: Result<SQLRows, DatabaseError>) {
        if call.finish(result), !call.isOwn { answered += 1 }
    }

    // MARK: Calls

    private func accept(_ call: Call) {
        switch breaker.passage(at: now) {
        case .refuse(let seconds):
            finish(call, .failure(.unreachable(lastReason, retryAfterSeconds: seconds)))
        case .pass, .probe:
            waiting[call.statement.isDurable ? 1 : 0].append(call)
            nextExpiry = min(nextExpiry, call.deadline)
        }
    }

    private func dispatch() {
        for index in waiting.indices {
            while let call = waiting[index].first, let lane = lane(isDurable: index == 1) {
                _ = waiting[index].removeFirst()
                send(call, on: lane)
            }
        }
    }

    /// The least loaded connection for such statements. If there is none, any other has to do.
    private func lane(isDurable: Bool) -> Lane? {
        let usable = lanes.filter(\.isUsable)
        let own = usable.filter { $0.isDurable == isDurable }
        guard let best = (own.isEmpty ? usable : own).min(by: { $0.load < $1.load }), best.load < options.pipelineDepth
        else { return nil }
        return best
    }

    private func send(_ call: Call, on lane: Lane) {
        if !lane.send(call) { lose(lane, lane.connection?.message ?? "there is no connection") }
    }

    private func ended(_ call: Call) {
        breaker.succeeded()
        finish(call, call.outcome)
    }

    // MARK: Connections

    private func dialed(_ lane: Lane, _ result: Result<LibpqConnection, ConnectFailure>) {
        switch result {
        case .failure(let failure): postpone(lane, failure.text)
        case .success(let connection):
            guard lane.adopt(connection, at: now) else { return postpone(lane, connection.message) }
            greet(lane)
        }
    }

    /// Settings of the session, and whether it can be written. A lane is used after a good answer.
    private func greet(_ lane: Lane) {
        let values: [SQLValue] = [
            .text(String(options.longestMilliseconds)), .text(String(options.statementMilliseconds)),
        ]
        send(
            own(.greeting, values) { [unowned self, unowned lane] result in
                greeted(lane, result)
            }, on: lane)
        // One listens: more would only wake the thread more often.
        guard lane.index == 0, let channel = options.channel, lane.connection != nil else { return }
        send(own(.listen(to: channel)) { _ in }, on: lane)
    }

    private func greeted(_ lane: Lane, _ result: Result<SQLRows, DatabaseError>) {
        guard case .greeting = lane.stage else { return }
        if case .success(let rows) = result, let isReadOnly = try? rows.only().boolean(0), !isReadOnly {
            lane.stage = .ready
            lane.backoff.reset()
            if !isReachable { report(.reachable) }
            (isReachable, hasReported) = (true, true)
            if lane.index == 0, options.channel != nil { report(.notified) }
            return
        }
        if case .failure(let error) = result { lastReason = "\(error)" } else { lastReason = "the server only reads" }
        lane.isDraining = true
    }

    /// A lane couldn't be connected.
    private func postpone(_ lane: Lane, _ reason: String) {
        lastReason = reason
        lane.stage = .idle(until: now + lane.backoff.next(random: random.next()))
        noteUnreachable()
    }

    private func lose(_ lane: Lane, _ reason: String) {
        lastReason = reason
        lastLoss = now
        breaker.failed(at: now, random: random.next())
        replace(lane, reason)
    }

    private func replace(_ lane: Lane, _ reason: String) {
        let wasGreeting = if case .greeting = lane.stage { true } else { false }
        let calls = lane.abandon(until: now + lane.backoff.next(random: random.next()))
        for call in calls { finish(call, .failure(call.error ?? .unknown(reason))) }
        if wasGreeting { noteUnreachable() }
    }

    /// Statements don't wait for connections that can't be made.
    private func noteUnreachable() {
        let isHopeless = lanes.allSatisfy {
            switch $0.stage {
            case .idle, .dialing: true
            case .greeting, .ready: false
            }
        }
        guard isHopeless else { return }
        breaker.open(at: now, random: random.next())
        if isReachable || !hasReported { report(.unreachable(lastReason)) }
        (isReachable, hasReported) = (false, true)
    }

    private func maintain() {
        for lane in lanes {
            switch lane.stage {
            case .idle(let until) where until <= now:
                lane.stage = .dialing
                dial(lane.index)
            case .greeting, .ready:
                if lane.isDraining, lane.load == 0 {
                    replace(lane, "it is replaced")
                } else if lane.load == 0, nextTest(of: lane) <= now {
                    send(own(.heartbeat) { _ in }, on: lane)
                }
            case .idle, .dialing: break
            }
        }
    }

    private func nextTest(of lane: Lane) -> UInt64 {
        let heartbeat = Monotonic.nanoseconds(milliseconds: options.heartbeatMilliseconds)
        return lane.lastHeard < lastLoss ? lastLoss : lane.lastHeard + heartbeat
    }

    private func own(
        _ statement: SQLStatement, _ values: [SQLValue] = [],
        _ answer: @escaping (Result<SQLRows, DatabaseError>) -> Void
    ) -> Call {
        let deadline = now + Monotonic.nanoseconds(milliseconds: options.statementMilliseconds)
        nextExpiry = min(nextExpiry, deadline)
        return Call(own: statement, values, deadline: deadline, answer)
    }

    // MARK: Time

    private var grace: UInt64 { Monotonic.nanoseconds(milliseconds: options.graceMilliseconds) }

    private func expire() {
        guard now >= nextExpiry else { return }
        for index in waiting.indices {
            let late = waiting[index].all.filter { $0.deadline <= now }
            guard !late.isEmpty else { continue }
            waiting[index].removeAll { $0.deadline <= now }
            for call in late { finish(call, .failure(.timedOut)) }
        }
        for lane in lanes { expire(lane) }
        nextExpiry = expiries.min() ?? .max
    }

    /// The calls of a lane that are late get no answer any more; later still, the lane is given up.
    private func expire(_ lane: Lane) {
        for call in lane.calls where call.deadline <= now && !call.isAnswered {
            breaker.failed(at: now, random: random.next())
            finish(call, .failure(.unknown("it came not in time")))
        }
        if let oldest = lane.oldest, oldest.deadline + grace <= now { lose(lane, "the server does not answer") }
    }

    private var expiries: [UInt64] {
        waiting.flatMap { $0.all.map(\.deadline) }
            + lanes.flatMap { lane in
                lane.calls.filter { !$0.isAnswered }.map(\.deadline) + (lane.oldest.map { [$0.deadline + grace] } ?? [])
            }
    }

    // MARK: Waiting

    private func sleep() {
        let watched = lanes.filter { $0.connection != nil }
        var files = [pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)]
        for lane in watched {
            let events = lane.wantsToWrite ? POLLIN | POLLOUT : POLLIN
            files.append(pollfd(fd: lane.connection?.descriptor ?? -1, events: Int16(events), revents: 0))
        }
        guard poll(&files, nfds_t(files.count), timeout) > 0 else { return }
        now = Monotonic.now
        for (lane, file) in zip(watched, files.dropFirst()) where file.revents != 0 { serve(lane, file.revents) }
    }

    private func serve(_ lane: Lane, _ events: Int16) {
        if events & Int16(POLLOUT) != 0, !lane.flush() { return lose(lane, lane.connection?.message ?? "") }
        guard events & ~Int16(POLLOUT) != 0 else { return }
        let reading = lane.read(at: now, maximumBytes: options.maximumAnswerBytes) { ended($0) }
        if (lane.connection?.takeNotifications() ?? 0) > 0 { report(.notified) }
        if case .lost(let reason) = reading { return lose(lane, reason) }
        // Another server can be written by now, or this one will be again.
        if lane.connection?.isReadOnly == true { lane.isDraining = true }
        // Reading may have made room for what waits to be written.
        if lane.wantsToWrite, !lane.flush() { lose(lane, lane.connection?.message ?? "") }
    }

    /// In milliseconds, rounded up.
    private var timeout: Int32 {
        var next = nextExpiry
        for lane in lanes {
            switch lane.stage {
            case .idle(let until): next = min(next, until)
            case .ready where lane.load == 0: next = min(next, nextTest(of: lane))
            case .dialing, .greeting, .ready: break
            }
        }
        let time = Monotonic.now
        guard next > time else { return 0 }
        return Int32(clamping: min((next - time + 999_999) / 1_000_000, 60_000))
    }
}

extension SQLStatement {
    /// `statement_timeout` and `lock_timeout` in milliseconds.
    fileprivate static let greeting = SQLStatement(
        "portcullis_greeting",
        """
        SELECT current_setting('transaction_read_only') = 'on', set_config('statement_timeout', $1::text, false), \
        set_config('lock_timeout', $2::text, false), set_config('search_path', 'pg_catalog', false), \
        set_config('default_transaction_isolation', 'read committed', false), \(SQLStatement.waitingForTheDisk)
        """)
    fileprivate static let heartbeat = SQLStatement("portcullis_heartbeat", "SELECT true")

    /// - Parameter channel: lower-case letters and underscores.
    fileprivate static func listen(to channel: String) -> SQLStatement {
        precondition(channel.utf8.allSatisfy { (97...122).contains($0) || $0 == 95 }, "The channel is a literal.")
        return SQLStatement("portcullis_listen", "LISTEN \(channel)")
    }
}
