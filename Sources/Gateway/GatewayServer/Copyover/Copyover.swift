import Admission
import BlockingWork
import FoundationEssentials
import Glibc
import Logging
import Observability
import Reactors
import Relay
import Settings
import Synchronization

/// In a gateway that is replaced: starts the new program, and hands it the listening sockets and all sessions that can
/// go. Blocking; on a thread of its own.
///
/// Whatever goes wrong before the new process has said that it serves is taken back. Until the new process is ready
/// nothing changes here at all. From then on new connections wait, and clients of sessions that can go are sent away;
/// taken back, they find their sessions here.
struct Copyover {
    private let gateway: Gateway
    private let settings: LiveValues<CopyoverSection>
    private let start = Reactor.monotonicNow

    init(_ gateway: Gateway) {
        self.gateway = gateway
        settings = gateway.current.now.live.copyover
    }

    private var server: RelayServer { gateway.server }

    /// - Parameter program: nil: the one that this process runs.
    func perform(_ program: String?) -> CopyoverOutcome {
        guard !gateway.state.drain.isDraining else { return .unchanged("the gateway is stopping") }
        // Its end is that of all processes of its namespace: of a container.
        guard getpid() != 1 else {
            return .unchanged(
                "this is the first process of its container, which ends with it: start the container anew")
        }
        guard !gateway.state.drain.isHandingOver else {
            return .unchanged("this process has been replaced already: ask the new one")
        }
        guard let program = program ?? gateway.program else {
            return .unchanged("the program of this process isn't known: name one")
        }
        record("upgrade_begun", .done, "with the program \(program)")
        do {
            let report = try handOver(to: program)
            record(
                "upgrade_done", .done,
                "process \(report.processID) (\(report.version)) serves: \(report.moved) sessions went,"
                    + " \(report.staying) stay")
            return .handedOver(report)
        } catch {
            let reason = "\(HandoverFailure(error))"
            gateway.logger.error("the upgrade failed, and this process goes on", metadata: [LogKeys.error: "\(reason)"])
            record("upgrade_failed", .failed, reason)
            return .unchanged(reason)
        }
    }

    /// This process knows the outcome whatever becomes of the other one.
    private func record(_ reason: String, _ outcome: AuditEntry.Outcome, _ detail: String) {
        gateway.recordCopyover(reason, outcome, detail)
    }

    private func handOver(to program: String) throws -> CopyoverReport {
        gateway.logger.notice("upgrade: starting the new process", metadata: ["program": "\(program)"])
        guard let (channel, there) = HandoverChannel.pair() else { throw HandoverFailure("no descriptors are left") }
        let process: NewProcess
        do {
            defer { closeSocket(there) }
            process = try NewProcess.start(
                program, channel: there,
                environment: ServiceManager.environment(ofSuccessor: ProcessInfo.processInfo.environment))
        }
        let version: String
        do {
            version = try prepare(channel)
            gateway.logger.notice("upgrade: the new process is ready", metadata: [LogKeys.version: "\(version)"])
        } catch {
            let failure = "\(HandoverFailure(error))"
            throw HandoverFailure("the new process isn't ready: \(failure); it \(process.end())")
        }
        return try handOver(over: channel, to: process, version)
    }

    // MARK: Until the new process is ready

    /// - Returns: the new process' version.
    private func prepare(_ channel: HandoverChannel) throws -> String {
        try channel.send(.greeting(format: HandoverRecord.format, version: Gateway.version))
        if let id = gateway.state.fleet.memberID { try channel.send(.member(id: id)) }
        for use in ListenerUse.allCases {
            for socket in gateway.listeningSockets(for: use) {
                try channel.send(.listener(use, ownsFile: gateway.ownsFile(of: use)), sockets: [socket])
            }
        }
        try channel.send(.prepare)
        switch try channel.next(within: settings.readyMilliseconds).record {
        case .ready(HandoverRecord.format, let version): return version
        case .ready(let format, let version):
            throw HandoverFailure("\(version) takes over state of form \(format), not \(HandoverRecord.format)")
        case .refused(let reason): throw HandoverFailure(reason)
        default: throw HandoverFailure("it said something else than that it is ready")
        }
    }

    // MARK: From then on

    private func handOver(
        over channel: HandoverChannel, to process: NewProcess, _ version: String
    ) throws -> CopyoverReport {
        gateway.setAccepting(false)
        gateway.pool.setLeaving(true)
        var frozen: [FrozenSession] = []
        do {
            settle { server.connectionsInHTTP == 0 && server.registrationCount == 0 }
            server.setHandingOver(true)
            // A registration or token that is still being made may use up a challenge or a proof after they are written
            // down.
            settle { server.registrationCount == 0 }
            guard server.registrationCount == 0 else { throw HandoverFailure("registrations wait for the disk") }
            sendSessionsAway()
            holdFleet()
            frozen = try freeze()
            gateway.logger.notice("upgrade: sessions rest", metadata: [LogKeys.count: "\(frozen.count)"])
            try send(frozen, channel)
        } catch {
            let end = process.end()
            takeBack(frozen)
            throw HandoverFailure("the new process failed: \(HandoverFailure(error)); it \(end)")
        }
        // A shutdown that begins now waits; one that has begun already goes first.
        return try gateway.handingOver.withLock { _ in
            guard !gateway.state.drain.isDraining else {
                let end = process.end()
                takeBack(frozen)
                throw HandoverFailure("the gateway is stopping; the new process \(end)")
            }
            return try handOver(frozen, over: channel, to: process, version)
        }
    }

    private func handOver(
        _ frozen: [FrozenSession], over channel: HandoverChannel, to process: NewProcess, _ version: String
    ) throws -> CopyoverReport {
        switch commit(channel, process) {
        case .settled:
            gateway.successor.withLock { $0 = channel }
            return conclude(frozen, process, version)
        case .notBegun(let end):
            takeBack(frozen)
            throw HandoverFailure("the new process didn't begin to serve; it \(end)")
        case .died(let end):
            // It may have read from the targets: what it has read is lost, and nobody may go on behind it.
            server.release(frozen)
            takeBack([])
            throw HandoverFailure(
                "the new process \(end) after it had begun to serve: \(frozen.count) sessions are lost with it")
        }
    }

    /// Waits until `isDone`, for a tenth of `COPYOVER_READY_MS` at most.
    private func settle(_ isDone: () -> Bool) {
        let end = Reactor.monotonicNow + UInt64(settings.settleMilliseconds) * 1_000_000
        while !isDone(), Reactor.monotonicNow < end { usleep(Self.lookMicroseconds) }
    }

    private static let lookMicroseconds: UInt32 = 5_000

    private func sendSessionsAway() {
        settle { server.sendSessionsAway().isSettled }
        server.dropSentAway()
        // A connection that is dropped ends in a later turn of its reactor. A session that still had its client would
        // stay behind.
        settle { server.sessionsSentAway == 0 }
    }

    /// What the fleet's store has yet to be told of this process is told, and then nothing more.
    private func holdFleet() {
        let fleet = gateway.state.fleet
        fleet.hold()
        settle { fleet.isSettled }
    }

    /// A target's compressed stream may be inside a block: it is read on for a while. Clients of such sessions were
    /// sent away already, and the new process wouldn't know them.
    ///
    /// - Throws: if one of them stays inside a block.
    private func freeze() throws -> [FrozenSession] {
        var frozen = server.freezeSessions()
        settle {
            guard server.sessionsToFreeze > 0 else { return true }
            frozen += server.freezeSessions()
            return false
        }
        let left = server.sessionsToFreeze
        guard left == 0 else {
            server.thaw(frozen)
            throw HandoverFailure("compressed streams of \(left) sessions stayed inside a block: try again")
        }
        return frozen
    }

    private func send(_ frozen: [FrozenSession], _ channel: HandoverChannel) throws {
        try channel.send(.gateway(gateway.carried))
        let tickets = gateway.carriedTickets
        for first in stride(from: 0, to: tickets.count, by: Self.ticketsPerRecord) {
            try channel.send(.tickets(Array(tickets[first...].prefix(Self.ticketsPerRecord))))
        }
        for rows in gateway.carriedRows(but: frozen) { try channel.send(.rows(rows)) }
        for session in frozen { try channel.send(.session(session.bytes), sockets: [session.target]) }
        try channel.send(.complete(sessions: frozen.count))
        gateway.logger.notice("upgrade: all sessions are sent", metadata: [LogKeys.count: "\(frozen.count)"])
        switch try channel.next().record {
        case .staged: return
        case .refused(let reason): throw HandoverFailure(reason)
        default: throw HandoverFailure("it said something else than that it has the sessions")
        }
    }

    private static let ticketsPerRecord = 500

    private enum Commitment {
        /// The new process serves, and nothing more can fail.
        case settled
        /// It has touched no session. The text says how it has ended, after "it".
        case notBegun(String)
        /// It has begun, and then ended.
        case died(String)
    }

    private func commit(_ channel: HandoverChannel, _ process: NewProcess) -> Commitment {
        do {
            try channel.send(.commit)
            guard case .serving = try channel.next().record else { return .notBegun(process.end()) }
        } catch {
            // It may have begun just now: only its end and what it has said before tell.
            let end = process.end()
            guard case .serving? = try? channel.next(within: 1_000).record else { return .notBegun(end) }
            return .died(end)
        }
        guard case .settled? = try? channel.next().record else { return .died(process.end()) }
        return .settled
    }

    /// Only when the new process has ended: if this one were killed right after it had read from a target, that one
    /// would go on with the state of before.
    private func takeBack(_ frozen: [FrozenSession]) {
        server.thaw(frozen)
        gateway.state.fleet.takeBack()
        server.setHandingOver(false)
        gateway.pool.setLeaving(false)
        gateway.setAccepting(true)
    }

    // MARK: When the new process serves

    private func conclude(_ frozen: [FrozenSession], _ process: NewProcess, _ version: String) -> CopyoverReport {
        // While this process still is the one that the manager listens to.
        gateway.manager.tellReplaced(by: process.id)
        // In this order: nothing is announced under the new id.
        server.stopAnnouncing()
        gateway.state.fleet.handedOver()
        server.release(frozen)
        gateway.state.fleet.beginAnew()
        gateway.pool.stopListening()
        server.stopListeningInternally(keepsFile: true)
        gateway.control?.close(keepsFile: true)
        let report = CopyoverReport(
            processID: process.id, formerID: getpid(), version: version, moved: frozen.count,
            staying: server.sessionsHere, stayMinutes: settings.stayMinutes,
            milliseconds: Int((Reactor.monotonicNow - start) / 1_000_000))
        gateway.logger.notice(
            "upgrade: another process serves from here on",
            metadata: [
                "pid": "\(process.id)", LogKeys.version: "\(version)", LogKeys.count: "\(report.moved)",
                "staying": "\(report.staying)", LogKeys.milliseconds: "\(report.milliseconds)",
            ])
        return report
    }
}

extension Gateway {
    /// In the audit log.
    func recordCopyover(_ reason: String, _ outcome: AuditEntry.Outcome, _ detail: String) {
        state.audit.record(
            AuditEntry(
                time: .now(), event: .operation, outcome: outcome, method: "none", reason: reason, detail: detail,
                requestID: "-", address: "-"))
    }

    /// Performs copyovers until the task is cancelled or one has succeeded; then this process ends when its last
    /// session has.
    func copyOverWhenAsked() async {
        for await (program, reply) in copyovers.requests {
            let outcome = Copyover(self).perform(program)
            reply(outcome)
            guard case .handedOver(let report) = outcome else { continue }
            obeySuccessor()
            await endWhenSilent(report)
        }
    }

    /// Reloads when the new process does, as long as there are sessions here: block lists and revocation lists concern
    /// these too.
    private func obeySuccessor() {
        guard let channel = successor.withLock({ $0 }) else { return }
        let reloads = reloads
        Task(executorPreference: BlockingThreads("successor")) {
            while true {
                do {
                    if case .reload = try channel.next(within: Self.successorMilliseconds).record {
                        reloads.ask { _ in }
                    }
                } catch HandoverFault.timedOut {
                    continue
                } catch {
                    return
                }
            }
        }
    }

    private static let successorMilliseconds = 3_600_000

    /// The rest is the usual end of the process. Its shutdown waits for nobody who isn't here.
    private func endWhenSilent(_ report: CopyoverReport) async {
        let end = ContinuousClock.now + .seconds(report.stayMinutes * 60)
        let answered = ContinuousClock.now + Self.answerLimit
        while ContinuousClock.now < end || ContinuousClock.now < answered {
            let sessions = await server.sessionCount()
            // Requests that were under way need no more than this.
            if sessions == 0, server.connectionsInHTTP == 0 || ContinuousClock.now >= answered { break }
            try? await Task.sleep(for: Self.look, clock: .continuous)
            if Task.isCancelled { return }
        }
        server.closeStayingSessions()
        kill(getpid(), SIGTERM)
    }

    private static let look: Duration = .milliseconds(200)
    private static let answerLimit: Duration = .seconds(10)
}
