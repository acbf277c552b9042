import Reactors

// MARK: Connecting

extension LoadClient {
    /// - Parameter intended: the intended time of this connection.
    func connect(intended: UInt64) {
        guard stage == .waiting else { return worker.connectEnded() }
        if !settings.scenario.usesWebSockets { return becomeAsker() }
        stage = .connecting
        intendedConnect = intended
        guard let devices = worker.devices else { return dial([]) }
        devices.headers(for: index) { [self] result in
            switch result {
            case .success(let headers): dial(headers)
            case .failure(let kind): failed(kind)
            }
        }
    }

    func dial(_ headers: LoadDevices.Headers) {
        let leg = ClientLeg(client: self)
        self.leg = leg
        if settings.transport == .stream {
            return StreamTransport.dial(for: leg, on: worker, from: settings.sources.address(of: index)) { [self] in
                self.leg = nil
                failed(.notConnected)
            }
        }
        if settings.transport == .frames {
            return FrameTransport.dial(
                for: leg, on: worker, headers: headers, from: settings.sources.address(of: index),
                seed: generator.next()
            ) { [self] kind in
                self.leg = nil
                failed(kind)
            }
        }
        worker.edge.connect(headers: headers, from: settings.sources.address(of: index), handler: leg) {
            [self] failure in
            self.leg = nil
            failed(failure.status.map { .refused(status: $0, code: failure.code) } ?? .notConnected)
        }
    }

    /// If connects are measured, those before the measurement don't count.
    private func recordConnect() {
        guard settings.scenario != .connect || worker.measurement.includes(intendedConnect) else { return }
        worker.statistics.connectLatency.record(nanoseconds: worker.reactor.now - intendedConnect)
    }

    func connectEnded() {
        worker.devices?.release(index)
        worker.connectEnded()
        if !hasBeenTried {
            hasBeenTried = true
            worker.statistics.clientsTried += 1
            worker.statistics.lastFirstConnect = worker.reactor.now
        }
    }

    func failed(_ kind: ErrorKind) {
        connectEnded()
        worker.statistics.failedConnects += 1
        worker.statistics.errors.count(kind)
        goAway(meanSeconds: 1)
    }

    func opened(_ leg: ClientLeg) {
        connectEnded()
        worker.statistics.connects += 1
        worker.statistics.connected += 1
        recordConnect()
        guard stage != .stopped else {
            leg.transport?.close(code: 1000, reason: "")
            return
        }
        message = []
        guard let greeting = typed?.greeting(to: settings.target) else {
            beginSession()
            return becomeOpen()
        }
        stage = .opening
        answerDueAt = worker.reactor.now + Self.answerNanoseconds
        sendText(greeting)
        if worker.isTrafficOn, settings.scenario == .flap, typed?.isResuming == true { noteResume() }
        reschedule()
    }

    /// One in four resuming clients disconnects again at once: before its `resume` was sent, before the answer arrived,
    /// or during the replay. It doesn't do so twice in a row, because the token's validity is limited.
    private func noteResume() {
        let now = worker.reactor.now
        if tokenEndsAt == nil {
            tokenEndsAt = now + Self.unansweredNanoseconds
            if generator.next() % 4 == 0 { vanishAt = now + generator.pause(meanSeconds: Self.earlyVanishingMean) }
        }
    }

    func becomeOpen() {
        stage = .open
        if settings.scenario == .connect {
            stage = .closing
            leg?.transport?.close(code: 1000, reason: "")
        } else if worker.isTrafficOn {
            startTraffic(at: worker.reactor.now)
        }
    }

    func beginSession() {
        sessions += 1
        tokenEndsAt = nil
        stream = ClientStream(
            sending: settings.pattern(client: index, session: sessions), answer: settings.answer)
    }

    /// Disconnected until a random time.
    func goAway(meanSeconds: Double) {
        guard stage != .stopped else { return }
        stage = .away
        vanishAt = nil
        let now = worker.reactor.now
        let meant = now + generator.pause(meanSeconds: meanSeconds)
        returnAt = max(now, min(meant, tokenEndsAt ?? meant))
        reschedule()
    }
}

// MARK: The connection's end

extension LoadClient {
    /// The connection was not ended by the client, except after a close that it requested.
    func closed(_ leg: ClientLeg) {
        noteUnclaimed()
        worker.statistics.connected -= 1
        self.leg = nil
        switch stage {
        case .stopped: return
        case .closing:
            stage = .waiting
            if worker.isTrafficOn { worker.enqueue(self, paced: true) }
        case .open where isOvertaken(leg), .opening where isOvertaken(leg): overtaken()
        default:
            worker.statistics.errors.count(leg.ending)
            if typed == nil {
                if settings.sessionsEnd { abandonStream() } else { endStream() }
            }
            goAway(meanSeconds: 1)
        }
    }

    /// A `resume` on an abandoned connection can arrive after the following one: the abandoned connection then gets the
    /// session.
    private func isOvertaken(_ leg: ClientLeg) -> Bool {
        guard let overtakingEndsAt, worker.reactor.now < overtakingEndsAt else { return false }
        return leg.ending == .closed(code: ReplacedLegs.code)
    }

    private func overtaken() {
        worker.statistics.overtaken += 1
        goAway(meanSeconds: 1)
    }

    /// Like a phone that loses its network: the gateway learns of it by a reset, by a regular close, not at all, or
    /// only when the same client appears a second time.
    func vanish() {
        vanishAt = nil
        guard let leg, let transport = leg.transport else { return }
        noteUnclaimed()
        worker.statistics.vanished += 1
        worker.statistics.connected -= 1
        let hasSession = typed?.isResuming != true
        if !hasSession {
            worker.statistics.answersLost += 1
            overtakingEndsAt = worker.reactor.now + Self.overtakingNanoseconds
        }
        leg.client = nil
        self.leg = nil
        var away = settings.flapAway
        switch generator.next() % (typed == nil ? 3 : 4) {
        case 0: transport.reset()
        case 1: transport.close(code: 1001, reason: "")
        case 2:
            transport.setReading(paused: true)
            worker.keepSilent(leg)
        default:
            // A connection without the session needn't be told that it lost the session.
            if hasSession { worker.awaitReplacement(of: leg) } else { worker.keepSilent(leg) }
            away = Self.earlyVanishingMean
        }
        goAway(meanSeconds: away)
    }

    /// The connection ends. If it requested a session and got no answer, no client can claim that session.
    private func noteUnclaimed() {
        guard stage == .opening, let typed, typed.identity == nil else { return }
        worker.statistics.unclaimed += 1
    }

    /// The session isn't available now: the client tries again a little later.
    func postpone() {
        worker.statistics.postponed += 1
        tryLater(meanSeconds: 0.2)
    }

    func giveUpAnswer() {
        worker.statistics.errors.count(.timedOut)
        noteUnclaimed()
        tryLater(meanSeconds: 1)
    }

    func tryLater(meanSeconds: Double) {
        leave()
        goAway(meanSeconds: meanSeconds)
    }

    private func leave() {
        guard let leg else { return }
        worker.statistics.connected -= 1
        leg.client = nil
        self.leg = nil
        leg.transport?.close(code: 1001, reason: "")
    }

    /// Data that hasn't arrived by now is lost.
    func endStream() {
        worker.statistics.count(stream.finish())
        worker.statistics.checkedBytes += stream.verifier.verified
    }

    /// Data that hasn't arrived by now is lost with the session, without an error. Received data counts.
    func abandonStream() {
        worker.statistics.begunAnew += 1
        worker.statistics.abandonedBytes += stream.outstandingBytes
        worker.statistics.count(stream.abandon())
        worker.statistics.checkedBytes += stream.verifier.verified
    }

    /// No more connections and no more messages; data in flight may still arrive.
    func stop() {
        plan = TrafficPlan(.none, start: 0, seed: 0)
        vanishAt = nil
        readingChangesAt = nil
        setReading(paused: false)
        if stage == .away {
            // A typed session must be resumed, to verify that nothing of it is lost; other clients have no reason to
            // come back.
            if typed == nil { stage = .stopped }
            returnAt = worker.reactor.now
        }
        reschedule()
    }

    /// The end: data that hasn't arrived is lost.
    func finish() {
        if settings.scenario == .connect, stage == .connecting {
            // The client has waited at least this long.
            recordConnect()
            worker.statistics.errors.count(.timedOut)
        }
        if stage == .open || typed != nil && !settings.sessionsEnd { endStream() }
        if stage != .open, typed?.identity != nil { worker.statistics.errors.count(.notResumed) }
        if !settings.scenario.usesWebSockets { worker.statistics.connected -= 1 }
        if let leg {
            // A session to which no client will return needn't be kept.
            if stage == .open, typed != nil { sendText(Array(#"{"type":"disconnect"}"#.utf8)) }
            leg.transport?.close(code: 1000, reason: "")
        }
        stage = .stopped
    }
}
