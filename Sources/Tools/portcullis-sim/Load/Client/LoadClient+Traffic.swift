import Reactors

// MARK: Time

extension LoadClient {
    func wake(now: UInt64) {
        if stage == .away, let due = returnAt, due <= now {
            returnAt = nil
            stage = .waiting
            worker.enqueue(self, paced: settings.scenario == .connect)
        }
        if stage == .opening || stage == .open, let due = vanishAt, due <= now { return vanish() }
        if stage == .opening, let due = answerDueAt, due <= now { return giveUpAnswer() }
        if stage == .open {
            if let due = readingChangesAt, due <= now { changeReading(now) }
            pump(now)
        }
        reschedule()
    }

    func reschedule() {
        switch stage {
        case .away:
            if let returnAt { worker.wake(self, at: returnAt) }
        case .open:
            // A message that is already late waits for `wrote`, not for a time.
            let now = worker.reactor.now
            let times = [plan.next, vanishAt, readingChangesAt].compactMap { $0 }.filter { $0 > now }
            if let next = times.min() { worker.wake(self, at: next) }
        case .opening:
            if let next = [vanishAt, answerDueAt].compactMap({ $0 }).min() { worker.wake(self, at: next) }
        case .waiting, .connecting, .closing, .stopped: break
        }
    }

    /// All clients begin at once, or when they are connected again.
    func startTraffic(at start: UInt64) {
        guard stage == .open else {
            if stage == .waiting, settings.scenario == .connect { worker.enqueue(self, paced: true) }
            return
        }
        if !settings.scenario.usesWebSockets { return ask() }
        plan = TrafficPlan(settings.traffic, start: start, seed: generator.next())
        if settings.scenario == .flap {
            vanishAt = vanishAt ?? start + generator.pause(meanSeconds: settings.flapEvery)
        }
        if settings.scenario == .slow { changeReading(start) }
        pump(worker.reactor.now)
        reschedule()
    }

    func changeReading(_ now: UInt64) {
        setReading(paused: !isReadingPaused)
        readingChangesAt = now + (isReadingPaused ? UInt64(settings.readPause * 1e9) : Self.readNanoseconds)
    }

    func setReading(paused: Bool) {
        isReadingPaused = paused
        leg?.transport?.setReading(paused: paused)
    }
}

// MARK: Sending

extension LoadClient {
    func pump(_ now: UInt64) {
        guard stage == .open, let webSocket = leg?.transport else { return }
        if case .window(let messages, let bytes) = plan.kind {
            if settings.isBurst, stream.inFlight > 0 { return }
            while stream.inFlight < messages, webSocket.queuedBytes < Self.maximumQueuedBytes {
                send(bytes: bytes, intended: now)
            }
        } else {
            while webSocket.queuedBytes < Self.maximumQueuedBytes, let intended = plan.take(by: now) {
                if case .steady(_, let bytes) = plan.kind {
                    send(bytes: bytes, intended: intended)
                } else {
                    send(bytes: nil, intended: intended)
                }
            }
        }
    }

    /// - Parameter bytes: nil: a whole line.
    private func send(bytes: Int?, intended: UInt64) {
        let sent =
            numbersInputs
            ? stream.sendNumbered(bytes: bytes, intended: intended) : stream.send(bytes: bytes, intended: intended)
        worker.statistics.messagesSent += 1
        worker.statistics.bytesSent += UInt64(sent.range.count)
        put(sent)
    }

    func put(_ sent: ClientStream.Sent) {
        if typed != nil {
            let number = numbersInputs ? sent.number : nil
            sendText(TypedRequest.input(stream.pattern.bytes(sent.range), number: number))
        } else {
            worker.withScratch(sent.range.count) { buffer in
                stream.pattern.fill(buffer, from: sent.range.lowerBound)
                leg?.transport?.sendMessage(UnsafeRawBufferPointer(buffer), isText: false)
            }
        }
    }

    /// A returning client may have to send an input again. For other clients each acknowledgement would be an
    /// unnecessary message.
    private var numbersInputs: Bool { typed != nil && settings.scenario == .flap }

    func sendText(_ message: [UInt8]) {
        message.withUnsafeBytes { leg?.transport?.sendMessage($0, isText: true) }
    }

    func wrote() {
        pump(worker.reactor.now)
        reschedule()
    }
}

// MARK: Receiving

extension LoadClient {
    /// - Parameter isLast: whether the piece ends its message; always true for a stream.
    func received(_ bytes: UnsafeRawBufferPointer, isLast: Bool) {
        guard typed != nil else {
            guard stage == .open else { return }
            take(bytes)
            return pump(worker.reactor.now)
        }
        message.append(contentsOf: bytes)
        guard isLast else { return }
        let events = typed?.receive(message) ?? []
        message.removeAll(keepingCapacity: true)
        for event in events { handle(event) }
        if let acknowledgement = typed?.acknowledgement() { sendText(acknowledgement) }
        pump(worker.reactor.now)
    }

    func take(_ bytes: UnsafeRawBufferPointer) {
        worker.statistics.bytesReceived += UInt64(bytes.count)
        let now = worker.reactor.now
        let linesBefore = stream.verifier.position / NumberedLine.bytes
        let faults = stream.receive(bytes) { sent in
            worker.statistics.messagesAnswered += 1
            if worker.measurement.includes(sent.intended) {
                worker.statistics.latency.record(nanoseconds: now - sent.intended)
            }
        }
        if stream.answer == .numbered {
            let lines = stream.verifier.position / NumberedLine.bytes
            worker.statistics.messagesAnswered += lines - min(lines, linesBefore)
        }
        if !faults.isEmpty { worker.statistics.count(faults) }
    }

    func handle(_ event: TypedSession.Event) {
        switch event {
        case .bytes(let bytes): bytes.withUnsafeBytes { take($0) }
        case .began:
            worker.statistics.begun += 1
            beginSession()
            becomeOpen()
        case .resumed:
            worker.statistics.resumed += 1
            tokenEndsAt = nil
            stream.toBeSentAgain.forEach(put)
            becomeOpen()
        case .gap(let bytes):
            worker.statistics.gaps += 1
            worker.statistics.gapBytes += bytes
            worker.statistics.count(stream.skip(bytes))
        case .inputAcknowledged(let number):
            if !stream.acknowledged(number) { worker.statistics.errors.count(.unknownAcknowledgement) }
        case .refusedToResume(let code): beginAnew(code)
        case .postponed: postpone()
        case .failed(let code): failed(told: code)
        case .wrong(let kind): worker.statistics.errors.count(kind)
        case .ended: sessionEnded()
        }
    }

    func beginAnew(_ code: String) {
        worker.statistics.errors.count(.told(code: code))
        abandonStream()
        beginSession()
        guard let greeting = typed?.greeting(to: settings.target) else { return }
        sendText(greeting)
    }

    private func sessionEnded() {
        worker.statistics.errors.count(.disconnected)
        if settings.sessionsEnd { abandonStream() } else { endStream() }
        beginSession()
    }

    /// A target that is unreachable now may be back soon.
    private func failed(told code: String) {
        worker.statistics.errors.count(.told(code: code))
        if settings.sessionsEnd, stage == .opening { tryLater(meanSeconds: 1) }
    }
}
