import Admission
import DequeModule
import Reactors
import RelayCore
import WireText

/// The sessions of one loop, and the links without a session: for notifying all of them, and for sharing the loop's
/// time. On the loop's thread only.
final class SessionTable: TimerTarget {
    /// How long all waiting sessions together may translate in one turn of the loop, taking turns of one `TurnBudget`
    /// each.
    static let turnNanoseconds = 2_000_000

    /// The gate of the last reload, which also decides about new clients.
    var gate: Gate { currentGate() }
    private let currentGate: () -> Gate
    /// To sessions of other gateways, as of the last reload; nil: this gateway has all sessions.
    var fleetRelay: FleetRelay? { currentRelay() }
    private let currentRelay: () -> FleetRelay?
    /// By number.
    private var sessions: [Int: SessionStage] = [:]
    /// Links that close their WebSocket after their session was taken over.
    private var links: [ObjectIdentifier: ClientLink] = [:]
    /// Sessions that have used up their budget, in order.
    private var waiting = Deque<Session>()
    private var timer: (any SessionTimer)?
    /// WebSockets whose sessions other gateways have.
    var relays = RelayTable()

    let compressor = ZlibCompressor()
    /// Memory for the steps of all sessions, one at a time, so that an idle session holds none.
    let scratch = SessionScratch()

    /// Both are asked whenever they are needed.
    init(
        gate: @autoclosure @escaping () -> Gate, fleetRelay: @autoclosure @escaping () -> FleetRelay? = nil
    ) {
        (currentGate, currentRelay) = (gate, fleetRelay)
    }

    /// What a shutdown waits for.
    var count: Int { sessions.count + links.count + relays.count }

    func contains(_ session: SessionStage) -> Bool { sessions[session.number] === session }

    /// The numbers of all sessions of the moment, for ``session(_:)``.
    var keys: [Int] { Array(sessions.keys) }

    /// - Returns: nil once the session has left the table.
    func session(_ key: Int) -> SessionStage? { sessions[key] }

    func insert(_ session: SessionStage) {
        sessions[session.number] = session
    }

    /// Its session begins.
    func replace(_ newcomer: SessionStage, by session: Session) {
        if contains(newcomer) { sessions[newcomer.number] = session }
    }

    /// The session has ended, or moves to another loop.
    func remove(_ session: SessionStage) {
        guard contains(session) else { return }
        sessions[session.number] = nil
        if let session = session as? Session, session.budget.isWaiting { waiting.removeAll { $0 === session } }
    }

    func insert(_ link: ClientLink) {
        links[ObjectIdentifier(link)] = link
    }

    func remove(_ link: ClientLink) {
        links[ObjectIdentifier(link)] = nil
    }

    // MARK: All sessions

    /// Sessions of an earlier process that haven't begun here yet.
    var restored: [(session: Session, pending: [UInt8])] = []

    var all: [SessionStage] { Array(sessions.values) }

    /// Ends every session for which `isMeant` returns true, in order, and the WebSockets of such clients whose sessions
    /// other gateways have.
    ///
    /// - Returns: how many sessions, without those that are ending already.
    @discardableResult
    func close(_ reason: CloseReason, where isMeant: (Principal, IPAddress) -> Bool = { _, _ in true }) -> Int {
        let meant = sessions.values.filter { isMeant($0.client.principal, $0.client.address) }
        let underway = meant.count { $0.machine.isUnderway }
        for session in meant { session.close(reason) }
        closeRelayed(reason, where: isMeant)
        return underway
    }

    /// Clients are told; detached sessions end, since their clients can't resume.
    func beginDraining() {
        closeRelayed(.gatewayUpgrading)
        for session in Array(sessions.values) {
            if session.machine.isDetached { session.close(.shuttingDown) } else { session.announceDraining() }
        }
    }

    // MARK: Turns

    /// Lets a session continue in one of the next turns, after those already waiting.
    func `await`(_ session: Session) {
        waiting.append(session)
        arm(session.loop)
    }

    private func arm(_ loop: any SessionLoop) {
        let timer = timer ?? loop.makeTimer()
        self.timer = timer
        timer.arm(at: loop.now, calling: self)
    }

    func timerFired(now: UInt64) {
        guard let loop = waiting.first?.loop else { return }
        // A session that waits again goes on after the others, in this turn or in a later one.
        while loop.now - now < UInt64(Self.turnNanoseconds), let next = waiting.popFirst() { next.continueTelling() }
        if !waiting.isEmpty { arm(loop) }
    }
}

/// The memory that a step of a session needs while it lasts, kept for the next step. Empty between two.
final class SessionScratch {
    /// A piece of a client's message.
    var piece: [UInt8] = []
    /// The output of a step of a translation.
    var output = TranslationOutput()
    /// Output of a target: see `PendingInput`.
    var spare: [UInt8] = []
}

/// How much of its target's output a session may translate at once, so that no target keeps a reactor busy. Then it
/// waits for the others.
struct TurnBudget {
    /// The number of telnet commands and pieces of text, whatever their size.
    static let maximumSteps = 64
    /// Bytes consumed and produced, together.
    static let maximumBytes = 131_072

    private var turn: UInt64?
    private var steps = 0
    private var bytes = 0
    /// The budget is used up, and the session waits for a later turn, after the others.
    var isWaiting = false

    /// Each turn has a new budget.
    mutating func begin(turn: UInt64) {
        guard turn != self.turn else { return }
        self.turn = turn
        steps = 0
        bytes = 0
    }

    var isLeft: Bool { steps < Self.maximumSteps && bytes < Self.maximumBytes }

    mutating func spend(_ bytes: Int, steps: Int) {
        self.steps += steps
        self.bytes += bytes
    }
}
