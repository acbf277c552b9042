import RelayCore
import Testing

/// Any events in any order: the invariants hold at every step, and every session ends.
struct RandomWalkTests {
    @Test func `two hundred thousand random events break no invariant`() {
        var generator = SeededGenerator(seed: 20_260_101)
        var events = 0
        var ended = 0
        while events < 200_000 {
            var walk = Walk(queueLimit: [1, 100, 200_000].randomElement(using: &generator) ?? 1)
            for _ in 0..<Int.random(in: 1...40, using: &generator) where !walk.hasEnded {
                walk.step(&generator)
                events += 1
            }
            walk.close()
            ended += 1
            guard walk.problems.isEmpty else {
                Issue.record("\(walk.problems) after \(walk.trace)")
                return
            }
        }
        #expect(ended > 5_000)
    }

    @Test func `a detached session ends by the clock alone, whatever its target sends`() {
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<500 {
            var walk = Walk(queueLimit: 200_000)
            walk.session = .detached()
            let begun = walk.session.now
            while let deadline = walk.session.machine.nextDeadline {
                walk.note(walk.session.targetSent(queued: Int.random(in: 0...200_000, using: &generator)), "targetSent")
                walk.session.now = max(walk.session.now, deadline)
                walk.note(walk.session.tick(), "tick")
            }
            #expect(walk.hasEnded)
            #expect(walk.session.now - begun <= walk.session.limits.resumeGrace + walk.session.limits.closeFlush)
            guard walk.problems.isEmpty else {
                Issue.record("\(walk.problems) after \(walk.trace)")
                return
            }
        }
    }

    @Test func `from the first close a session ends within two flush limits by the clock alone`() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<5_000 {
            var walk = Walk(queueLimit: 200_000)
            while walk.session.machine.isUnderway { walk.step(&generator) }
            let begun = walk.session.now
            while let deadline = walk.session.machine.nextDeadline {
                walk.session.now = max(walk.session.now, deadline)
                walk.note(walk.session.tick(), "tick")
            }
            #expect(walk.hasEnded)
            #expect(walk.session.now - begun <= 2 * walk.session.limits.closeFlush)
            guard walk.problems.isEmpty else {
                Issue.record("\(walk.problems) after \(walk.trace)")
                return
            }
        }
    }
}

/// One session under random events, with what must hold of its orders.
private struct Walk {
    var session = Session()
    private(set) var problems: [String] = []
    private(set) var trace: [String] = []
    private(set) var hasEnded = false
    private let queueLimit: Int
    private var seen: SessionActions = []
    private var isClientPaused = false
    private var isTargetPaused = false
    private var hasClosed = false
    private static let onlyOnce: SessionActions = [.finishTarget, .dropTarget, .closeClient, .dropClient, .end]

    init(queueLimit: Int) { self.queueLimit = queueLimit }

    mutating func step(_ generator: inout SeededGenerator) {
        session.wait([0, 1, second, 29 * second].randomElement(using: &generator) ?? 0)
        let queued = Bool.random(using: &generator) ? 0 : Int.random(in: 0...queueLimit, using: &generator)
        let holdsMore = Int.random(in: 0..<4, using: &generator) == 0
        switch Int.random(in: 0..<50, using: &generator) {
        case 0..<8: note(session.clientSent(queued: queued), "clientSent \(queued)")
        case 8..<15:
            noteQueue(session.clientDrained(to: queued, holdsMore: holdsMore), queued, holdsMore, "clientDrained")
        case 15..<22:
            noteQueue(session.targetSent(queued: queued, holdsMore: holdsMore), queued, holdsMore, "targetSent")
        case 22..<29: note(session.targetDrained(to: queued), "targetDrained \(queued)")
        case 29..<31: note(session.targetConnected(), "targetConnected")
        case 31..<33: note(session.tick(), "tick")
        case 33:
            session.clientHeard()
            note([], "clientHeard")
        case 34: note(session.clientClosed(), "clientClosed")
        case 35: note(session.targetFinished(), "targetFinished")
        case 36: note(session.targetClosed(), "targetClosed")
        case 37: note(session.targetClosed(.targetLost), "targetLost")
        case 38: note(session.shutDown(), "shutDown")
        case 39..<42:
            session.setResumable()
            note([], "setResumable")
        case 42: note(session.clientLost(), "clientLost")
        case 43..<45: attach()
        case 45..<47:
            session.clientHeldBack(Bool.random(using: &generator))
            note([], "clientHeldBack")
        case 47..<49:
            session.clientRead(leaving: queued)
            note([], "clientRead")
        default:
            session.now = max(session.now, session.machine.nextDeadline ?? 0)
            note(session.tick(), "tick at the deadline")
        }
    }

    /// Above the mark, or with more than can be counted, the target isn't read; with next to nothing it is.
    private mutating func noteQueue(_ actions: SessionActions, _ queued: Int, _ holdsMore: Bool, _ event: String) {
        note(actions, "\(event) \(queued) \(holdsMore)")
        guard session.machine.acceptsFromTarget, !session.machine.isDetached else { return }
        let isFull = holdsMore || queued > session.limits.clientBufferBytes
        check(!isFull || isTargetPaused, "the target is read though the client's queue is full")
        check(
            holdsMore || queued > session.limits.clientBufferBytes / 2 || !isTargetPaused,
            "the target waits for nothing")
    }

    /// A new connection: it is being read, and can be dropped anew.
    private mutating func attach() {
        if session.machine.isResumable {
            seen.remove(.dropClient)
            isClientPaused = false
        }
        note(session.clientAttached(), "clientAttached")
    }

    /// Both sides end, in whatever state the session is; then everything must be over.
    mutating func close() {
        note(session.clientClosed(), "clientClosed")
        note(session.targetClosed(), "targetClosed")
        check(hasEnded, "both sides are closed, and it goes on")
        note(session.tick(), "tick")
    }

    mutating func note(_ actions: SessionActions, _ event: String) {
        trace.append("\(event) → \(actions.testDescription)")
        check(!hasEnded || actions.isEmpty, "orders after the end")
        check(actions.isDisjoint(with: seen.intersection(Self.onlyOnce)), "an order was given twice")
        seen.formUnion(actions)
        hasEnded = hasEnded || actions.contains(.end)
        notePauses(actions)
        noteStanding(actions)
        noteDetached(actions)
    }

    private mutating func noteDetached(_ actions: SessionActions) {
        guard session.machine.isDetached else { return }
        isClientPaused = false
        check(actions.isSubset(of: [.dropClient, .resumeTarget]), "an order that nobody can be given")
        check(!isTargetPaused, "the target isn't read while there is no client")
        check(session.machine.isResumable && session.machine.acceptsFromTarget, "the detached can't come back")
    }

    private mutating func notePauses(_ actions: SessionActions) {
        check(!actions.isSuperset(of: [.pauseClient, .resumeClient]), "client paused and resumed at once")
        check(!actions.isSuperset(of: [.pauseTarget, .resumeTarget]), "target paused and resumed at once")
        check(!actions.contains(.pauseClient) || !isClientPaused, "client paused twice")
        check(!actions.contains(.resumeClient) || isClientPaused, "client resumed twice")
        check(!actions.contains(.pauseTarget) || !isTargetPaused, "target paused twice")
        check(!actions.contains(.resumeTarget) || isTargetPaused, "target resumed twice")
        isClientPaused = (isClientPaused || actions.contains(.pauseClient)) && !actions.contains(.resumeClient)
        isTargetPaused = (isTargetPaused || actions.contains(.pauseTarget)) && !actions.contains(.resumeTarget)
    }

    private mutating func noteStanding(_ actions: SessionActions) {
        let machine = session.machine
        var closing: SessionActions = [.finishTarget, .dropTarget, .closeClient, .end]
        if !machine.isDetached { closing.insert(.dropClient) }
        hasClosed = hasClosed || !actions.isDisjoint(with: closing)
        check(!hasClosed || !machine.acceptsFromClient, "takes from the client after closing")
        check(!hasClosed || !machine.acceptsFromTarget, "takes from the target after closing")
        check(!machine.acceptsFromTarget || machine.isUnderway, "takes from the target alone")
        check(!hasClosed || !machine.isUnderway, "goes on after closing")
        check((machine.nextDeadline == nil) == hasEnded, "a deadline is missing, or one too many")
        check(!seen.contains(.closeClient) || !isClientPaused, "the client is paused after its Close was ordered")
        check(!seen.contains(.finishTarget) || !isTargetPaused, "the target is paused after its FIN was ordered")
    }

    private mutating func check(_ condition: Bool, _ problem: String) {
        if !condition { problems.append(problem) }
    }
}
