import Testing

@testable import Reactors

/// What libwebsockets keeps for each WebSocket is small, and messages come in as few pieces as that allows.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct ReceiveBufferTests {
    private static let long = (0..<16_000).map { UInt8(truncatingIfNeeded: $0 * 7) }

    @Test(arguments: [1, ReceiveBuffer.secureBytes])
    func `with TLS a message of up to the buffer's size comes in one piece`(count: Int) async throws {
        #expect(try await Self.piecesOverTLS([UInt8](repeating: 1, count: count)) == [count])
    }

    /// Reads are 16 bytes longer than the buffer: without the larger figure each would be delivered as two pieces.
    @Test func `with TLS a longer one comes in a piece for each read`() async throws {
        let pieces = try await Self.piecesOverTLS(Self.long)
        #expect(pieces.dropLast().allSatisfy { $0 >= ReceiveBuffer.secureBytes }, "\(pieces)")
        #expect(pieces.reduce(0, +) == Self.long.count)
    }

    /// The figure is the vhost's: it is small for a moment, and what another connection was in the midst of doesn't notice.
    @Test func `an upgrade in the midst of another's message disturbs nobody`() async throws {
        let bench = EdgeBench()
        let port = try await bench.serve()
        let first = try Self.open(port)
        first.writeFrame(2, Self.long, isFinal: false)
        let second = try Self.open(port)
        first.writeFrame(0, Self.long)
        second.writeFrame(9, [UInt8](repeating: 3, count: 125))
        var messages: [ReceivedMessage] = []
        for await event in bench.events {
            guard case .message(let message) = event else { continue }
            messages.append(message)
            break
        }
        #expect(messages == [ReceivedMessage(isText: false, payload: Self.long + Self.long)])
        let pong = ReceivedFrame(isFinal: true, opcode: 10, payload: [UInt8](repeating: 3, count: 125))
        #expect(second.readFrames { !$0.isEmpty } == [pong])
        first.close()
        second.close()
        await bench.stop()
    }

    /// How a message of our own client is cut for the server's handler.
    private static func piecesOverTLS(_ payload: [UInt8]) async throws -> [Int] {
        var settings = EdgeSettings.plain
        settings.tls = TLSSettings(
            certificatePath: TestCertificates.serverFiles.certificate.path,
            privateKeyPath: TestCertificates.serverFiles.key.path)
        let server = EdgeBench()
        let port = try await server.serve(settings)
        let client = EdgeBench { webSocket in payload.withUnsafeBytes { webSocket.sendMessage($0, isText: false) } }
        await client.reactor.run {
            var settings = EdgeClientSettings(host: "127.0.0.1", port: port, isTLS: true)
            settings.caPath = TestCertificates.authorityFile.path
            let dialler = try? EdgeClient(on: client.reactor, settings: settings)
            dialler?.connect(headers: [], handler: client) { Issue.record("\($0)") }
        }
        for await event in server.events {
            guard case .message(let message) = event else { continue }
            #expect(message.payload == payload)
            break
        }
        let pieces = await server.reactor.run { server.pieces }
        await client.order { $0.drop() }
        await server.stop()
        return pieces
    }

    private static func open(_ port: UInt16) throws -> PlainSocket {
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        let head = try #require(socket.readHead())
        #expect(head.hasPrefix("HTTP/1.1 101"))
        return socket
    }
}
