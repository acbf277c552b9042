import CLibwebsockets

/// The connections of one reactor whose handshake has input that was not read yet (`HandshakeGate`), and how much of a turn they may have.
///
/// It works at the end of each turn, after the sessions' output was written, and takes up to `turnNanoseconds`: a flood of handshakes slows
/// handshakes down, and nobody else. Addresses are served in turn (`FairQueue`), so that a client at an address of its own doesn't wait
/// behind those of a flood. Reactor thread only.
final class HandshakeQueue: TimerTarget {
    /// Of a turn, for computing handshakes. One may go over it by what it costs itself.
    static let turnNanoseconds: UInt64 = 4_000_000
    /// Connections that wait at once: one more ends the newest of the address that has most of them.
    static let maximumWaiting = 1_024
    /// With more waiting, an address that has `crowdedPerAddress` waiting gets no further one.
    static let crowdedWaiting = 512
    /// A client's own connections one behind the other: the challenge, then the upgrade.
    static let crowdedPerAddress = 2
    /// While others wait, one costly flight is computed after so many rounds of one later and one first flight.
    static let roundsPerCostly = 4

    private unowned let reactor: Reactor
    private let rates: HandshakeRates
    /// Their first flight, which the total rate counts.
    private var beginning = FairQueue<ArraySlice<UInt8>, EdgeConnection>()
    /// Later flights of handshakes that have begun.
    private var continuing = FairQueue<ArraySlice<UInt8>, EdgeConnection>()
    /// Later flights that cost many times as much (`CostlyFlight`). They don't wait in line with the others: a few hundred that a
    /// flood sends in one instant would keep everybody waiting for a second.
    private var costly = FairQueue<ArraySlice<UInt8>, EdgeConnection>()
    private var roundsSinceCostly = 0
    private lazy var timer = ReactorTimer(on: reactor)
    /// Counted in `GatewayMetrics` by the listener's handler.
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

    private var count: Int { beginning.count + continuing.count + costly.count }

    /// Asked before TLS costs anything.
    func admits(_ peer: PeerAddress) -> Bool {
        if count > Self.crowdedWaiting, beginning.count(of: peer.limitKey) >= Self.crowdedPerAddress { return false }
        return rates.admits(peer.limitKey, at: reactor.now)
    }

    func append(_ connection: EdgeConnection) {
        let source = connection.peer.limitKey
        if !connection.hasBegunHandshake {
            beginning.append(connection, of: source)
        } else if connection.isHandshakeCostly {
            costly.append(connection, of: source)
        } else {
            continuing.append(connection, of: source)
        }
        awaitTurn()
    }

    /// Not where it is found: a connection may be inside OpenSSL then.
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

    /// A handshake has ended well: the client has computed as much as the gateway, and its address is no flood's.
    func succeeded(_ peer: PeerAddress) {
        beginning.forget(peer.limitKey)
        continuing.forget(peer.limitKey)
        costly.forget(peer.limitKey)
    }

    func remove(_ connection: EdgeConnection) {
        let source = connection.peer.limitKey
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

    /// - Returns: false where there was nothing to do.
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

    /// The next turn follows at once, unless all that waits does so for a rate.
    private func awaitRates() {
        let now = reactor.now
        let times = [
            continuing.isEmpty ? nil : now, beginning.isEmpty ? nil : firstFlights.reserved ?? now,
            costly.isEmpty ? nil : costlyFlights.reserved ?? now,
        ]
        guard let next = times.compactMap(\.self).min() else { return }
        next > now ? timer.arm(at: next, calling: self) : reactor.wakeForNextTurn()
    }

    /// Wakes the loop: the end of the turn does the rest.
    func timerFired(now: UInt64) {}
}

/// When the next flight of one kind may be read.
private struct FlightRate {
    /// Takes the next of a rate: `HandshakeRates.takeFromTotal`.
    private let take: (_ now: UInt64) -> UInt64
    /// What was taken and not used yet. Nanoseconds.
    private(set) var reserved: UInt64?

    init(take: @escaping (_ now: UInt64) -> UInt64) { self.take = take }

    /// - Returns: nil where nothing waits, or where it isn't time yet.
    mutating func remove<Element>(from queue: inout FairQueue<ArraySlice<UInt8>, Element>, at now: UInt64) -> Element? {
        guard !queue.isEmpty else { return nil }
        let time = reserved ?? take(now)
        reserved = time > now ? time : nil
        return reserved == nil ? queue.removeFirst() : nil
    }
}
