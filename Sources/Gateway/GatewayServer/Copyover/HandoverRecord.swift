import Admission
import Reactors
import StateCoding

/// What a gateway and its successor say to each other: one record of `HandoverChannel` each.
///
/// ```
/// old                                         new
///  │── greeting, member, listener…, prepare ──▶│  reads its settings, opens the store, makes all that can fail
///  │◀────────────────────────── ready ─────────│
///  │  (accepts no more, sends clients away, freezes)
///  │── gateway, tickets…, rows…, session…, ───▶│  makes the sessions, which don't run yet
///  │   complete                                │
///  │◀────────────────────────── staged ────────│
///  │── commit ────────────────────────────────▶│
///  │◀────────────────────────── serving ───────│  (the sessions run, connections are accepted)
///  │◀────────────────────────── settled ───────│
///  │  (stops listening)
///  │◀────────────────────────── reload… ───────│  as long as sessions stay in the old gateway
/// ```
/// Until `serving` has come, the old gateway can take everything back; the new one has read nothing from any socket
/// then. Until `settled` has come, the old one can still serve others if the new one dies. It takes sessions back only
/// when the new process has ended; so behind `complete` the new one may go on with them as soon as it knows that the
/// old process has ended.
enum HandoverRecord: Codable, Sendable {
    /// The number of the form of all records but this one, `ready` and `refused`. Change it with every change to a type
    /// that crosses.
    static let format = 4

    // From the old process.
    case greeting(format: Int, version: String)
    /// The id of the gateway in its fleet, if it has one.
    case member(id: String)
    /// With one socket.
    ///
    /// - Parameter ownsFile: the gateway removes the file of a Unix socket at its end.
    case listener(ListenerUse, ownsFile: Bool)
    case prepare
    case gateway(CarriedGateway)
    case tickets([CarriedTicket])
    case rows(CarriedRows)
    /// With one socket, its target's.
    case session([UInt8])
    case complete(sessions: Int)
    case commit

    // From the new one.
    case ready(format: Int, version: String)
    case refused(reason: String)
    case staged
    case serving
    case settled
    /// Read the settings again.
    case reload
}

/// What a gateway must not forget, beside its sessions and tickets.
struct CarriedGateway: Codable, Sendable {
    var challenges: CarriedChallenges
    /// Nil without a store.
    var tokens: CarriedTokenState?
    /// Nil of programs of before.
    var passkeys: CarriedPasskeyChallenges?
}

/// What the fleet's store has under the id of the gateway, beside what belongs to sessions that go. The new process
/// makes it true.
struct CarriedRows: Codable, Sendable {
    static let maximum = 1_000

    /// Ids of sessions that stay: no other gateway finds them from now on.
    var sessions: [String] = []
    /// Marks of clients that have sessions.
    var holders: [[UInt8]] = []
}

extension HandoverChannel {
    func send(_ record: HandoverRecord, sockets: [Int32] = [], within milliseconds: Int = pieceMilliseconds) throws {
        try send(try StateEncoder.bytes(of: record), sockets: sockets, within: milliseconds)
    }

    /// The caller owns the sockets.
    func next(within milliseconds: Int = pieceMilliseconds) throws -> (record: HandoverRecord, sockets: [Int32]) {
        let (bytes, sockets) = try receive(within: milliseconds)
        do {
            return (try StateDecoder.decode(HandoverRecord.self, from: bytes), sockets)
        } catch {
            for socket in sockets { closeSocket(socket) }
            throw error
        }
    }

    /// Between two records, where neither process has anything to wait for.
    static var pieceMilliseconds: Int { 20_000 }
}

/// Why a hand-over went wrong, for the log and the operator.
struct HandoverFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    init(_ error: any Error) {
        description = (error as? HandoverFailure)?.description ?? "\(error)"
    }
}
