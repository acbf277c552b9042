/// One client's sent data and expected answers: both streams of a session, without a socket.
struct ClientStream: Sendable {
    /// The kind of answer to sent data.
    enum Answer: String, Sendable, CaseIterable {
        /// The same bytes.
        case echo
        /// A numbered line at intervals, whatever is sent.
        case numbered
        /// A screen for each line.
        case screens
    }

    /// A message in flight, until its answer is complete.
    struct Sent: Hashable, Sendable {
        let range: Range<UInt64>
        let intended: UInt64
        /// The position in the answer stream where its answer ends.
        let answerEnd: UInt64
        /// The message's number in the session, from 1.
        let number: UInt64
    }

    let pattern: StreamPattern
    let answer: Answer
    private(set) var verifier: StreamVerifier
    private(set) var sentBytes: UInt64 = 0
    private var answerBytes: UInt64 = 0
    private var sentMessages: UInt64 = 0
    private var onTheirWay = FIFO<Sent>()
    /// Messages that haven't been acknowledged as applied.
    private var unacknowledged = FIFO<Sent>()
    private var lastAcknowledged: Sent?

    init(sending pattern: StreamPattern, answer: Answer) {
        self.pattern = pattern
        self.answer = answer
        verifier = StreamVerifier(answer == .echo ? pattern : .numbered)
    }

    var inFlight: Int { onTheirWay.count }
    /// The messages to send on a new connection, in order. They include one that was certainly applied: it must not be
    /// applied again.
    var toBeSentAgain: [Sent] { [lastAcknowledged].compactMap(\.self) + unacknowledged.elements }
    /// Bytes that haven't arrived yet.
    var outstandingBytes: UInt64 { answer == .numbered ? 0 : answerBytes - min(answerBytes, verifier.position) }
    /// An unsolicited stream has no known end; this tells whether a line is incomplete.
    var hasUnfinishedLine: Bool { answer == .numbered && verifier.position % NumberedLine.bytes != 0 }

    /// Records a message to be sent and returns it.
    ///
    /// - Parameter bytes: the message's length; nil: a whole line.
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

    /// Like ``send(bytes:intended:)``, for a message that the peer acknowledges by number.
    mutating func sendNumbered(bytes: Int?, intended: UInt64) -> Sent {
        let message = send(bytes: bytes, intended: intended)
        unacknowledged.append(message)
        return message
    }

    /// - Returns: whether the message exists.
    mutating func acknowledged(_ number: UInt64) -> Bool {
        if let message = unacknowledged.remove(where: { $0.number == number }) { lastAcknowledged = message }
        return number <= sentMessages
    }

    /// - Parameter answered: called for each message whose answer is now complete.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, answered: (Sent) -> Void) -> [StreamFault] {
        let faults = verifier.receive(bytes)
        while let first = onTheirWay.first, first.answerEnd <= verifier.position {
            answered(first)
            onTheirWay.removeFirst()
        }
        return faults
    }

    /// Lost bytes count as answered.
    mutating func skip(_ count: UInt64) -> [StreamFault] {
        let faults = verifier.skip(count)
        while let first = onTheirWay.first, first.answerEnd <= verifier.position { onTheirWay.removeFirst() }
        return faults
    }

    /// The session ended early; data that it hadn't delivered doesn't count as lost.
    mutating func abandon() -> [StreamFault] {
        finish().filter { if case .lost = $0 { false } else { true } }
    }

    /// Nothing more will arrive.
    mutating func finish() -> [StreamFault] {
        let faults = verifier.finish()
        if answer != .numbered, let excess = verifier.excess(over: answerBytes) { return faults + [excess] }
        return outstandingBytes > 0 ? faults + [.lost(outstandingBytes)] : faults
    }
}

/// A queue with insertion and removal in amortised constant time.
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

    /// The first element for which `isMeant` is true; it is expected near the front.
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
