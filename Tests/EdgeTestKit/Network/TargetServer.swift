import NIOCore
import NIOPosix
import NIOSSL

/// A TCP server in the target's place. A test accepts each connection and scripts it, or lets it echo.
package final class TargetServer: Sendable {
    package enum Manner: Sendable {
        /// Sends back all received bytes, and ends when the gateway does.
        case echo
        /// Only records received bytes; the test does the rest.
        case scripted
        /// Doesn't read any byte until the test allows it.
        case deaf
    }

    package let port: Int
    private let accepted: Awaited<[TargetConnection]>
    private let listener: any Channel

    private init(listener: any Channel, port: Int, accepted: Awaited<[TargetConnection]>) {
        self.listener = listener
        self.port = port
        self.accepted = accepted
    }

    deinit {
        listener.close(promise: nil)
        for connection in accepted.current { connection.abandon() }
    }

    /// - Parameters:
    ///   - tls: the target's TLS configuration; nil for plain text.
    ///   - readsHeader: whether each connection begins with a PROXY header of version 2, before TLS.
    package static func start(
        _ manner: Manner = .scripted, host: String = "127.0.0.1", tls: DevCertificates.Identity? = nil,
        readsHeader: Bool = false
    ) async throws -> TargetServer {
        let context = try tls.map { try NIOSSLContext(configuration: $0.serverConfiguration()) }
        let accepted = Awaited<[TargetConnection]>([])
        var bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: tls == nil)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let stream = Awaited(ByteStream())
                    let header = Awaited<[UInt8]?>(nil)
                    if readsHeader { try channel.pipeline.syncOperations.addHandler(ProxyHeaderTaker(header)) }
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    switch manner {
                    case .echo: try channel.pipeline.syncOperations.addHandler(Echo())
                    case .scripted, .deaf: try channel.pipeline.syncOperations.addHandler(StreamCollector(stream))
                    }
                    let connection = TargetConnection(channel: channel, stream: stream, header: header)
                    try channel.pipeline.syncOperations.addHandler(
                        Announcement { accepted.update { $0.append(connection) } }, position: .first)
                }
            }
        if case .deaf = manner {
            // Several segments of the loopback's 64 KiB: with a smaller buffer, TCP itself stalls for 200 ms at a time.
            bootstrap = bootstrap.childChannelOption(.autoRead, value: false)
                .childChannelOption(.socketOption(.so_rcvbuf), value: 262_144)
        }
        let listener = try await bootstrap.bind(host: host, port: 0).get()
        guard let port = listener.localAddress?.port else { throw EdgeTestError("the target has no port") }
        return TargetServer(listener: listener, port: port, accepted: accepted)
    }

    /// The gateway's connection with this index, from 0.
    package func connection(_ index: Int = 0, within limit: Duration = .seconds(20)) async throws -> TargetConnection {
        try await accepted.wait(for: "connection \(index) at the target", within: limit) {
            $0.count > index ? $0[index] : nil
        }
    }

    /// The number of connections that the gateway has made so far.
    package var connectionCount: Int { accepted.current.count }

    /// Stops listening; open connections stay open.
    package func stopListening() async {
        try? await listener.close()
    }
}

/// One connection from the gateway to the target.
package final class TargetConnection: Sendable, CustomStringConvertible {
    private let channel: any Channel
    package let stream: Awaited<ByteStream>
    private let takenHeader: Awaited<[UInt8]?>

    init(channel: any Channel, stream: Awaited<ByteStream>, header: Awaited<[UInt8]?>) {
        self.channel = channel
        self.stream = stream
        takenHeader = header
    }

    package var description: String { "target connection: \(stream.current)" }

    /// The PROXY header at the start of the connection.
    package func header() async throws -> [UInt8] {
        try await takenHeader.wait(for: "the header") { $0 }
    }

    package func receive(_ count: Int, within limit: Duration = .seconds(20)) async throws -> [UInt8] {
        try await stream.wait(for: "\(count) bytes at the target", within: limit) { stream in
            if let bytes = stream.take(count) { return bytes }
            if stream.isAtEnd { throw EdgeTestError("the gateway ended before \(count) bytes: \(stream)") }
            return nil
        }
    }

    package func receiveText(_ count: Int) async throws -> String {
        String(decoding: try await receive(count), as: UTF8.self)
    }

    /// All bytes up to the gateway's FIN (or the end of the connection).
    package func receiveToEnd(within limit: Duration = .seconds(20)) async throws -> [UInt8] {
        try await stream.wait(for: "the gateway's FIN at the target", within: limit) {
            $0.isAtEnd ? $0.takeAll() : nil
        }
    }

    package func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    package func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// Queues bytes without waiting until the gateway reads them.
    package func post(_ bytes: [UInt8]) {
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Sends a FIN and keeps reading.
    package func finish() async throws {
        // An empty write completes after all earlier posted writes.
        try await channel.writeAndFlush(ByteBuffer())
        try await channel.close(mode: .output)
    }

    /// Like ``finish()``, without waiting for a peer that may not be reading.
    package func postFinish() {
        let channel = channel
        channel.writeAndFlush(ByteBuffer()).whenSuccess { channel.close(mode: .output, promise: nil) }
    }

    package func close() async {
        try? await channel.close()
    }

    package func reset() async {
        await channel.closeWithReset()
    }

    package func setReading(_ isReading: Bool) async throws {
        try await channel.setOption(.autoRead, value: isReading).get()
        if isReading { channel.read() }
    }

    func abandon() {
        channel.close(promise: nil)
    }
}

/// Tells of a connection once its event loop has it: a read that is asked for before that is never done.
private final class Announcement: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let announce: () -> Void

    init(_ announce: @escaping () -> Void) { self.announce = announce }

    func channelActive(context: ChannelHandlerContext) {
        announce()
        context.fireChannelActive()
    }
}

/// Echoes all bytes, and answers a FIN with a FIN. Confined to its event loop.
private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.write(data, promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .some(.inputClosed) = event as? ChannelEvent else { return }
        // The empty write completes after the echoes that are still queued.
        let channel = context.channel
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
