package import Admission
import BlockingWork
package import KeyStore
package import Logging
import Observability
import Synchronization
package import WireText

/// `MAX_SESSIONS_PER_DEVICE` in the whole fleet. Each gateway notes in the store how many sessions each client has at
/// it, and looks up those of a client that begins one.
///
/// A session is open before the answer is there. If it is one too many, one of the client's sessions that wait for it
/// is ended, here or by another gateway, as a single gateway does (`SessionEviction`); if there is none, the new one is
/// closed. Sessions of identities that several clients may share are ended only by the gateway at which the new one
/// begins. While the store doesn't answer each gateway keeps the limit by itself.
///
/// Changes are gathered and written by one task, so that a write costs the same however many there are.
package final class FleetHoldings: FleetSessionCounts {
    static let gathering: Duration = .milliseconds(50)
    /// Between two looks for sessions to end, and before a failed write is repeated.
    static let interval: Duration = .milliseconds(500)
    /// Clients of one write.
    static let maximumBatch = 500
    /// Clients whose changes wait, and clients that the store knows of. Of those above, each gateway counts its own
    /// sessions only.
    static let maximumClients = 200_000

    /// New sessions of one client that wait to be checked, of which each keeps its session in memory. Above it the
    /// first ones aren't checked.
    static let maximumExcess = 64
    /// Questions about single clients at the same time; above it they are answered with no.
    static let maximumQuestions = 256

    private let store: any SharedHoldings
    private let member: FleetMemberID
    private let incarnation: @Sendable () -> StoreIncarnation
    private let logger: Logger
    private let alarm = Alarm()
    private let state = Mutex(State())

    /// A session that has begun, and may be one too many.
    private struct Newcomer {
        let owner: SessionOwner
        let address: IPAddress
        let close: @Sendable () -> Void
    }

    private struct State {
        var directory: SessionDirectory?
        var waiting: [Identity: [Newcomer]] = [:]
        /// Clients of which the store may have a row of this gateway.
        var written: [HolderMark: Identity] = [:]
        /// Clients of which the process before may have left a row.
        var inherited: Set<HolderMark> = []
        /// A copyover is under way: what changes now is written behind it.
        var isHeld = false
        var isBusy = false
        var isFailing = false
        var questions = 0
    }

    /// - Parameters:
    ///   - member: this one's id.
    ///   - incarnation: the store's.
    init(
        _ store: any SharedHoldings, member: FleetMemberID, incarnation: @escaping @Sendable () -> StoreIncarnation,
        logger: Logger
    ) {
        self.store = store
        self.member = member
        self.incarnation = incarnation
        self.logger = logger
    }

    private var gateway: String { member.current }

    /// Whose sessions are counted; once, before the first session.
    package func attach(_ directory: SessionDirectory) { state.withLock { $0.directory = directory } }

    // MARK: Changes

    package func changed(_ owner: Identity) { wait(for: owner, nil) }

    package func began(_ owner: SessionOwner, from address: IPAddress, excess: @escaping @Sendable () -> Void) {
        wait(for: owner.identity, Newcomer(owner: owner, address: address, close: excess))
    }

    package func isElsewhere(_ owner: Identity, answer: @escaping @Sendable (Bool) -> Void) {
        let mayAsk = state.withLock { state in
            guard state.questions < Self.maximumQuestions else { return false }
            state.questions += 1
            return true
        }
        guard mayAsk, let mark = HolderMark(bytes: owner.mark) else { return answer(false) }
        Task {
            let found = try? await store.sessionsElsewhere(of: [mark], than: gateway)
            state.withLock { $0.questions -= 1 }
            answer(found?[mark] != nil)
        }
    }

    private func wait(for owner: Identity, _ newcomer: Newcomer?) {
        let isFirst = state.withLock { state in
            guard state.waiting[owner] != nil || state.waiting.count < Self.maximumClients else { return false }
            let isFirst = state.waiting.isEmpty
            state.waiting[owner, default: []] += newcomer.map { [$0] } ?? []
            if state.waiting[owner, default: []].count > Self.maximumExcess { state.waiting[owner]?.removeFirst() }
            return isFirst
        }
        if isFirst { alarm.ring() }
    }

    // MARK: The task

    /// Until it is cancelled.
    package func run() async {
        var known = incarnation()
        while !Task.isCancelled {
            await alarm.pause(atMost: Self.interval)
            try? await Task.sleep(for: Self.gathering)
            if incarnation() != known {
                known = incarnation()
                noteAllAgain()
            }
            guard beginTurn() else { continue }
            do throws(KeyRegistryError) {
                try await writeAll()
                try await forgetStrays()
                try await evict()
                state.withLock { ($0.isFailing, $0.isBusy) = (false, false) }
            } catch {
                state.withLock { $0.isBusy = false }
                note(error)
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    private func beginTurn() -> Bool {
        state.withLock { state in
            if !state.isHeld { state.isBusy = true }
            return state.isBusy
        }
    }

    /// The store may have lost what it was told.
    package func noteAllAgain() {
        state.withLock { state in
            for owner in state.written.values where state.waiting[owner] == nil { state.waiting[owner] = [] }
        }
        alarm.ring()
    }

    /// Writes what waits now: what comes meanwhile is gathered for the next turn.
    private func writeAll() async throws(KeyRegistryError) {
        let all = state.withLock { state in
            defer { state.waiting = [:] }
            return Array(state.waiting)
        }
        do throws(KeyRegistryError) {
            for start in stride(from: 0, to: all.count, by: Self.maximumBatch) {
                try await write(all[start..<min(start + Self.maximumBatch, all.count)])
            }
        } catch {
            // No session is kept for a check that may never come: each gateway keeps the limit by itself.
            state.withLock { state in
                for owner in state.waiting.keys { state.waiting[owner] = [] }
                for (owner, _) in all where state.waiting.count < Self.maximumClients { state.waiting[owner] = [] }
            }
            throw error
        }
    }

    private func write(_ batch: ArraySlice<(key: Identity, value: [Newcomer])>) async throws(KeyRegistryError) {
        guard let directory = state.withLock({ $0.directory }) else { return }
        var holdings: [Holding] = []
        var begun: [HolderMark: (owner: Identity, newcomers: [Newcomer])] = [:]
        for (owner, newcomers) in batch {
            guard let mark = HolderMark(bytes: owner.mark), let count = countToWrite(of: owner, mark, directory)
            else { continue }
            holdings.append(Holding(mark, sessions: count.sessions, detached: count.evictable))
            if !newcomers.isEmpty, count.sessions > 0 { begun[mark] = (owner, newcomers) }
        }
        guard !holdings.isEmpty else { return }
        try await store.note(holdings, of: gateway)
        state.withLock { state in
            for holding in holdings where holding.sessions == 0 { state.written[holding.holder] = nil }
        }
        guard !begun.isEmpty else { return }
        let elsewhere = try await store.sessionsElsewhere(of: Array(begun.keys), than: gateway)
        for (mark, count) in elsewhere {
            guard let client = begun[mark] else { continue }
            let excess = count + directory.count(of: client.owner).sessions - directory.limits.perDevice
            for newcomer in client.newcomers.suffix(max(0, excess)) {
                if directory.evictOldest(of: newcomer.owner, from: newcomer.address, at: .now) { continue }
                // Only addresses tell strangers apart, and other gateways don't know this one's.
                guard !newcomer.owner.isShared, try await store.makeRoom(for: mark, at: gateway) else {
                    newcomer.close()
                    continue
                }
            }
        }
    }

    /// They have no session here, unless one has just begun: then it is written next.
    private func forgetStrays() async throws(KeyRegistryError) {
        while true {
            let strays = state.withLock { state in
                state.inherited.subtract(state.written.keys)
                return Array(state.inherited.prefix(Self.maximumBatch))
            }
            guard !strays.isEmpty else { return }
            try await store.note(strays.map { Holding($0, sessions: 0, detached: 0) }, of: gateway)
            state.withLock { $0.inherited.subtract(strays) }
        }
    }

    /// Nil: there is nothing to write.
    private func countToWrite(
        of owner: Identity, _ mark: HolderMark, _ directory: SessionDirectory
    ) -> SessionCount? {
        let count = directory.count(of: owner)
        return state.withLock { state in
            if state.written[mark] == nil {
                guard count.sessions > 0, state.written.count < Self.maximumClients else { return nil }
                state.written[mark] = owner
            }
            return count
        }
    }

    /// Ends sessions for which another gateway has no room.
    private func evict() async throws(KeyRegistryError) {
        guard let directory = state.withLock({ $0.written.isEmpty ? nil : $0.directory }) else { return }
        for (mark, count) in try await store.takeEvictions(of: gateway) {
            guard let owner = state.withLock({ $0.written[mark] }) else { continue }
            var left = count
            while left > 0, directory.evictOldest(of: .elsewhere(owner), from: nil, at: .now) { left -= 1 }
        }
    }

    private func note(_ error: KeyRegistryError) {
        let isNews = state.withLock { state in
            defer { state.isFailing = true }
            return !state.isFailing
        }
        guard isNews else { return }
        logger.warning(
            "MAX_SESSIONS_PER_DEVICE isn't kept in the whole fleet for now", metadata: [LogKeys.error: "\(error)"])
    }
}

// MARK: A copyover

extension FleetHoldings {
    /// In the process that is replaced: until it is taken back or ``beginAnew()`` nothing is written, and no session is
    /// ended for another gateway. A turn that is under way ends first: see ``isBusy``.
    package func hold(_ isHeld: Bool) {
        state.withLock { $0.isHeld = isHeld }
        alarm.ring()
    }

    package var isBusy: Bool { state.withLock { $0.isBusy } }

    /// Clients of which the store may have a row of this gateway.
    package var noted: [HolderMark] { state.withLock { Array($0.written.keys) + $0.inherited } }

    /// The rows are the other process' from now on. What is left here is noted under this one's new id.
    package func beginAnew() {
        state.withLock { state in
            for owner in state.written.values where state.waiting[owner] == nil { state.waiting[owner] = [] }
            (state.written, state.inherited) = ([:], [])
        }
        hold(false)
    }

    /// In the process that replaces another, before `run`.
    package func inherit(_ noted: [HolderMark]) { state.withLock { $0.inherited.formUnion(noted) } }

    package convenience init(of fleet: FleetStore, _ logger: Logger) {
        self.init(
            fleet.registry, member: fleet.member, incarnation: { fleet.fleet.identity.incarnation }, logger: logger)
    }
}
