import Testing

@testable import Reactors

/// What a TCP connection's handler heard.
enum TCPEvent: Equatable, Sendable {
    case connected
    case received([UInt8])
    case finished
    case closed(TCPError?)
}

/// A TCP connection on the shared reactor, and a queue of what its handler hears.
///
/// - Note: `@unchecked Sendable` because what is mutable here is touched on the reactor's thread alone.
final class WatchedConnection: TCPHandler, @unchecked Sendable {
    private let sink: AsyncStream<TCPEvent>.Continuation
    private var connection: TCPConnection?
    /// What was queued each time when the socket had taken something.
    private var queuedAfterWrites: [Int] = []
    private var received = 0

    private init(_ sink: AsyncStream<TCPEvent>.Continuation) { self.sink = sink }

    static func open(_ make: @escaping @Sendable (any TCPHandler) -> TCPConnection) async -> (WatchedConnection, Heard)
    {
        let (stream, sink) = AsyncStream.makeStream(of: TCPEvent.self)
        let watched = WatchedConnection(sink)
        await TestReactor.shared.run { watched.connection = make(watched) }
        return (watched, Heard(iterator: stream.makeAsyncIterator()))
    }

    static func dial(_ port: UInt16, host: String = "127.0.0.1") async -> (WatchedConnection, Heard) {
        await open {
            .dial(host: host, port: port, options: .patient, on: TestReactor.shared, handler: $0)
        }
    }

    /// Runs `body` on the reactor's thread.
    func order<Result: Sendable>(_ body: @escaping @Sendable (TCPConnection) -> Result) async -> Result? {
        await TestReactor.shared.run { self.connection.map(body) }
    }

    func send(_ bytes: [UInt8]) async {
        _ = await order { connection in bytes.withUnsafeBytes { connection.send($0) } }
    }

    func finish() async { _ = await order { $0.finish() } }

    var writes: [Int] { get async { await TestReactor.shared.run { self.queuedAfterWrites } } }

    var receivedBytes: Int { get async { await TestReactor.shared.run { self.received } } }

    // MARK: TCPHandler

    func tcpConnected() { sink.yield(.connected) }
    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        received += bytes.count
        sink.yield(.received(Array(bytes)))
    }
    func tcpPeerFinished() { sink.yield(.finished) }
    func tcpWrote() { queuedAfterWrites.append(connection?.queuedBytes ?? -1) }
    func tcpClosed(error: TCPError?) { sink.yield(.closed(error)) }
}

extension DialOptions {
    /// Longer than any test lasts.
    static let patient = DialOptions(timeoutMilliseconds: 30_000)
}

/// What was heard, to be asked for in order.
struct Heard {
    fileprivate var iterator: AsyncStream<TCPEvent>.Iterator
    private var kept: TCPEvent?

    fileprivate init(iterator: AsyncStream<TCPEvent>.Iterator) { self.iterator = iterator }

    mutating func next() async -> TCPEvent? {
        defer { kept = nil }
        if let kept { return kept }
        return await iterator.next()
    }

    /// Everything that is received until another event comes, which stays for `next`; or, where `count` is given, until so much is here.
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
