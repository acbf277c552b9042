import Admission
import Glibc
import KeyStore
import Logging
import Reactors
import Relay
import Synchronization

/// In a gateway that replaces another one: takes over its sockets, secrets and sessions.
package final class Takeover: Sendable {
    private let channel: HandoverChannel
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
        var sockets = InheritedSockets()
        sockets.accepts = false
        var member: String?
        while true {
            let (record, found) = try channel.next()
            if case .prepare = record { break }
            if case .member(let id) = record {
                member = id
                continue
            }
            guard case .listener(let use, let ownsFile) = record, let descriptor = found.first, found.count == 1 else {
                throw HandoverFailure("the other gateway sent no listening socket")
            }
            try sockets.add(descriptor, for: use, ownsFile: ownsFile)
        }
        self.sockets = sockets
        self.member = member
    }

    /// The other gateway goes on serving.
    package func refuse(_ reason: String) { try? channel.send(.refused(reason: reason)) }

    /// Takes over what the other gateway hands over; when it returns, this one serves. Blocking.
    package func complete(_ gateway: Gateway) throws {
        do {
            try channel.send(.ready(format: HandoverRecord.format, version: Gateway.version))
            let (count, rows) = try receive(into: gateway)
            try channel.send(.staged)
            guard case .commit = try channel.next().record else {
                throw HandoverFailure("the other gateway took its sessions back")
            }
            // From here on this process alone has the sessions, whether the other one hears of it or not.
            try? channel.send(.serving)
            gateway.server.beginRestored()
            gateway.inherit(rows)
            gateway.setAccepting(true)
            gateway.logger.notice("took over from another process", metadata: ["count": "\(count)"])
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

    /// - Returns: how many sessions there are, and what the fleet's store has beside them.
    private func receive(into gateway: Gateway) throws -> (sessions: Int, rows: CarriedRows) {
        var (count, rows) = (0, CarriedRows())
        // The other gateway waits for requests and clients first, as long as its own settings allow.
        var (record, sockets) = try channel.next(within: Self.firstMilliseconds)
        while true {
            switch record {
            case .gateway(let state): try gateway.restore(state)
            case .tickets(let tickets): try gateway.restore(tickets)
            case .rows(let more):
                rows.sessions += more.sessions
                rows.holders += more.holders
            case .session(let bytes):
                guard let target = sockets.first, sockets.count == 1 else {
                    throw HandoverFailure("a session came without its target's socket")
                }
                try gateway.server.restore(bytes, target: target, number: count)
                count += 1
            case .complete(let sessions):
                guard sessions == count else { throw HandoverFailure("\(count) sessions came in place of \(sessions)") }
                return (count, rows)
            default: throw HandoverFailure("the other gateway took its sessions back")
            }
            (record, sockets) = try channel.next()
        }
    }

    private static let firstMilliseconds = 600_000
}

extension Gateway {
    /// What this gateway must not forget, beside its sessions and tickets.
    var carried: CarriedGateway {
        CarriedGateway(challenges: state.challenges.carried, tokens: state.tokens?.carried)
    }

    func restore(_ carried: CarriedGateway) throws {
        try state.challenges.restore(carried.challenges)
        if let tokens = carried.tokens { try state.tokens?.restore(tokens) }
    }

    /// In a fleet: what its store has under this gateway's id.
    func carriedRows(but frozen: [FrozenSession]) -> [CarriedRows] {
        let (sessions, holders) = (server.announcedSessions(but: frozen), state.holdings?.noted.map(\.bytes) ?? [])
        return stride(from: 0, to: max(sessions.count, holders.count), by: CarriedRows.maximum).map { first in
            CarriedRows(
                sessions: Array(sessions.dropFirst(first).prefix(CarriedRows.maximum)),
                holders: Array(holders.dropFirst(first).prefix(CarriedRows.maximum)))
        }
    }

    func inherit(_ rows: CarriedRows) {
        for id in rows.sessions { state.link?.sessions.ended(id) }
        state.holdings?.inherit(rows.holders.compactMap { HolderMark(bytes: $0) })
    }

    var carriedTickets: [CarriedTicket] { state.tickets.carried(by: server.carrier) }

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
