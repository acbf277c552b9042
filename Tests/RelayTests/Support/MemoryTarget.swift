import Reactors
import WireText

@testable import Relay

/// A MUD and the connection to it: what the gateway sends waits in a queue until the MUD reads it, and the other way
/// round.
final class MemoryTarget: TargetSocket {
    let host: String
    let port: UInt16
    private var loop: TestLoop
    private var handler: (any TCPHandler)?
    private var isPaused = false
    private(set) var isConnected = false
    private(set) var isClosed = false
    /// The gateway's FIN has been read.
    private(set) var hasSeenEnd = false
    private var gatewayFinishes = false
    private var finishes = false
    private var hasToldEnd = false
    /// From the gateway, on the way.
    private var queue: [UInt8] = []
    /// From the gateway, read.
    private(set) var received: [UInt8] = []
    /// From the MUD, not read by the gateway yet.
    private var unread: [UInt8] = []
    /// The MUD reads what comes at once.
    var reads = true
    var canMove = true
    /// The most that the gateway reads at once.
    var pieceBytes = Reactor.readBufferBytes
    private(set) var moves = 0

    init(host: String, port: UInt16, on loop: TestLoop, handler: any TCPHandler) {
        self.host = host
        self.port = port
        self.loop = loop
        self.handler = handler
    }

    // MARK: The gateway's end

    var queuedBytes: Int { queue.count }
    var tlsVersion: String? { nil }
    var fallback: TargetTLSFailure? { nil }

    func send(_ bytes: UnsafeRawBufferPointer) {
        loop.preconditionOnThread()
        precondition(handler != nil, "something is sent over a connection that was given away")
        if !isClosed, !gatewayFinishes { queue.append(contentsOf: bytes) }
    }

    func setReading(paused: Bool) {
        loop.preconditionOnThread()
        isPaused = paused
    }

    func finish() {
        loop.preconditionOnThread()
        gatewayFinishes = true
    }

    func drop() {
        loop.preconditionOnThread()
        close(nil)
    }

    func depart() -> (any DepartedTarget)? {
        loop.preconditionOnThread()
        guard canMove, isConnected, !isClosed, !gatewayFinishes else { return nil }
        handler = nil
        return DepartedMemoryTarget(self)
    }

    func arrive(on loop: TestLoop, handler: any TCPHandler) {
        self.loop = loop
        self.handler = handler
        isPaused = false
        moves += 1
    }

    var isRead: Bool { !isPaused }

    // MARK: The MUD's end

    func connect() {
        guard !isClosed else { return }
        isConnected = true
        handler?.tcpConnected()
    }

    func fail(_ error: TCPError) { close(error) }

    func send(_ text: String) { send(Array(text.utf8)) }
    func send(_ bytes: [UInt8]) { unread += bytes }
    func end() { finishes = true }
    var unreadBytes: Int { unread.count }
    var text: String { String(decoding: received, as: UTF8.self) }

    /// Reads some of what waits.
    func read(_ count: Int) {
        let taken = min(count, queue.count)
        guard taken > 0, let handler else { return }
        received += queue.prefix(taken)
        queue.removeFirst(taken)
        loop.inCallback { handler.tcpWrote() }
    }

    private func close(_ error: TCPError?) {
        guard !isClosed else { return }
        isClosed = true
        queue = []
        let handler = handler
        self.handler = nil
        handler?.tcpClosed(error: error)
    }

    /// - Returns: whether anything was done.
    func deliver() -> Bool {
        guard !isClosed, isConnected, handler != nil else { return false }
        if reads, !queue.isEmpty {
            read(.max)
            return true
        }
        if gatewayFinishes, queue.isEmpty, !hasSeenEnd {
            hasSeenEnd = true
            return true
        }
        if !isPaused, !unread.isEmpty {
            let piece = Array(unread.prefix(pieceBytes))
            unread.removeFirst(piece.count)
            loop.inCallback { piece.withUnsafeBytes { handler?.tcpReceived($0) } }
            return true
        }
        guard finishes, unread.isEmpty, !isPaused else { return false }
        if !hasToldEnd {
            hasToldEnd = true
            loop.inCallback { handler?.tcpPeerFinished() }
            return true
        }
        guard hasSeenEnd else { return false }
        loop.inCallback { close(nil) }
        return true
    }

    /// The connection breaks.
    func breakDown() { loop.inCallback { close(.broken("reset")) } }
}

final class DepartedMemoryTarget: DepartedTarget, @unchecked Sendable {
    let target: MemoryTarget

    init(_ target: MemoryTarget) { self.target = target }
}
