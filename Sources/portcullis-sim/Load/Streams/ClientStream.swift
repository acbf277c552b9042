/// What one client has sent and what it waits for: one session's two streams, without a socket.
struct ClientStream: Sendable {
    /// What comes back for what is sent.
    enum Answer: String, Sendable, CaseIterable {
        /// The same bytes.
        case echo
        /// A numbered line every now and then, whatever is sent.
        case numbered
        /// For each line a screen.
        case screens
    }

    /// A message that is on its way, until all of its answer has come.
    struct Sent: Hashable, Sendable {
        let range: Range<UInt64>
        let intended: UInt64
        /// Where its answer ends, in the stream that comes back.
        let answerEnd: UInt64
        /// Counts the session's messages, from 1.
        let number: UInt64
    }

    let pattern: StreamPattern
    let answer: Answer
    private(set) var verifier: StreamVerifier
    private(set) var sentBytes: UInt64 = 0
    private var answerBytes: UInt64 = 0
    private var sentMessages: UInt64 = 0
    private var onTheirWay = FIFO<Sent>()
    /// Nobody has said yet that they were applied.
    private var unacknowledged = FIFO<Sent>()
    private var lastAcknowledged: Sent?

    init(sending pattern: StreamPattern, answer: Answer) {
        self.pattern = pattern
        self.answer = answer
        verifier = StreamVerifier(answer == .echo ? pattern : .numbered)
    }

    var inFlight: Int { onTheirWay.count }
    /// What to send on a new connection, in order. One that has been applied for sure is among them: it must not be applied again.
    var toBeSentAgain: [Sent] { [lastAcknowledged].compactMap(\.self) + unacknowledged.elements }
    /// Bytes that are still to come.
    var outstandingBytes: UInt64 { answer == .numbered ? 0 : answerBytes - min(answerBytes, verifier.position) }
    /// Of what isn't asked for no end is known: the rest of a line that has begun.
    var hasUnfinishedLine: Bool { answer == .numbered && verifier.position % NumberedLine.bytes != 0 }

    /// Notes a message and says what it is made of.
    ///
    /// - Parameter bytes: of the message; nil is a whole line.
    mutating func send(bytes: Int?, intended: UInt64) -> Sent {
        let end = bytes.map { sentBytes + UInt64($0) } ?? pattern.lineEnd(after: sentBytes)
        switch answer {
        case .echo: answerBytes += end - sentBytes
        case .screens: answerBytes += Screen.bytes(afterLine: sentMessages)
        case .numbered: break
        }
        sentMessages += 1
        let message = Sent(
            range: sentBytes..<end, intended: intended, answerEnd: answerBytes, number: sentMessages)
        sentBytes = end
        if answer != .numbered { onTheirWay.append(message) }
        return message
    }

    /// Sends as ``send(bytes:intended:)``, what the peer will acknowledge by its number.
    mutating func sendNumbered(bytes: Int?, intended: UInt64) -> Sent {
        let message = send(bytes: bytes, intended: intended)
        unacknowledged.append(message)
        return message
    }

    /// - Returns: whether there ever was such a message.
    mutating func acknowledged(_ number: UInt64) -> Bool {
        if let message = unacknowledged.remove(where: { $0.number == number }) { lastAcknowledged = message }
        return number <= sentMessages
    }

    /// - Parameter answered: called for each message whose answer is complete by this.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, answered: (Sent) -> Void) -> [StreamFault] {
        let faults = verifier.receive(bytes)
        while let first = onTheirWay.first, first.answerEnd <= verifier.position {
            answered(first)
            onTheirWay.removeFirst()
        }
        return faults
    }

    /// What is gone was an answer too.
    mutating func skip(_ count: UInt64) -> [StreamFault] {
        let faults = verifier.skip(count)
        while let first = onTheirWay.first, first.answerEnd <= verifier.position { onTheirWay.removeFirst() }
        return faults
    }

    /// The session has ended in the middle, and what it hadn't brought by then is nobody's fault.
    mutating func abandon() -> [StreamFault] {
        finish().filter { if case .lost = $0 { false } else { true } }
    }

    /// Nothing more will come.
    mutating func finish() -> [StreamFault] {
        let faults = verifier.finish()
        if answer != .numbered, let excess = verifier.excess(over: answerBytes) { return faults + [excess] }
        return outstandingBytes > 0 ? faults + [.lost(outstandingBytes)] : faults
    }
}

/// A queue that takes and gives in constant time, on average.
struct FIFO<Element> {
    private var storage: [Element] = []
    private var head = 0

    var count: Int { storage.count - head }
    var first: Element? { head < storage.count ? storage[head] : nil }
    var elements: ArraySlice<Element> { storage[head...] }

    mutating func append(_ element: Element) {
        storage.append(element)
    }

    mutating func removeFirst() {
        head += 1
        if head == storage.count {
            storage.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 64, head * 2 > storage.count {
            storage.removeFirst(head)
            head = 0
        }
    }

    /// The first one of which `isMeant` is true; it is expected near the front.
    mutating func remove(where isMeant: (Element) -> Bool) -> Element? {
        guard let index = elements.firstIndex(where: isMeant) else { return nil }
        if index == head { return popFirst() }
        return storage.remove(at: index)
    }

    mutating func popFirst() -> Element? {
        guard let first else { return nil }
        removeFirst()
        return first
    }
}

extension FIFO: Sendable where Element: Sendable {}
