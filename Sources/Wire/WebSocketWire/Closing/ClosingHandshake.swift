/// The closing handshake of one connection (RFC 6455 §7): maps each event to the action to take. It has no clock; `now`
/// and `deadline` are monotonic nanoseconds.
///
/// At most one Close frame is sent, and nothing after it (§5.5.1). The server ends TCP first (§7.1.1); a client waits
/// for that.
package struct ClosingHandshake: Sendable {
    package enum Action: Equatable, Sendable {
        case none
        /// Queue a Close frame after the waiting output.
        case queueClose(ControlPayload)
        /// Drop the waiting output, except the rest of a frame in progress, and queue a Close frame after that.
        case replaceQueue(ControlPayload)
        /// Drop the data frames that wait before our Close frame, except the rest of a frame in progress. Keep the
        /// Close frame.
        case dropQueuedData
        /// End TCP: send FIN, then discard input for a moment. Otherwise unread input would make the kernel send RST,
        /// which could overtake our Close frame.
        case endTCP
        /// Abort TCP: the peer doesn't read.
        case abortTCP
    }

    package struct Limits: Hashable, Sendable {
        /// From the call of `close` until our Close frame is written, after the output queued before it.
        package var writeNanoseconds: UInt64
        /// From our Close frame to the peer's, or to the end of TCP: see also `restNanoseconds`. Also the total time
        /// after a fault.
        package var answerNanoseconds: UInt64

        package init(writeNanoseconds: UInt64 = 5_000_000_000, answerNanoseconds: UInt64 = 1_000_000_000) {
            self.writeNanoseconds = writeNanoseconds
            self.answerNanoseconds = answerNanoseconds
        }
    }

    private enum State: Sendable {
        case open
        /// Our Close frame is queued; the peer's has not arrived.
        case closing
        /// Our Close frame is written; the peer's has not arrived.
        case awaitingClose
        /// The peer's Close frame has arrived, or a fault was found; our Close frame is queued. Input is ignored.
        case finishing
        /// Client only: both Close frames were sent, and the server is about to end TCP.
        case awaitingEnd
        case ended
    }

    private let role: FrameReader.Role
    private let limits: Limits
    private var state = State.open
    /// Set it before `close`: what the peer sends before its Close frame is still delivered, for so long after ours, or
    /// for `answerNanoseconds` if that is longer. Behind its limit such input is lost, although TCP has confirmed it.
    package var restNanoseconds: UInt64?
    /// When `passed` must be called; nil if there is no deadline.
    package private(set) var deadline: UInt64?

    package init(role: FrameReader.Role = .server, limits: Limits = Limits()) {
        self.role = role
        self.limits = limits
    }

    /// Whether frames may be queued. False once either side has decided to close (§5.5.1).
    package var maySend: Bool { state == .open }
    /// Whether received data is delivered. After our own `close` it isn't, although the peer may still send some,
    /// unless that was asked for.
    package var delivers: Bool {
        state == .open || (restNanoseconds != nil && (state == .closing || state == .awaitingClose))
    }
    /// Whether input goes to the frame reader, if only to find the peer's Close frame. Otherwise it is discarded.
    package var reads: Bool { state == .open || state == .closing || state == .awaitingClose }
    package var hasEnded: Bool { state == .ended }

    /// Starts closing from our side (§7.1.2). Only the first call has an effect.
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
            // The peer's code is echoed; without one, ours has none either.
            return .replaceQueue(ControlPayload(close: close.code))
        case .closing:
            // Both sides closed at the same time: our Close frame stays as it is, and the data before it is dropped.
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

    /// Our whole Close frame was handed to the socket.
    package mutating func closeWritten(now: UInt64) -> Action {
        switch state {
        case .closing:
            wait(.awaitingClose, until: now, max(restNanoseconds ?? 0, limits.answerNanoseconds))
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

    /// Call it when time has passed. Before `deadline` it does nothing.
    package mutating func passed(now: UInt64) -> Action {
        guard let deadline, now >= deadline else { return .none }
        // A slow peer can still read our Close frame before the end.
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

/// A status code that may be sent in a Close frame (RFC 6455 §7.4). Other codes can't be represented: those below 1000,
/// 1004, 1005, 1006 and 1015 (§7.4.1), the unassigned ones up to 2999, and those from 5000 on (§7.4.2).
package struct CloseCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init?(rawValue: UInt16) {
        switch rawValue {
        // 1012 to 1014 were registered with IANA after the RFC.
        case 1000...1003, 1007...1014, 3000...4999: self.rawValue = rawValue
        default: return nil
        }
    }

    private init(known rawValue: UInt16) { self.rawValue = rawValue }

    package static let normal = CloseCode(known: 1000)
    package static let goingAway = CloseCode(known: 1001)
    package static let protocolError = CloseCode(known: 1002)
    package static let invalidPayload = CloseCode(known: 1007)
    package static let policyViolation = CloseCode(known: 1008)
    package static let messageTooBig = CloseCode(known: 1009)
    package static let internalError = CloseCode(known: 1011)
}
