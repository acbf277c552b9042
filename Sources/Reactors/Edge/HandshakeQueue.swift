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

    private unowned let reactor: Reactor
    private let rates: HandshakeRates
    /// Their first flight, which the total rate counts.
    private var beginning = FairQueue<ArraySlice<UInt8>, EdgeConnection>()
    /// Later flights of handshakes that have begun.
    private var continuing = FairQueue<ArraySlice<UInt8>, EdgeConnection>()
    private lazy var timer = ReactorTimer(on: reactor, target: self)
    /// Counted in `GatewayMetrics` by the listener's handler.
    private let refused: () -> Void
    private var isAwaitingTurn = false

    init(reactor: Reactor, rates: HandshakeRates, refused: @escaping () -> Void) {
        self.reactor = reactor
        self.rates = rates
        self.refused = refused
    }

    private var count: Int { beginning.count + continuing.count }

    /// Asked before TLS costs anything.
    func admits(_ peer: PeerAddress) -> Bool {
        if count > Self.crowdedWaiting, beginning.count(of: peer.limitKey) >= Self.crowdedPerAddress { return false }
        return rates.admits(peer.limitKey, at: reactor.now)
    }

    func append(_ connection: EdgeConnection) {
        let source = connection.peer.limitKey
        if connection.hasBegunHandshake {
            continuing.append(connection, of: source)
        } else {
            beginning.append(connection, of: source)
        }
        awaitTurn()
    }

    /// Not where it is found: a connection may be inside OpenSSL then.
    private func endSurplus() {
        while count > Self.maximumWaiting {
            let newest =
                continuing.largestCount > beginning.largestCount
                ? continuing.removeNewestOfLargest() : beginning.removeNewestOfLargest()
            newest?.endWaitingHandshake()
            refused()
        }
    }

    /// A handshake has ended well: the client has computed as much as the gateway, and its address is no flood's.
    func succeeded(_ peer: PeerAddress) {
        beginning.forget(peer.limitKey)
        continuing.forget(peer.limitKey)
    }

    func remove(_ connection: EdgeConnection) {
        let source = connection.peer.limitKey
        beginning.remove(of: source) { $0 === connection }
        continuing.remove(of: source) { $0 === connection }
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
        var mayBegin = true
        while reactor.now < end, count > 0 {
            if let connection = continuing.removeFirst() { connection.continueHandshake() }
            guard mayBegin, !beginning.isEmpty else {
                if continuing.isEmpty { break }
                continue
            }
            if let time = rates.nextInTotal(at: reactor.now) {
                timer.arm(at: time)
                mayBegin = false
            } else {
                beginning.removeFirst()?.continueHandshake()
            }
        }
        guard count > 0 else { return }
        awaitTurn()
        beginning.forEach { $0.pauseHandshake() }
        continuing.forEach { $0.pauseHandshake() }
        if !continuing.isEmpty || (mayBegin && !beginning.isEmpty) { reactor.wakeForNextTurn() }
    }

    /// Wakes the loop: the end of the turn does the rest.
    func timerFired(now: UInt64) {}
}
