import NIOCore
import NIOPosix
import NIOSSL

/// A client connection, plain or TLS, on which a test can send any bytes.
package final class RawConnection: Sendable {
    package let stream: Awaited<ByteStream>
    private let channel: any Channel

    private init(channel: any Channel, stream: Awaited<ByteStream>) {
        self.channel = channel
        self.stream = stream
    }

    deinit {
        channel.close(promise: nil)
    }

    /// Opens a connection. With TLS it returns at once: output waits for the handshake, and a failed handshake shows in
    /// `stream`.
    ///
    /// - Parameter receiveBuffer: the size of the socket's receive buffer, for tests of back-pressure.
    package static func open(
        port: Int, host: String = "127.0.0.1", tls: TLSChoice? = nil, receiveBuffer: Int? = nil
    ) async throws -> RawConnection {
        let stream = Awaited(ByteStream())
        let context = try tls?.context()
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connectTimeout(.seconds(20))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        let handler = try NIOSSLClientHandler(
                            context: context, serverHostname: host.contains { $0.isLetter } ? host : nil)
                        try channel.pipeline.syncOperations.addHandler(Cork())
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                    try channel.pipeline.syncOperations.addHandler(StreamCollector(stream))
                }
            }
        if let receiveBuffer {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer))
        }
        let channel = try await bootstrap.connect(host: host, port: port).get()
        return RawConnection(channel: channel, stream: stream)
    }

    /// Opens a connection to a Unix socket. It counts as connected once it is in the listener's backlog.
    package static func open(socketPath: String) async throws -> RawConnection {
        let stream = Awaited(ByteStream())
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(StreamCollector(stream))
                }
            }
            .connect(unixDomainSocketPath: socketPath).get()
        return RawConnection(channel: channel, stream: stream)
    }

    package func send(_ bytes: some Collection<UInt8> & Sendable) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    package func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// Queues bytes without waiting until they are sent, for a peer that may not be reading.
    package func post(_ bytes: [UInt8]) {
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// Sends several pieces, each in its own TLS record, in one write to the socket, so that they arrive together. Only
    /// with TLS.
    package func sendTogether(_ pieces: [[UInt8]]) async throws {
        try await channel.eventLoop.submit { [channel] in
            let cork = try channel.pipeline.syncOperations.handler(type: Cork.self)
            cork.insert()
            for piece in pieces { channel.writeAndFlush(ByteBuffer(bytes: piece), promise: nil) }
            cork.remove(from: channel)
        }.get()
    }

    /// Ends our direction and keeps reading (plain connections).
    package func finishSending() async throws {
        try await channel.close(mode: .output)
    }

    package func close() async {
        try? await channel.close()
    }

    /// Drops the connection without a TLS or WebSocket close: the peer sees a reset.
    package func reset() async {
        await channel.closeWithReset()
    }

    /// Stops or resumes reading from the socket, as a slow client does.
    package func setReading(_ isReading: Bool) async throws {
        try await channel.setOption(.autoRead, value: isReading).get()
    }

    /// False once the socket's own buffers are full and posted bytes queue up.
    package var isWritable: Bool { channel.isWritable }
}

extension RawConnection {
    /// Exactly the next `count` bytes.
    package func receive(_ count: Int, within limit: Duration = .seconds(20)) async throws -> [UInt8] {
        try await stream.wait(for: "\(count) bytes", within: limit) { stream in
            if let bytes = stream.take(count) { return bytes }
            if stream.isAtEnd { throw EdgeTestError("the stream ended before \(count) bytes: \(stream)") }
            return nil
        }
    }

    /// All bytes up to the end of the stream.
    package func receiveToEnd(within limit: Duration = .seconds(20)) async throws -> [UInt8] {
        try await stream.wait(for: "the end of the stream", within: limit) { $0.isAtEnd ? $0.takeAll() : nil }
    }
}
