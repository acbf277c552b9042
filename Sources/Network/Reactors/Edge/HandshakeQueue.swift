import CLibwebsockets
import COpenSSL
import Glibc
import WireText

/// The connections of one reactor whose handshake has unread input (`HandshakeGate`), and the time budget that a turn
/// gives them.
///
/// It runs at the end of each turn, after the sessions' output is written, for up to `turnNanoseconds`. A flood of
/// handshakes therefore slows down handshakes only. Addresses are served in turn (`FairQueue`), so that a client with
/// its own address doesn't wait behind a flood. Reactor thread only.
final class HandshakeQueue: TimerTarget {
    /// The time for computing handshakes in one turn. One handshake may exceed it by its own cost.
    static let turnNanoseconds: UInt64 = 4_000_000
    /// The maximum number of waiting connections. One more ends the newest connection of the address with the most.
    static let maximumWaiting = 1_024
    /// With more than this waiting, an address that already has `crowdedPerAddress` waiting is refused.
    static let crowdedWaiting = 512
    /// A client opens two connections in sequence: one for the challenge, one for the upgrade.
    static let crowdedPerAddress = 2
    /// While others wait, one costly flight is computed after this many rounds of one later and one first flight.
    static let roundsPerCostly = 4

    private unowned let reactor: Reactor
    private let rates: HandshakeRates
    /// Connections waiting for their first flight to be read; the total rate limits these.
    private var beginning = FairQueue<AddressPrefix, EdgeConnection>()
    /// Later flights of handshakes in progress.
    private var continuing = FairQueue<AddressPrefix, EdgeConnection>()
    /// Later flights that cost many times as much (`CostlyFlight`). They have their own queue: otherwise a few hundred
    /// costly flights sent at once would delay all others by a second.
    private var costly = FairQueue<AddressPrefix, EdgeConnection>()
    private var roundsSinceCostly = 0
    private lazy var timer = ReactorTimer(on: reactor)
    /// Called for each refused handshake; the listener's handler counts them in `GatewayMetrics`.
    private let refused: () -> Void
    private var isAwaitingTurn = false
    private var firstFlights: FlightRate
    private var costlyFlights: FlightRate

    init(reactor: Reactor, rates: HandshakeRates, refused: @escaping () -> Void) {
        self.reactor = reactor
        firstFlights = FlightRate(take: rates.takeFromTotal)
        costlyFlights = FlightRate(take: rates.takeFromCostly)
        self.rates = rates
        self.refused = refused
    }

    var waiting: Int { count }

    private var count: Int { beginning.count + continuing.count + costly.count }

    /// Called before any TLS work.
    func admits(_ peer: SocketAddress) -> Bool {
        let source = peer.address.prefix
        if count > Self.crowdedWaiting, beginning.count(of: source) >= Self.crowdedPerAddress { return false }
        return rates.admits(source, at: reactor.now)
    }

    func append(_ connection: EdgeConnection) {
        let source = connection.peer.address.prefix
        if !connection.hasBegunHandshake {
            beginning.append(connection, of: source)
        } else if connection.isHandshakeCostly {
            costly.append(connection, of: source)
        } else {
            continuing.append(connection, of: source)
        }
        awaitTurn()
    }

    /// Not called from `append`: the connection may be inside OpenSSL then.
    private func endSurplus() {
        while count > Self.maximumWaiting {
            removeNewestOfLargest()?.endWaitingHandshake()
            refused()
        }
    }

    private func removeNewestOfLargest() -> EdgeConnection? {
        let largest = max(beginning.largestCount, continuing.largestCount, costly.largestCount)
        if costly.largestCount == largest { return costly.removeNewestOfLargest() }
        if continuing.largestCount == largest { return continuing.removeNewestOfLargest() }
        return beginning.removeNewestOfLargest()
    }

    /// A handshake succeeded: the client did as much computation as the gateway, so its address isn't part of a flood.
    func succeeded(_ peer: SocketAddress) {
        beginning.forget(peer.address.prefix)
        continuing.forget(peer.address.prefix)
        costly.forget(peer.address.prefix)
    }

    func remove(_ connection: EdgeConnection) {
        let source = connection.peer.address.prefix
        beginning.remove(of: source) { $0 === connection }
        continuing.remove(of: source) { $0 === connection }
        costly.remove(of: source) { $0 === connection }
    }

    private func awaitTurn() {
        guard !isAwaitingTurn else { return }
        isAwaitingTurn = true
        reactor.serveAtEndOfTurn(self)
    }

    /// At the end of a turn.
    func serve() {
        isAwaitingTurn = false
        guard count > 0 else { return }
        endSurplus()
        let end = reactor.now + Self.turnNanoseconds
        while reactor.now < end, serveRound() {}
        guard count > 0 else { return }
        awaitTurn()
        beginning.forEach { $0.pauseHandshake() }
        continuing.forEach { $0.pauseHandshake() }
        costly.forEach { $0.pauseHandshake() }
        awaitRates()
    }

    /// - Returns: false if there was nothing to do.
    private func serveRound() -> Bool {
        let later = continuing.removeFirst()
        later?.continueHandshake()
        let first = firstFlights.remove(from: &beginning, at: reactor.now)
        first?.continueHandshake()
        roundsSinceCostly += 1
        guard later == nil && first == nil || roundsSinceCostly >= Self.roundsPerCostly else { return true }
        roundsSinceCostly = 0
        let last = costlyFlights.remove(from: &costly, at: reactor.now)
        last?.continueHandshake()
        return later != nil || first != nil || last != nil
    }

    /// Starts the next turn at once, unless all waiting flights wait for a rate limit.
    private func awaitRates() {
        let now = reactor.now
        let times = [
            continuing.isEmpty ? nil : now, beginning.isEmpty ? nil : firstFlights.reserved ?? now,
            costly.isEmpty ? nil : costlyFlights.reserved ?? now,
        ]
        guard let next = times.compactMap(\.self).min() else { return }
        next > now ? timer.arm(at: next, calling: self) : reactor.wakeForNextTurn()
    }

    /// The timer only wakes the loop; the work is done at the end of the turn.
    func timerFired(now: UInt64) {}
}

/// Limits the rate of one kind of flight.
private struct FlightRate {
    /// Reserves the next slot of the rate: `HandshakeRates.takeFromTotal` or `takeFromCostly`.
    private let take: (_ now: UInt64) -> UInt64
    /// The time of a slot that was reserved but not used yet, in nanoseconds.
    private(set) var reserved: UInt64?

    init(take: @escaping (_ now: UInt64) -> UInt64) { self.take = take }

    /// - Returns: nil if nothing is waiting, or if the slot's time has not come yet.
    mutating func remove<Element>(from queue: inout FairQueue<AddressPrefix, Element>, at now: UInt64) -> Element? {
        guard !queue.isEmpty else { return nil }
        let time = reserved ?? take(now)
        reserved = time > now ? time : nil
        return reserved == nil ? queue.removeFirst() : nil
    }
}

/// Ends connections whose client repeatedly requests new keys (RFC 8446 §4.6.3). Each request costs the gateway work
/// and a response, and never appears as application data. Renegotiation requests (TLS 1.2) count too.
enum HandshakeFlood {
    /// The limit for the life of a connection. TLS stacks request new keys only after hundreds of gigabytes.
    static let maximumMessages = 16

    private static let clientHello: UInt8 = 1
    private static let keyUpdate: UInt8 = 24
    /// The number of requests, as a bit pattern.
    private static let countIndex = CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, nil)

    static func watch(_ context: OpaquePointer) {
        SSL_CTX_set_msg_callback(context) { isOurs, _, contentType, bytes, count, ssl, _ in
            guard contentType == SSL3_RT_HANDSHAKE, count > 0, let bytes, let ssl else { return }
            guard isOurs == 0 else {
                return CostlyFlight.sent(UnsafeRawBufferPointer(start: bytes, count: count), on: ssl)
            }
            let type = bytes.load(as: UInt8.self)
            guard type == HandshakeFlood.keyUpdate || HandshakeFlood.isRenegotiation(type, ssl) else { return }
            HandshakeFlood.count(ssl)
        }
    }

    /// A ClientHello after the first handshake, which is complete once the client's Finished is known.
    private static func isRenegotiation(_ type: UInt8, _ ssl: OpaquePointer) -> Bool {
        type == clientHello && SSL_get_peer_finished(ssl, nil, 0) > 0
    }

    /// Called inside OpenSSL, which reads such messages as long as they arrive. Marking the session as shut down stops
    /// that: OpenSSL reads no further, and libwebsockets closes the connection.
    private static func count(_ ssl: OpaquePointer) {
        let number = Int(bitPattern: SSL_get_ex_data(ssl, countIndex)) + 1
        SSL_set_ex_data(ssl, countIndex, UnsafeMutableRawPointer(bitPattern: number))
        guard number > maximumMessages else { return }
        SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        shutdown(SSL_get_fd(ssl), Int32(SHUT_RDWR))
    }
}
