/// The closing handshake of one connection (RFC 6455 §7): what is to be done when something has happened. It has no clock; `now` and `deadline`
/// are monotonic nanoseconds.
///
/// At most one Close frame is sent, and nothing behind it (§5.5.1). The server ends TCP first (§7.1.1); a client waits for that.
package struct ClosingHandshake: Sendable {
    package enum Action: Equatable, Sendable {
        case none
        /// Queue a Close frame behind what waits to be sent.
        case queueClose(ControlPayload)
        /// Drop what waits to be sent, except the rest of a frame that was begun, and queue a Close frame behind that.
        case replaceQueue(ControlPayload)
        /// Drop the data frames that wait before our Close frame, except the rest of one that was begun. The Close frame stays.
        case dropQueuedData
        /// End TCP. Input that nobody has read mustn't make the kernel send RST, which could overtake our Close frame: send FIN and discard
        /// what still comes for a moment.
        case endTCP
        /// End TCP at once: the peer doesn't read.
        case abortTCP
    }

    package struct Limits: Hashable, Sendable {
        /// From the order to close until our Close frame is written, behind what was queued before it.
        package var writeNanoseconds: UInt64
        /// From our Close frame to the peer's, or to the end of TCP; and all that a fault may take.
        package var answerNanoseconds: UInt64

        package init(writeNanoseconds: UInt64 = 5_000_000_000, answerNanoseconds: UInt64 = 1_000_000_000) {
            self.writeNanoseconds = writeNanoseconds
            self.answerNanoseconds = answerNanoseconds
        }
    }

    private enum State: Sendable {
        case open
        /// Our Close frame is queued; the peer's hasn't come.
        case closing
        /// Our Close frame is written; the peer's hasn't come.
        case awaitingClose
        /// The peer's Close has come, or a fault was found; our Close frame is queued. Input is ignored.
        case finishing
        /// Both Close frames were sent, and the server is about to end TCP. A client's only.
        case awaitingEnd
        case ended
    }

    private let role: FrameReader.Role
    private let limits: Limits
    private var state = State.open
    /// When `passed` is to be called at the latest; nil while there is nothing to wait for.
    package private(set) var deadline: UInt64?

    package init(role: FrameReader.Role = .server, limits: Limits = Limits()) {
        self.role = role
        self.limits = limits
    }

    /// Frames may be queued. False from the moment on that we have decided to close or the peer has (§5.5.1).
    package var maySend: Bool { state == .open }
    /// Data that is read means something. After our own order to close it doesn't, though the peer may still send some.
    package var delivers: Bool { state == .open }
    /// Input goes to the frame reader: to find the peer's Close, if nothing else. Otherwise it is discarded.
    package var reads: Bool { state == .open || state == .closing || state == .awaitingClose }
    package var hasEnded: Bool { state == .ended }

    /// We want to close (§7.1.2). Only the first order counts.
    package mutating func close(_ code: CloseCode, reason: String = "", now: UInt64) -> Action {
        guard state == .open else { return .none }
        wait(.closing, until: now, limits.writeNanoseconds)
        return .queueClose(ControlPayload(close: code, reason: reason))
    }

    /// The peer's Close frame was read (§5.5.1).
    package mutating func received(_ close: PeerClose, now: UInt64) -> Action {
        switch state {
        case .open:
            wait(.finishing, until: now, limits.answerNanoseconds)
            // Its code comes back; where it has none, ours has none either.
            return .replaceQueue(ControlPayload(close: close.code))
        case .closing:
            // Both at once: ours says what it was to say, and nothing waits before it any more.
            wait(.finishing, until: now, limits.answerNanoseconds)
            return .dropQueuedData
        case .awaitingClose:
            return finish(now: now)
        case .finishing, .awaitingEnd, .ended:
            return .none
        }
    }

    /// The peer broke the protocol (§7.1.7).
    package mutating func failed(_ fault: FrameFault, now: UInt64) -> Action {
        switch state {
        case .open:
            wait(.finishing, until: now, limits.answerNanoseconds)
            return .replaceQueue(ControlPayload(close: fault.closeCode, reason: fault.closeReason))
        case .closing:
            wait(.finishing, until: now, limits.answerNanoseconds)
            return .dropQueuedData
        case .awaitingClose, .awaitingEnd:
            return end(.endTCP)
        case .finishing, .ended:
            return .none
        }
    }

    /// All of our Close frame was handed to the socket.
    package mutating func closeWritten(now: UInt64) -> Action {
        switch state {
        case .closing:
            wait(.awaitingClose, until: now, limits.answerNanoseconds)
            return .none
        case .finishing:
            return finish(now: now)
        case .open, .awaitingClose, .awaitingEnd, .ended:
            return .none
        }
    }

    /// The peer has ended its side of TCP.
    package mutating func receivedEnd() -> Action {
        state == .ended ? .none : end(.endTCP)
    }

    /// Time has passed. Before `deadline` this does nothing.
    package mutating func passed(now: UInt64) -> Action {
        guard let deadline, now >= deadline else { return .none }
        // A peer that is only slow still finds our Close frame before the end.
        if case .awaitingClose = state { return end(.endTCP) }
        return end(.abortTCP)
    }

    private mutating func finish(now: UInt64) -> Action {
        guard role == .client else { return end(.endTCP) }
        wait(.awaitingEnd, until: now, limits.answerNanoseconds)
        return .none
    }

    private mutating func wait(_ state: State, until now: UInt64, _ nanoseconds: UInt64) {
        self.state = state
        let (sum, isTooFar) = now.addingReportingOverflow(nanoseconds)
        deadline = isTooFar ? .max : sum
    }

    private mutating func end(_ action: Action) -> Action {
        state = .ended
        deadline = nil
        return action
    }
}
