import Admission
import Glibc
import KeyStore
import Logging
import Observability
import Reactors
import Relay
import Synchronization

/// In a gateway that replaces another one: takes over its sockets, secrets and sessions.
///
/// If the other one is killed meanwhile this one serves all the same: see `succeed`. Whether it was killed the kernel
/// says, not the channel: two processes never have one session.
package final class Takeover: Sendable {
    private let channel: HandoverChannel
    private let other: OtherProcess
    /// The listening sockets of the other gateway.
    package let sockets: InheritedSockets
    /// The id of the other gateway in its fleet.
    package let member: String?

    /// - Returns: nil in a process that replaces none.
    /// - Throws: words for the operator. The other process goes on serving.
    package static func begin(_ environment: [String: String]) throws(SocketFault) -> Takeover? {
        defer { unsetenv(NewProcess.variable) }
        guard let text = environment[NewProcess.variable] else { return nil }
        guard let descriptor = Int32(text), HandoverChannel.isChannel(descriptor) else {
            throw SocketFault("\(NewProcess.variable) is set, but there is no gateway to replace")
        }
        // Until they are trapped, after the sessions are here, these would end this process.
        for number in [SIGHUP, SIGUSR2] { signal(number, SIG_IGN) }
        do {
            return try Takeover(HandoverChannel(descriptor))
        } catch {
            throw SocketFault("\(HandoverFailure(error))")
        }
    }

    private init(_ channel: HandoverChannel) throws {
        self.channel = channel
        other = OtherProcess(madeBy: channel)
        var first = FirstWords()
        first.sockets.accepts = false
        do {
            try first.read(from: channel)
        } catch HandoverFault.ended where other.ends(within: Self.endMilliseconds) {
            // This process opens what hasn't come.
        }
        (sockets, member) = (first.sockets, first.member)
    }

    /// What the other gateway says before this one reads its settings.
    private struct FirstWords {
        var sockets = InheritedSockets()
        var member: String?

        mutating func read(from channel: HandoverChannel) throws {
            guard case .greeting(let format, let version) = try channel.next().record else {
                throw HandoverFailure("the other gateway said something else than a greeting")
            }
            guard format == HandoverRecord.format else {
                let reason =
                    "this program (\(Gateway.version)) takes over state of form \(HandoverRecord.format), and"
                    + " \(version) has form \(format)"
                try? channel.send(.refused(reason: reason))
                throw HandoverFailure(reason)
            }
            while true {
                let (record, found) = try channel.next()
                switch record {
                case .prepare: return
                case .member(let id): member = id
                case .listener(let use, let ownsFile) where found.count == 1:
                    try sockets.add(found[0], for: use, ownsFile: ownsFile)
                default: throw HandoverFailure("the other gateway sent no listening socket")
                }
            }
        }
    }

    /// The other gateway goes on serving.
    package func refuse(_ reason: String) { try? channel.send(.refused(reason: reason)) }

    /// Takes over what the other gateway hands over; when it returns, this one serves. Blocking.
    package func complete(_ gateway: Gateway) throws {
        var received = Received()
        do {
            do {
                try receive(&received, into: gateway)
            } catch HandoverFault.ended where other.ends(within: Self.endMilliseconds) {
                succeed(&received, gateway)
            }
            // From here on this process alone has the sessions, whether the other one hears of it or not.
            try? channel.send(.serving)
            gateway.server.beginRestored()
            gateway.state.fleet.inherit(received.rows)
            gateway.setAccepting(true)
            gateway.logger.notice("took over from another process", metadata: ["count": "\(received.sessions)"])
            gateway.predecessor.withLock { $0 = channel }
            // What the other one has read since this one read its settings.
            gateway.reloads.ask { _ in }
            try? channel.send(.settled)
        } catch {
            let failure = HandoverFailure(error)
            refuse("\(failure)")
            throw SocketFault("the other gateway goes on: \(failure)")
        }
    }

    private struct Received {
        var sessions = 0
        /// What the fleet's store has beside them.
        var rows = CarriedRows()
        /// The other gateway has given away all that it has, and touches none of it before this process has ended.
        var isComplete = false
    }

    /// Returns with the order to begin.
    private func receive(_ received: inout Received, into gateway: Gateway) throws {
        try channel.send(.ready(format: HandoverRecord.format, version: Gateway.version))
        // The other gateway waits for requests and clients first, as long as its own settings allow.
        var (record, sockets) = try channel.next(within: Self.firstMilliseconds)
        while try take(record, sockets, &received, into: gateway) { (record, sockets) = try channel.next() }
        received.isComplete = true
        try channel.send(.staged)
        guard case .commit = try channel.next().record else {
            throw HandoverFailure("the other gateway took its sessions back")
        }
    }

    /// - Returns: false behind the last one.
    private func take(
        _ record: HandoverRecord, _ sockets: [Int32], _ received: inout Received, into gateway: Gateway
    ) throws -> Bool {
        switch record {
        case .gateway(let state): try gateway.restore(state)
        case .tickets(let tickets): try gateway.restore(tickets)
        case .rows(let more):
            received.rows.sessions += more.sessions
            received.rows.holders += more.holders
        case .session(let bytes):
            guard let target = sockets.first, sockets.count == 1 else {
                throw HandoverFailure("a session came without its target's socket")
            }
            try gateway.server.restore(bytes, target: target, number: received.sessions)
            received.sessions += 1
        case .complete(let sessions):
            guard sessions == received.sessions else {
                throw HandoverFailure("\(received.sessions) sessions came in place of \(sessions)")
            }
            return false
        default: throw HandoverFailure("the other gateway took its sessions back")
        }
        return true
    }

    /// The other gateway was killed. Nobody else accepts on these sockets or reads from these targets any more: this
    /// process is free to. It goes on with the sessions if all of them are here. Otherwise those that are lost have no
    /// other end than those that came, and the fleet hears of it as of any dead gateway.
    private func succeed(_ received: inout Received, _ gateway: Gateway) {
        gateway.manager.tell(.mainProcess(getpid()))
        guard !received.isComplete else {
            gateway.logger.warning(
                "the process before has ended after it had handed over everything",
                metadata: [LogKeys.count: "\(received.sessions)"])
            return gateway.recordCopyover(
                "upgrade_done", .done, "the process before has ended: \(received.sessions) sessions went")
        }
        gateway.logger.error("the process before has ended during the upgrade, and its sessions with it")
        gateway.recordCopyover("upgrade_failed", .failed, "the process before has ended, and its sessions with it")
        gateway.state.fleet.succeed()
        gateway.server.dropRestored()
        received = Received()
    }

    private static let firstMilliseconds = 600_000
    /// Behind the end of its channel: the kernel closes a process' files shortly before it says that the process has
    /// ended.
    private static let endMilliseconds: Int32 = 5_000
}

extension Gateway {
    /// What this gateway must not forget, beside its sessions and tickets.
    var carried: CarriedGateway {
        CarriedGateway(
            challenges: state.challenges.carried, tokens: state.tokens?.carried,
            passkeys: state.passkeyChallenges.carried)
    }

    func restore(_ carried: CarriedGateway) throws {
        try state.challenges.restore(carried.challenges)
        if let passkeys = carried.passkeys { try state.passkeyChallenges.restore(passkeys) }
        if let tokens = carried.tokens { try state.tokens?.restore(tokens) }
    }

    /// In a fleet: what its store has under this gateway's id.
    func carriedRows(but frozen: [FrozenSession]) -> [CarriedRows] {
        let (sessions, holders) = (server.announcedSessions(but: frozen), state.fleet.noted.map(\.bytes))
        return stride(from: 0, to: max(sessions.count, holders.count), by: CarriedRows.maximum).map { first in
            CarriedRows(
                sessions: Array(sessions.dropFirst(first).prefix(CarriedRows.maximum)),
                holders: Array(holders.dropFirst(first).prefix(CarriedRows.maximum)))
        }
    }

    var carriedTickets: [CarriedTicket] {
        state.tickets.carried(by: server.carrier) + state.tickets.carriedNext(at: .now)
    }

    func restore(_ tickets: [CarriedTicket]) throws {
        let carrier = server.carrier
        let now = MonotonicTime(nanoseconds: Reactor.monotonicNow)
        for ticket in tickets where try !state.tickets.restore(ticket, by: carrier, at: now) {
            logger.warning("a ticket of the process before has no room")
        }
    }

    /// Without accepting, connections wait in the kernel's queues.
    func setAccepting(_ accepts: Bool) {
        pool.setAccepting(accepts)
        server.setAcceptingInternally(accepts)
        control?.setAccepting(accepts)
    }
}
