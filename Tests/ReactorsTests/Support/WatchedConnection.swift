import Testing

@testable import Reactors

/// The events that a TCP connection's handler received.
enum TCPEvent: Equatable, Sendable {
    case connected
    case received([UInt8])
    case finished
    case closed(TCPError?)
}

/// The operations of a session on either kind of connection.
protocol ByteConnection: AnyObject, SendableMetatype {
    var queuedBytes: Int { get }
    func send(_ bytes: UnsafeRawBufferPointer)
    func setReading(paused: Bool)
    func finish()
    func drop()
}

extension TCPConnection: ByteConnection {}
extension TargetConnection: ByteConnection {}

typealias WatchedConnection = Watched<TCPConnection>
typealias WatchedTarget = Watched<TargetConnection>

/// A connection on a reactor (the shared one by default), and a queue of its handler's events.
///
/// - Note: `@unchecked Sendable` because its mutable state is used only on the reactor's thread.
final class Watched<Connection: ByteConnection>: TCPHandler, @unchecked Sendable {
    private let sink: AsyncStream<TCPEvent>.Continuation
    private let pausesAfterEach: Bool
    private let reactor: Reactor
    private var connection: Connection?
    /// The queued bytes after each write to the socket.
    private var queuedAfterWrites: [Int] = []
    private var received = 0
    private var peerHasFinished = false
    private var isClosed = false

    private init(_ sink: AsyncStream<TCPEvent>.Continuation, on reactor: Reactor, pausesAfterEach: Bool) {
        self.sink = sink
        self.reactor = reactor
        self.pausesAfterEach = pausesAfterEach
    }

    /// - Parameter pausesAfterEach: pauses reading in the handler after each received piece.
    static func open(
        on reactor: Reactor = TestReactor.shared, pausesAfterEach: Bool = false,
        _ make: @escaping @Sendable (any TCPHandler) -> Connection
    ) async -> (Watched, Heard) {
        let (stream, sink) = AsyncStream.makeStream(of: TCPEvent.self)
        let watched = Watched(sink, on: reactor, pausesAfterEach: pausesAfterEach)
        await reactor.run { watched.connection = make(watched) }
        return (watched, Heard(iterator: stream.makeAsyncIterator()))
    }

    /// Runs `body` on the reactor's thread.
    func order<Result: Sendable>(_ body: @escaping @Sendable (Connection) -> Result) async -> Result? {
        await reactor.run { self.connection.map(body) }
    }

    func send(_ bytes: [UInt8]) async {
        _ = await order { connection in bytes.withUnsafeBytes { connection.send($0) } }
    }

    func finish() async { _ = await order { $0.finish() } }

    func setReading(paused: Bool) async { _ = await order { $0.setReading(paused: paused) } }

    func drop() async { _ = await order { $0.drop() } }

    var writes: [Int] { get async { await reactor.run { self.queuedAfterWrites } } }

    var receivedBytes: Int { get async { await reactor.run { self.received } } }

    /// Runs a few turns of the loop, so that everything that has reached this machine's sockets would have been read.
    func turns() async {
        for _ in 0..<4 { await reactor.run {} }
    }

    var hasHeardFinish: Bool { get async { await reactor.run { self.peerHasFinished } } }

    // MARK: TCPHandler

    func tcpConnected() { sink.yield(.connected) }
    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        received += bytes.count
        if pausesAfterEach { connection?.setReading(paused: true) }
        sink.yield(.received(Array(bytes)))
    }
    func tcpPeerFinished() {
        peerHasFinished = true
        sink.yield(.finished)
    }
    func tcpWrote() { queuedAfterWrites.append(connection?.queuedBytes ?? -1) }
    func tcpClosed(error: TCPError?) {
        #expect(!isClosed, "closed twice")
        isClosed = true
        sink.yield(.closed(error))
        sink.finish()
    }
}

extension Watched where Connection == TCPConnection {
    static func dial(
        _ port: UInt16, host: String = "127.0.0.1", options: DialOptions = .patient
    ) async -> (WatchedConnection, Heard) {
        await open { .dial(host: host, port: port, options: options, on: TestReactor.shared, handler: $0) }
    }
}

extension Watched where Connection == TargetConnection {
    static func dial(
        _ port: UInt16, host: String = "127.0.0.1", options: DialOptions = .patient, tls: TargetTLS?,
        pausesAfterEach: Bool = false
    ) async -> (WatchedTarget, Heard) {
        await open(pausesAfterEach: pausesAfterEach) {
            .dial(host: host, port: port, options: options, tls: tls, on: TestReactor.shared, handler: $0)
        }
    }
}

extension DialOptions {
    /// Longer than any test lasts.
    static let patient = DialOptions(timeoutMilliseconds: Patience.milliseconds)
}

/// The received events, in order; there are none after the last one.
struct Heard {
    fileprivate var iterator: AsyncStream<TCPEvent>.Iterator
    private var kept: TCPEvent?
    /// The number of received bytes that the test has taken.
    private(set) var taken = 0

    fileprivate init(iterator: AsyncStream<TCPEvent>.Iterator) { self.iterator = iterator }

    mutating func next() async -> TCPEvent? {
        defer { kept = nil }
        let event = if let kept { TCPEvent?.some(kept) } else { await iterator.next() }
        if case .received(let bytes) = event { taken += bytes.count }
        return event
    }

    /// All bytes received until another event, which stays for `next`; or until `count` bytes, if given.
    mutating func bytes(_ count: Int = .max) async -> [UInt8] {
        var all: [UInt8] = []
        while all.count < count, let event = await next() {
            guard case .received(let bytes) = event else {
                kept = event
                break
            }
            all += bytes
        }
        return all
    }
}
