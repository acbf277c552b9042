import EdgeTestKit
import Foundation
import PortcullisClient
import Testing

@Suite("A gateway that sends and doesn't read", .timeLimit(.minutes(10)))
struct StuckSocketTests {
    /// Has messages to read; whatever is written waits until the socket is read.
    private final class Socket: WebSocketChannel {
        let messages: Awaited<[String]>
        let written = Awaited<[String]>([])
        let isRead = Awaited(false)
        /// Of each close.
        let codes = Awaited<[UInt16]>([])

        init(_ messages: [String]) { self.messages = Awaited(messages.reversed()) }

        func receive() async throws -> WebSocketMessage {
            if let next = messages.update({ $0.popLast() }) { return .text(Array(next.utf8)) }
            try await codes.wait(for: "the end", within: .seconds(60)) { $0.isEmpty ? nil : () }
            throw WebSocketEnd.closed(code: 1000, reason: "")
        }

        func send(_ message: WebSocketMessage) async throws {
            try await isRead.wait(for: "a reader", within: .seconds(60)) { $0 ? () : nil }
            guard case .text(let bytes) = message else { return }
            written.update { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }

        func ping() async throws { try await isRead.wait(for: "a reader", within: .seconds(60)) { $0 ? () : nil } }

        func close(code: UInt16, reason: String) { codes.update { $0.append(code) } }
    }

    /// Its reads end with the socket alone.
    private final class DeafSocket: WebSocketChannel {
        let isClosed = Awaited(false)
        private let readers = Awaited<[CheckedContinuation<Void, Never>]>([])

        func receive() async throws -> WebSocketMessage {
            await withCheckedContinuation { reader in
                readers.update { $0.append(reader) }
                if isClosed.current { release() }
            }
            throw WebSocketEnd.closed(code: 1001, reason: "")
        }

        private func release() {
            let released = readers.update { readers -> [CheckedContinuation<Void, Never>] in
                defer { readers = [] }
                return readers
            }
            for reader in released { reader.resume() }
        }

        func send(_ message: WebSocketMessage) async throws {}

        func ping() async throws {}

        func close(code: UInt16, reason: String) {
            isClosed.update { $0 = true }
            release()
        }
    }

    private static let session =
        #"{"type":"session","sessionId":"s","token":"t","capabilities":["syncAck","gap","tokenRotation"]}"#

    private struct OneSocket: Transport {
        let socket: any WebSocketChannel

        func send(_ request: GateRequest) async throws -> GateResponse { throw NetworkProblem.unreachable }
        func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel { socket }
    }

    private func client(_ socket: any WebSocketChannel) throws -> GateClient {
        var configuration = try GateConfiguration(
            baseURLString: "http://localhost:1", teamIdentifier: "ABCDE12345", bundleIdentifier: "a.b")
        // No silence ends a connection.
        configuration.reconnection.probeAfter = 1_000
        return GateClient(
            configuration: configuration, platform: ClientPlatform(transport: OneSocket(socket: socket)))
    }

    @Test func `is closed when nobody keeps the connection, though its reads heed no cancellation`() async throws {
        let socket = DeafSocket()
        let client = try client(socket)
        do {
            var events = client.connect(ConnectionOptions(.none, dialect: .raw)).makeAsyncIterator()
            for _ in ["connecting", "connected"] { _ = await events.next() }
        }
        try await socket.isClosed.wait(for: "the end") { $0 ? () : nil }
    }

    @Test func `is told the end of a session by a connection that nobody keeps any more`() async throws {
        let socket = Socket([Self.session])
        let client = try client(socket)
        do {
            let connection = client.connect(ConnectionOptions(.none, dialect: .typed))
            var events = connection.makeAsyncIterator()
            for _ in ["connecting", "connected"] { _ = await events.next() }
            await connection.close()
        }
        socket.isRead.update { $0 = true }
        #expect(try await socket.codes.wait(for: "the end") { $0.first } == 1000)
        #expect(socket.written.current.last == #"{"type":"disconnect"}"#)
    }

    @Test func `isn't awaited by a connection that nobody keeps any more`() async throws {
        let socket = Socket([Self.session])
        let client = try client(socket)
        do {
            let connection = client.connect(ConnectionOptions(.none, dialect: .typed))
            var events = connection.makeAsyncIterator()
            for _ in ["connecting", "connected"] { _ = await events.next() }
            await connection.close()
        }
        #expect(try await socket.codes.wait(for: "the end") { $0.first } == 1001)
    }

    @Test func `owes it one acknowledgement, the latest`() async throws {
        let count = 1_000
        let socket = Socket([Self.session] + (1...count).map { #"{"type":"prompt","seq":\#($0 * 64)}"# })
        let client = try client(socket)
        let player = Player(client.connect(ConnectionOptions(.none, dialect: .typed)))
        try await player.wait(for: "all of them") { seen in
            seen.events.count { if case .prompt = $0 { true } else { false } } == count
        }
        socket.isRead.update { $0 = true }
        let last = #"{"type":"syncAck","sessionId":"s","lastSeq":\#(count * 64)}"#
        try await socket.written.wait(for: "the latest") { $0.last == last ? () : nil }
        // The one before may have been written when the last one came.
        let written = socket.written.current
        #expect(written.first == #"{"type":"connect","target":""}"# && written.count <= 3, "\(written.count)")
        await player.connection.close()
        #expect(try await player.end().cause == .clientClosed)
    }
}
