import Admission
import BlockingWork
package import KeyStore
package import Logging
import Observability
import Synchronization
import WireText

/// This gateway among those of its fleet. Once a second it tells the store how it is, and learns how the others are.
///
/// A missed beat is no error: the next one makes up for it. Beats run as a task of the service, never on a reactor.
package final class FleetMember: Sendable {
    static let interval: Duration = .seconds(1)
    /// Of the last statement, at the end of the shutdown.
    private static let leaveMilliseconds = 1_000

    private let store: FleetStore
    /// For the operator.
    private let name: String
    private let version: String
    private let joined = MonotonicTime.now
    private let logger: Logger
    private let report: @Sendable () -> GatewayMember.Report
    private let sessions: (any MemberSessions)?
    private let mayBeForgotten: @Sendable () -> Void
    private let alarm = Alarm()
    private let state = Mutex(State())

    private struct State {
        var silent = SilentGateways()
        /// Gateways to which this one is connecting.
        var tried: Set<String> = []
        /// Of the store, at the last successful beat.
        var incarnation: StoreIncarnation?
        var isLeaving = false
        var isReplaced = false
        var isFailing = false
        var address: String?
        /// The last successful beat.
        var beaten: MonotonicTime?
        /// A moment of the store's time, and when this gateway had heard of it.
        var heard: (time: Int64, at: MonotonicTime)?
        /// Since when beats have succeeded without a break, in the store's time.
        var unbrokenSince: Int64 = 0
        /// What the next view is compared with.
        var settled: GatewayMembers?
    }

    /// - Parameters:
    ///   - name, version: for the operator.
    ///   - sessions: is told of what matters for sessions that the gateways have in common.
    ///   - mayBeForgotten: called after the first beat, and whenever the others may have taken this gateway for dead or
    ///     the store may have lost what it was told.
    ///   - report: how this gateway is; its address and whether it leaves are added.
    package init(
        _ store: FleetStore, name: String, version: String, sessions: (any MemberSessions)? = nil,
        mayBeForgotten: @escaping @Sendable () -> Void = {}, logger: Logger,
        report: @escaping @Sendable () -> GatewayMember.Report
    ) {
        self.store = store
        self.sessions = sessions
        self.mayBeForgotten = mayBeForgotten
        self.logger = logger
        self.report = report
        (self.name, self.version) = (name, version)
    }

    private var membership: GatewayMembership { state.withLock { self.membership(in: $0) } }

    /// One name for two rows would be read as a gateway that has started anew.
    private func membership(in state: State) -> GatewayMembership {
        .init(
            id: store.member.current, name: state.isReplaced ? name + " (replaced)" : name, version: version)
    }

    /// Of this process, among the fleet's gateways.
    package var id: String { store.member.current }

    // MARK: What the others are

    /// From memory, for any thread.
    package var silent: SilentGateways { state.withLock { $0.silent } }

    // MARK: What this one is

    /// Where other gateways reach this one; told at once.
    package func announce(address: String?) {
        state.withLock { $0.address = address }
        alarm.ring()
    }

    /// Tells of a change at once.
    package func hurry() { alarm.ring() }

    /// From now on the sessions that are left are closed.
    package func beginLeaving() {
        state.withLock { $0.isLeaving = true }
        alarm.ring()
    }

    /// Another process has this one's id and address. What is left here is told under a new id, until it ends.
    package func handedOver() {
        state.withLock { state in
            store.member.renew()
            (state.isReplaced, state.isLeaving, state.address) = (true, true, nil)
        }
        alarm.ring()
    }

    /// Until it is cancelled.
    package func run() async {
        while !Task.isCancelled {
            await beat()
            await alarm.pause(atMost: Self.interval)
        }
    }

    private func beat() async {
        var report = report()
        // In one step: nothing that concerns the new id is told under the former one.
        let (membership, incarnation, heard) = state.withLock { state in
            report.address = state.address
            if state.isLeaving { report.state = .leaving }
            return (self.membership(in: state), state.incarnation, state.heard)
        }
        let sent = MonotonicTime.now
        // Not later than in the store's time: the answer with `heard` was on its way for a while.
        let madeAt = heard.map { $0.time + Int64(clamping: (sent.nanoseconds - $0.at.nanoseconds) / 1_000_000) }
        report.announced = incarnation.flatMap { sessions?.areAnnounced(in: $0) ?? true ? $0 : nil }
        let uptime = Int64(clamping: (sent.nanoseconds - joined.nanoseconds) / 1_000_000)
        let found: GatewayMembers
        do throws(KeyRegistryError) {
            found = try await store.registry.beat(membership, uptime: uptime, report, madeAt: madeAt)
        } catch {
            return note(error)
        }
        hear(found, sentAt: sent, announced: report.announced)
        if report.state != .leaving { store.counterWindow.hear(found) }
    }

    private func hear(_ found: GatewayMembers, sentAt sent: MonotonicTime, announced: StoreIncarnation?) {
        let now = MonotonicTime.now
        let (before, seen, isForgotten, asked) = state.withLock { state in
            // The others see when beats were written: between the moments of sending and answering.
            let isUnbroken =
                found.incarnation == state.incarnation
                && state.beaten.map { now <= $0.advanced(by: Self.deadAfter) } ?? false
            // The store's clock may have been set back.
            if !isUnbroken || found.readAt < state.unbrokenSince { state.unbrokenSince = found.readAt }
            let (before, seen) = (state.settled, found.seen(since: state.unbrokenSince))
            if seen.isSettled || before == nil { state.settled = seen }
            (state.isFailing, state.beaten, state.incarnation) = (false, sent, found.incarnation)
            state.heard = (found.readAt, now)
            let asked = state.silent.note(seen, own: id).filter { one in
                state.tried.count < SilentGateways.maximumAttempts && state.tried.insert(one.id).inserted
            }
            return (before, seen, !isUnbroken || isRowNew(found, announced), asked)
        }
        // A connection that has just been used answers cheaply, so the feed is read now.
        store.alarm.ring()
        if isForgotten { tellAll(found.incarnation) }
        for one in asked { connect(to: one.id, at: one.address) }
        guard let before else { return }
        for event in seen.events(since: before) where event.member.id != id { tell(event) }
    }

    /// The store has lost this gateway's row, and with it perhaps those of its sessions.
    private func isRowNew(_ found: GatewayMembers, _ announced: StoreIncarnation?) -> Bool {
        announced != nil && found.members.first { $0.id == id }?.report.announced == nil
    }

    private func tellAll(_ incarnation: StoreIncarnation?) {
        sessions?.announceAll(in: incarnation)
        mayBeForgotten()
        alarm.ring()
    }

    /// Silence alone proves nothing: a gateway that has only lost its database still answers.
    private func connect(to gateway: String, at address: String) {
        guard let sessions else { return }
        Task {
            let isAnswered = await sessions.isAnswered(at: address)
            let isNews = state.withLock { state in
                state.tried.remove(gateway)
                if isAnswered == true { state.silent.answered(at: gateway) }
                return isAnswered == false && state.silent.nobodyAnswered(at: gateway)
            }
            if isNews { sessions.gone(gateway) }
        }
    }

    private func tell(_ event: GatewayMembers.Event) {
        log(event)
        if case .left(let member) = event { sessions?.gone(member.id) }
        // The process that this one has replaced may have written last.
        if event.hasGone, event.member.name == membership.name { mayBeForgotten() }
    }

    private static let deadAfter: Duration = .milliseconds(GatewayMembers.deadAfter)

    /// While the database can't be reached its driver says so. Other failures, such as missing rights, are logged once.
    private func note(_ error: KeyRegistryError) {
        guard case .unavailable(let reason) = error else { return }
        let isNews = state.withLock { state in
            defer { state.isFailing = true }
            return !state.isFailing
        }
        if isNews { logger.error("the fleet doesn't see this gateway", metadata: [LogKeys.error: "\(reason)"]) }
    }

    /// The last step of a shutdown, after `run` was cancelled. If it fails, the others see the heartbeats end.
    package func leave() async {
        do throws(KeyRegistryError) {
            try await store.registry.leave(membership, within: Self.leaveMilliseconds)
        } catch {
            return
        }
        await sessions?.left(id)
    }

    private func log(_ event: GatewayMembers.Event) {
        let metadata: Logger.Metadata = [LogKeys.gateway: "\(EscapedText(event.member.name))"]
        switch event {
        case .joined: logger.notice("a gateway joined the fleet", metadata: metadata)
        case .left: logger.notice("a gateway left the fleet", metadata: metadata)
        case .silent: logger.warning("a gateway of the fleet is silent", metadata: metadata)
        }
    }
}

extension GatewayMembers.Event {
    var member: GatewayMember {
        switch self {
        case .joined(let member), .left(let member), .silent(let member): member
        }
    }

    fileprivate var hasGone: Bool { if case .joined = self { false } else { true } }
}
