import Admission
import DequeModule
import Reactors
import RelayCore

/// The sessions of one reactor: so that all can be told, and that each has its turn. Reactor thread only.
final class SessionTable: TimerTarget {
    /// How long sessions may go on telling their clients in one turn of the loop, together. Each has its `TurnShare` at a time.
    private static let turnNanoseconds: UInt64 = 2_000_000

    /// The one of the last reload, which newcomers are judged by too.
    var gate: Gate
    private var drivers: [ObjectIdentifier: SessionDriver] = [:]
    /// Those whose share was not enough, in order.
    private var waiting = Deque<SessionDriver>()
    private var timer: ReactorTimer?

    let compressor = ZlibCompressor()
    /// Memory for the steps of all sessions: each is over before the next begins, and so a session that is idle holds none.
    let scratch = SessionScratch()

    init(gate: Gate) {
        self.gate = gate
    }

    var count: Int { drivers.count }

    func insert(_ driver: SessionDriver) {
        drivers[ObjectIdentifier(driver)] = driver
    }

    func remove(_ driver: SessionDriver) {
        drivers[ObjectIdentifier(driver)] = nil
    }

    // MARK: Everybody

    /// Ends every session in order that `isMeant`.
    ///
    /// - Returns: how many, without those that are ending already.
    @discardableResult
    func close(_ reason: CloseReason, where isMeant: (Principal, ClientAddress) -> Bool = { _, _ in true }) -> Int {
        let meant = drivers.values.filter { isMeant($0.client.principal, $0.client.address) }
        let underway = meant.count { $0.machine.isUnderway }
        for driver in meant { driver.close(reason) }
        return underway
    }

    /// Who is there is told; sessions that nobody can come back to end.
    func beginDraining() {
        for driver in Array(drivers.values) {
            if driver.isDetached { driver.close(.shuttingDown) } else { driver.announceDraining() }
        }
    }

    // MARK: Turns

    /// Lets a session go on in one of the next turns, behind those that wait already.
    func `await`(_ driver: SessionDriver, on reactor: Reactor) {
        waiting.append(driver)
        let timer = timer ?? ReactorTimer(on: reactor)
        self.timer = timer
        timer.arm(at: reactor.now, calling: self)
    }

    func timerFired(now: UInt64) {
        guard let reactor = waiting.first?.reactor else { return }
        // Not more than wait now: who comes back waits for the next turn.
        for _ in 0..<waiting.count {
            guard reactor.now - now < Self.turnNanoseconds, let next = waiting.popFirst() else { break }
            next.continueTelling()
        }
        if !waiting.isEmpty { timer?.arm(at: reactor.now, calling: self) }
    }
}

/// What a step of a session needs while it lasts, kept from one to the next. Empty between two.
final class SessionScratch {
    /// A piece of a client's message.
    var piece: [UInt8] = []
    /// What came of a step of a translation.
    var output = TranslationOutput()
    /// What a target has sent: see `PendingInput`.
    var spare: [UInt8] = []
}
