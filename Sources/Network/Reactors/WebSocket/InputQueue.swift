import WireText

/// The WebSockets of one reactor whose clients have sent more than may be processed at once (`InputShare`), and the
/// time that a turn of the loop has for them.
///
/// It runs at the end of each turn, after the output of the sessions was written. All flooding clients together
/// therefore delay the others by at most `turnNanoseconds`, however cheap or expensive their frames are. Addresses are
/// served in turn (`FairQueue`): a client with its own address doesn't wait behind a flood. Reactor thread only.
final class InputQueue {
    /// For all waiting WebSockets together. An honest message and its answer wait for two turns, which must stay within
    /// a few milliseconds.
    static let turnNanoseconds = 1_000_000
    /// For one WebSocket. One frame, or one step of inflating, may exceed it by its own cost.
    static let shareNanoseconds = 500_000

    private unowned let reactor: Reactor
    private var waiting = FairQueue<AddressPrefix, WebSocketConnection>()

    init(reactor: Reactor) {
        self.reactor = reactor
    }

    var isEmpty: Bool { waiting.isEmpty }

    func append(_ webSocket: WebSocketConnection, of source: AddressPrefix) {
        waiting.append(webSocket, of: source)
        reactor.wakeForNextTurn()
    }

    func remove(_ webSocket: WebSocketConnection, of source: AddressPrefix) {
        waiting.remove(of: source) { $0 === webSocket }
    }

    /// At the end of a turn. Whoever isn't done then comes back for the next one.
    func serve() {
        let end = reactor.now + UInt64(Self.turnNanoseconds)
        while let next = waiting.removeFirst() {
            next.takeTurn(until: min(reactor.now + UInt64(Self.shareNanoseconds), end))
            guard reactor.now < end else { break }
        }
        if !waiting.isEmpty { reactor.wakeForNextTurn() }
    }
}

/// What one WebSocket may process in a turn of the loop as soon as it arrives. It is counted rather than measured, so
/// that the few messages of an honest client need no clock. The rest waits in the `InputQueue`.
struct InputShare {
    /// More frames than players' clients send at once, and few enough for hundreds of sessions in one turn.
    static let unitsPerTurn = 64
    /// A frame counts as one unit, and each such part of its content as one more.
    static let unitBytes = 4_096

    private var turn = UInt64.max
    private var spent = 0

    mutating func isLeft(in turn: UInt64) -> Bool {
        if turn != self.turn { (self.turn, spent) = (turn, 0) }
        return spent < Self.unitsPerTurn
    }

    /// A frame, or a part of one, or a step of inflating it.
    mutating func spend(bytes: Int) { spent += 1 + bytes / Self.unitBytes }
}

/// What a client has made the gateway read so far, for its rates. Not only content counts: each frame, each TLS record
/// and each read of the socket takes time, however little is in it.
struct InputCost {
    /// Decrypted.
    private(set) var frameBytes = 0
    private var socketBytes = 0
    private var inflatedBytes = 0
    private var reads = 0
    private var reported = (octets: 0, steps: 0)

    /// A read of the socket, with TLS.
    mutating func readSocket(_ bytes: Int) {
        socketBytes &+= bytes
        reads &+= 1
    }

    /// A TLS record, or without TLS a read of the socket.
    mutating func readFrames(_ bytes: Int) {
        frameBytes &+= bytes
        reads &+= 1
    }

    /// - Parameter bytes: by which a step of inflating has produced more than it took.
    mutating func inflated(surplus bytes: Int) { inflatedBytes &+= max(bytes, 0) }

    /// - Returns: what hasn't been reported yet.
    mutating func report(frames: Int) -> (octets: Int, steps: Int) {
        let total = (octets: max(socketBytes, frameBytes) &+ inflatedBytes, steps: reads &+ frames)
        defer { reported = total }
        return (total.octets &- reported.octets, total.steps &- reported.steps)
    }
}
