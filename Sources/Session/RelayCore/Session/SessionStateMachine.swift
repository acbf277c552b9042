/// The life of one session: a WebSocket client on one side, a TCP target on the other. Events in, actions out.
///
/// A resumable session outlives its WebSocket: while it is `detached` its target is still read, nothing is queued, and
/// a client that returns within `resumeGrace` finds it unchanged. Below, "client" means the client's current WebSocket.
///
/// It handles counts and times, never bytes or sockets. It guarantees:
/// - above a high-water mark in one direction the other side is no longer read;
/// - bytes queued when one side closes are still written to the other, for at most `closeFlush`;
/// - while the client isn't read, for whatever reason, its silence clock is stopped;
/// - from the first close it ends within two times `closeFlush`, whatever the two sides do;
/// - it closes by itself when `sessionTimeout` has passed, and detached when `resumeGrace` has;
/// - pauses and resumes of one side alternate, and no close is ordered twice.
///
/// ```
///            targetConnected            targetFinished / lost / shutdown
///  dialing ──────────────────▶ open ───────────────────────────────────▶ flushingClient ─▶ closingClient
///     │                        │ │ ▲                                                           │
///     │ targetLost             │ │ │ clientAttached                                            │
///     │                        │ ▼ │                                                           │
///     │                        │ detached ◀── clientLost, silence, slow: of a resumable open one │
///     │                        │   │ grace, targetFinished, shutdown                           │
///     │                        │   │                                                           │
///     │   clientClosed, silence│   │                                                           │ clientClosed
///     ▼                        ▼   ▼                                                           ▼
///  closingClient           flushingTarget ────────── targetClosed or deadline ────────────▶  ended
/// ```
package struct SessionStateMachine {
    private enum Phase: Equatable {
        case dialing
        case open
        /// Without a client, which may resume until the deadline.
        case detached(deadline: UInt64)
        /// The client's input is being written to the target before the client's Close frame is ordered.
        case flushingClient(deadline: UInt64)
        /// The Close frame has been ordered; it is sent after the client's queue.
        case closingClient(deadline: UInt64)
        /// The client is gone; its input is being written to the target.
        case flushingTarget(deadline: UInt64)
        case ended
    }

    private let limits: SessionLimits
    private var phase = Phase.dialing
    private var toClient: FlowWindow
    private var toTarget: FlowWindow
    private var clock: PeerClock
    private var slowness: SlownessClock
    private var timeout: UInt64
    private var clientQueue = 0
    /// More output waits for the client than `clientQueue` counts.
    private var holdsMoreForClient = false
    private var targetQueue = 0
    private var readsClient = true
    private var readsTarget = true
    /// The session itself doesn't read the client: it has sent too much, or its input is waiting.
    private var isHeldBack = false
    private var isClientGone = false
    private var isTargetGone = false
    /// The closes that were ordered, so that none is ordered twice.
    private var given: SessionActions = []
    private var outlivesClient = false

    /// The reason for the Close frame; set before `.closeClient` is returned.
    package private(set) var closeReason = CloseReason.targetClosed

    /// Why the session ends or has ended; `nil` before.
    package private(set) var endReason: EndReason?

    package init(limits: SessionLimits, now: UInt64) {
        self.limits = limits
        toClient = FlowWindow(highWater: limits.clientBufferBytes)
        toTarget = FlowWindow(highWater: limits.targetBufferBytes)
        clock = PeerClock(pingInterval: limits.pingInterval, silence: limits.peerSilence, now: now)
        slowness = SlownessClock(limit: limits.slowClient, enough: limits.clientBufferBytes / 2)
        timeout = now + limits.sessionTimeout
    }

    /// One that goes on from another process, without a client: the clocks of both are the same.
    package init(_ state: DetachedState, limits: SessionLimits, now: UInt64) {
        self.init(limits: limits, now: now)
        phase = .detached(deadline: state.deadline)
        timeout = state.timeout
        outlivesClient = true
    }

    /// Nil where the session has a client, or doesn't wait for one.
    package var detachedState: DetachedState? {
        guard outlivesClient, case .detached(let deadline) = phase else { return nil }
        return DetachedState(deadline: deadline, timeout: timeout)
    }

    /// When `tick` must be called next.
    package var nextDeadline: UInt64? {
        switch phase {
        case .dialing: min(clock.nextDeadline, timeout)
        case .open: min(clock.nextDeadline, timeout, slowEnd ?? .max)
        case .detached(let deadline): min(deadline, timeout)
        case .flushingClient(let deadline), .closingClient(let deadline), .flushingTarget(let deadline): deadline
        case .ended: nil
        }
    }

    /// Whether the client's input is still written to the target.
    package var acceptsFromClient: Bool { phase == .dialing || phase == .open }

    /// Whether the target's output is still accepted: for the client, or for one that may resume.
    package var acceptsFromTarget: Bool { phase == .open || isDetached }

    /// It is detached.
    package var isDetached: Bool {
        if case .detached = phase { true } else { false }
    }

    /// Whether a client may be attached, replacing a lost or current one.
    package var isResumable: Bool { outlivesClient && (phase == .open || isDetached) }

    /// It isn't ending yet.
    package var isUnderway: Bool { acceptsFromClient || isDetached }

    /// From here on the session can be resumed: its translation is connected and its dialect has numbers.
    package mutating func setResumable() {
        outlivesClient = true
    }

    // MARK: The client

    /// Something arrived from the client, and `queued` bytes wait for the target now.
    package mutating func clientSent(queued: Int, now: UInt64) -> SessionActions {
        clock.heard(at: now)
        targetQueue = queued
        return flow(now)
    }

    /// A pong or another frame without payload.
    package mutating func clientHeard(now: UInt64) {
        clock.heard(at: now)
    }

    /// The session has stopped or resumed reading the client for reasons of its own.
    package mutating func clientHeldBack(_ isHeldBack: Bool, now: UInt64) {
        self.isHeldBack = isHeldBack
        updateClock(now)
    }

    /// The client's Close frame, or its connection's end: no more from it, nothing more to it.
    package mutating func clientClosed(_ reason: EndReason = .clientClosed, now: UInt64) -> SessionActions {
        guard !isClientGone, !isDetached else { return [] }
        isClientGone = true
        note(reason)
        switch phase {
        case .dialing where targetQueue == 0: return ended(dropping: .dropTarget)
        case .dialing, .open: return finishTarget(by: now + limits.closeFlush)
        // The close began earlier and keeps its deadline.
        case .flushingClient(let deadline), .closingClient(let deadline): return finishTarget(by: deadline)
        case .flushingTarget, .detached, .ended: return []
        }
    }

    /// The client's connection has ended, and with it the session, unless it can be resumed.
    package mutating func clientLost(_ reason: EndReason = .clientLost, now: UInt64) -> SessionActions {
        isResumable ? detach(now) : clientClosed(reason, now: now)
    }

    private mutating func note(_ reason: EndReason) { endReason = endReason ?? reason }

    /// A new connection has the session from here on: of a client that was detached, or instead of the current one,
    /// which its link closes. It is being read, and nothing is queued to it.
    package mutating func clientAttached(now: UInt64) -> SessionActions {
        guard isResumable else { return [] }
        phase = .open
        clock = PeerClock(pingInterval: limits.pingInterval, silence: limits.peerSilence, now: now)
        given.remove(.dropClient)
        return clientReplaced(now)
    }

    /// The client has read, and `queued` bytes are left of what waited for it; more may be queued before
    /// ``clientDrained(queued:holdsMore:now:)``.
    package mutating func clientRead(queued: Int, now: UInt64) {
        slowness.clientRead(max(clientQueue - queued, 0), now: now)
    }

    /// `queued` bytes still wait for the client.
    ///
    /// - Parameter holdsMore: more output waits that can't be counted yet: it is compressed, or the dialect isn't
    ///   known.
    package mutating func clientDrained(queued: Int, holdsMore: Bool = false, now: UInt64) -> SessionActions {
        noteClientQueue(queued, holdsMore)
        return flow(now)
    }

    // MARK: The target

    package mutating func targetConnected(now: UInt64) -> SessionActions {
        if phase == .dialing { phase = .open }
        return flow(now)
    }

    /// Something arrived from the target, and `queued` bytes wait for the client now.
    ///
    /// - Parameter holdsMore: as in ``clientDrained(queued:holdsMore:now:)``.
    package mutating func targetSent(queued: Int, holdsMore: Bool = false, now: UInt64) -> SessionActions {
        noteClientQueue(queued, holdsMore)
        return flow(now)
    }

    /// `queued` bytes still wait for the target.
    package mutating func targetDrained(queued: Int, now: UInt64) -> SessionActions {
        targetQueue = queued
        return flow(now).union(closeClientIfFlushed(now))
    }

    /// The target's FIN. It may still read: its queue is written before the client is told.
    package mutating func targetFinished(now: UInt64) -> SessionActions {
        close(.targetClosed, now: now)
    }

    /// The connection to the target has ended.
    ///
    /// - Parameter reason: nil after an orderly end.
    package mutating func targetClosed(_ reason: CloseReason?, now: UInt64) -> SessionActions {
        guard !isTargetGone else { return [] }
        isTargetGone = true
        targetQueue = 0
        switch phase {
        case .ended: return []
        case .dialing, .open: return flushClient(reason ?? .targetClosed, now)
        // No client is attached. The kept output is discarded with the session.
        case .detached:
            note((reason ?? .targetClosed).end)
            return ended(dropping: [])
        case .flushingClient: return closeClientIfFlushed(now)
        case .closingClient: return []
        case .flushingTarget: return ended(dropping: [])
        }
    }

    // MARK: The gateway

    /// Ends the session in order: both queues are written, and the client is told `reason`.
    package mutating func close(_ reason: CloseReason, now: UInt64) -> SessionActions {
        switch phase {
        case .dialing, .open: return flushClient(reason, now)
        // No client is attached. The kept output is discarded with the session.
        case .detached:
            closeReason = reason
            note(reason.end)
            isClientGone = true
            return finishTarget(by: now + limits.closeFlush)
        case .flushingClient, .closingClient, .flushingTarget, .ended: return []
        }
    }

    /// - Parameter now: at or after `nextDeadline`.
    package mutating func tick(now: UInt64) -> SessionActions {
        switch phase {
        case .dialing, .open, .detached:
            if now >= timeout { return close(.sessionTimeout, now: now) }
            if case .detached(let deadline) = phase { return now < deadline ? [] : close(.graceOver, now: now) }
            return tickClock(now)
        case .flushingClient(let deadline): return now < deadline ? [] : abandonTarget().union(closeClient(now))
        case .closingClient(let deadline), .flushingTarget(let deadline):
            return now < deadline ? [] : ended(dropping: [.dropTarget, .dropClient])
        case .ended: return []
        }
    }

    private mutating func tickClock(_ now: UInt64) -> SessionActions {
        if let slowEnd, now >= slowEnd { return dropClient(now) }
        switch clock.due(at: now) {
        case .nothing: return []
        case .ping: return .sendPing
        case .silence: return dropClient(now)
        }
    }

    /// Drops a silent or slow client; the session of a slow one continues.
    private mutating func dropClient(_ now: UInt64) -> SessionActions {
        clientLost(.clientSilent, now: now).union(once(.dropClient))
    }

    /// A slow client that can't resume is dropped only when it is silent, because its unread output would be lost.
    private var slowEnd: UInt64? { isResumable ? slowness.end : nil }

    // MARK: Transitions

    private mutating func detach(_ now: UInt64) -> SessionActions {
        guard phase == .open else { return [] }
        phase = .detached(deadline: now + limits.resumeGrace)
        return clientReplaced(now)
    }

    /// Discards the previous connection and its queue; the next one begins like a new one.
    private mutating func clientReplaced(_ now: UInt64) -> SessionActions {
        clientQueue = 0
        holdsMoreForClient = false
        isHeldBack = false
        var actions = flow(now)
        readsClient = true
        // The target's queue may still be full of the previous connection's input.
        if toTarget.isPaused, !isDetached { actions.formUnion(readClient(false)) }
        updateClock(now)
        return actions
    }

    private mutating func noteClientQueue(_ queued: Int, _ holdsMore: Bool) {
        guard !isDetached else { return }
        clientQueue = queued
        holdsMoreForClient = holdsMore
    }

    private mutating func flow(_ now: UInt64) -> SessionActions {
        guard isUnderway else { return [] }
        var actions: SessionActions = []
        switch toClient.update(queued: clientQueue, holdsMore: holdsMoreForClient) {
        case .pause: actions.formUnion(readTarget(false))
        case .resume: actions.formUnion(readTarget(true))
        case .none: break
        }
        slowness.update(isBehind: toClient.isPaused, now: now)
        switch toTarget.update(queued: targetQueue) {
        case .pause: actions.formUnion(readClient(false))
        case .resume: actions.formUnion(readClient(true))
        case .none: return actions
        }
        updateClock(now)
        return actions
    }

    /// The silence clock runs only while the client is read.
    private mutating func updateClock(_ now: UInt64) {
        if toTarget.isPaused || isHeldBack { clock.stop(at: now) } else { clock.start(at: now) }
    }

    private mutating func flushClient(_ reason: CloseReason, _ now: UInt64) -> SessionActions {
        closeReason = reason
        note(reason.end)
        guard targetQueue > 0 else { return closeClient(now) }
        phase = .flushingClient(deadline: now + limits.closeFlush)
        // No new input is accepted from either side; the queues are written.
        return readClient(false).union(readTarget(false))
    }

    private mutating func closeClientIfFlushed(_ now: UInt64) -> SessionActions {
        guard case .flushingClient = phase, targetQueue == 0 else { return [] }
        return closeClient(now)
    }

    /// The client's own queue is written before its Close frame by the connection itself.
    private mutating func closeClient(_ now: UInt64) -> SessionActions {
        phase = .closingClient(deadline: now + limits.closeFlush)
        // The client is read again: its answer to the Close frame would not be seen otherwise.
        return once(.closeClient).union(readClient(true)).union(finishOrder())
    }

    private mutating func finishTarget(by deadline: UInt64) -> SessionActions {
        guard !isTargetGone else { return ended(dropping: []) }
        phase = .flushingTarget(deadline: deadline)
        return finishOrder()
    }

    /// From here on the target's output is read and discarded: so its FIN is seen, and a target that blocks until its
    /// output is read can then read our FIN.
    private mutating func finishOrder() -> SessionActions {
        guard !isTargetGone else { return [] }
        return once(.finishTarget).union(readTarget(true))
    }

    /// The target did not read its queue in time.
    private mutating func abandonTarget() -> SessionActions {
        isTargetGone = true
        targetQueue = 0
        return once(.dropTarget)
    }

    private mutating func ended(dropping: SessionActions) -> SessionActions {
        phase = .ended
        return once(dropping).union(.end)
    }

    // MARK: Orders

    private mutating func once(_ orders: SessionActions) -> SessionActions {
        defer { given.formUnion(orders) }
        return orders.subtracting(given)
    }

    private mutating func readClient(_ reads: Bool) -> SessionActions {
        guard reads != readsClient, !isDetached else { return [] }
        readsClient = reads
        return reads ? .resumeClient : .pauseClient
    }

    private mutating func readTarget(_ reads: Bool) -> SessionActions {
        guard reads != readsTarget else { return [] }
        readsTarget = reads
        return reads ? .resumeTarget : .pauseTarget
    }
}
