/// The life of one session: a WebSocket client on one side, a TCP target on the other. Events in, actions out.
///
/// A resumable session outlives its WebSocket: while it is `detached` its target is read on, nothing is queued to anybody, and a client
/// that comes back within `resumeGrace` finds it as it is. All that is said of the client below is said of the WebSocket that it has
/// at the time.
///
/// It knows counts and times, never bytes or sockets. What it guarantees:
/// - above a high-water mark in one direction the other side is no longer read;
/// - what was queued when one side closed is still written to the other, for at most `closeFlush`;
/// - while the client isn't read, for whatever reason, its silence isn't held against it;
/// - from the first close it ends within two times `closeFlush`, whatever the two sides do or leave undone;
/// - it closes by itself when `sessionTimeout` has passed, and detached when `resumeGrace` has;
/// - a pause and a resume of one side alternate, and no order to close is given twice.
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
        /// Without a client, who may come back until then.
        case detached(deadline: UInt64)
        /// What the client sent is being written to the target before the client's Close frame is ordered.
        case flushingClient(deadline: UInt64)
        /// The Close frame has been ordered; it leaves behind what is queued to the client.
        case closingClient(deadline: UInt64)
        /// The client is gone; what it sent is being written.
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
    /// More waits for the client than `clientQueue` counts.
    private var holdsMoreForClient = false
    private var targetQueue = 0
    private var readsClient = true
    private var readsTarget = true
    /// The session doesn't read the client for reasons of its own: it has sent too much, or what it said waits.
    private var isHeldBack = false
    private var isClientGone = false
    private var isTargetGone = false
    /// The orders to close that were given: none is given twice.
    private var given: SessionActions = []
    private var outlivesClient = false

    /// What the Close frame is to say; set before `.closeClient` is returned.
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

    /// When `tick` wants to be called next.
    package var nextDeadline: UInt64? {
        switch phase {
        case .dialing: min(clock.nextDeadline, timeout)
        case .open: min(clock.nextDeadline, timeout, slowEnd ?? .max)
        case .detached(let deadline): min(deadline, timeout)
        case .flushingClient(let deadline), .closingClient(let deadline), .flushingTarget(let deadline): deadline
        case .ended: nil
        }
    }

    /// Whether what the client sends still goes to the target.
    package var acceptsFromClient: Bool { phase == .dialing || phase == .open }

    /// Whether what the target sends is still taken: for the client, or for the one that may come back.
    package var acceptsFromTarget: Bool { phase == .open || isDetached }

    /// It has no client, and waits for one.
    package var isDetached: Bool {
        if case .detached = phase { true } else { false }
    }

    /// Whether a client may be attached, in place of one that is gone or that it has.
    package var isResumable: Bool { outlivesClient && (phase == .open || isDetached) }

    /// It hasn't begun to end.
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

    /// The client isn't read, or is read again, beside what this machine orders.
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
        // The close began earlier: its deadline stands.
        case .flushingClient(let deadline), .closingClient(let deadline): return finishTarget(by: deadline)
        case .flushingTarget, .detached, .ended: return []
        }
    }

    /// The client's connection has ended, and with it the session, unless it can be resumed.
    package mutating func clientLost(_ reason: EndReason = .clientLost, now: UInt64) -> SessionActions {
        isResumable ? detach(now) : clientClosed(reason, now: now)
    }

    private mutating func note(_ reason: EndReason) { endReason = endReason ?? reason }

    /// A new connection has the session from here on: of a client that was detached, or in place of the one that there is, which its
    /// link closes. It is being read, and nothing is queued to it.
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
    /// - Parameter holdsMore: and more that can't be counted yet: it is compressed, or the dialect isn't known.
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

    /// The target's FIN. It may still read: what is queued to it is written before the client is told.
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
        // There is nobody to tell, and what was kept for a resume goes with the session.
        case .detached:
            note((reason ?? .targetClosed).end)
            return ended(dropping: [])
        case .flushingClient: return closeClientIfFlushed(now)
        case .closingClient: return []
        case .flushingTarget: return ended(dropping: [])
        }
    }

    // MARK: The gateway

    /// Ends the session in order: what is queued on both sides is written, and the client is told `reason`.
    package mutating func close(_ reason: CloseReason, now: UInt64) -> SessionActions {
        switch phase {
        case .dialing, .open: return flushClient(reason, now)
        // There is nobody to tell, and what was kept for a resume goes with the session.
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

    /// Of one that is slow the session stays.
    private mutating func dropClient(_ now: UInt64) -> SessionActions {
        clientLost(.clientSilent, now: now).union(once(.dropClient))
    }

    /// A client that is slow and can't come back is only dropped when it falls silent: what it has still to read would be lost.
    private var slowEnd: UInt64? { isResumable ? slowness.end : nil }

    // MARK: Transitions

    private mutating func detach(_ now: UInt64) -> SessionActions {
        guard phase == .open else { return [] }
        phase = .detached(deadline: now + limits.resumeGrace)
        return clientReplaced(now)
    }

    /// The connection that was is forgotten, with what was queued to it; the next one begins as a new one does.
    private mutating func clientReplaced(_ now: UInt64) -> SessionActions {
        clientQueue = 0
        holdsMoreForClient = false
        isHeldBack = false
        var actions = flow(now)
        readsClient = true
        // The target may still have too much of what the client before said.
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

    /// A client that isn't read can't be heard.
    private mutating func updateClock(_ now: UInt64) {
        if toTarget.isPaused || isHeldBack { clock.stop(at: now) } else { clock.start(at: now) }
    }

    private mutating func flushClient(_ reason: CloseReason, _ now: UInt64) -> SessionActions {
        closeReason = reason
        note(reason.end)
        guard targetQueue > 0 else { return closeClient(now) }
        phase = .flushingClient(deadline: now + limits.closeFlush)
        // Nothing new is taken from either side; what is queued goes out.
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

    /// From here on what the target still sends is read and thrown away: so its FIN is seen, and a target that stands still until
    /// somebody reads it comes to read our FIN.
    private mutating func finishOrder() -> SessionActions {
        guard !isTargetGone else { return [] }
        return once(.finishTarget).union(readTarget(true))
    }

    /// The target did not take what was queued to it in time.
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
