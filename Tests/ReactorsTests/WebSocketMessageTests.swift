import Testing

@testable import Reactors

/// Messages on the wire, in both directions.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct WebSocketMessageTests {
    private typealias Message = ReceivedMessage

    private static let long = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    private static let messages = [
        Message(isText: true, payload: Array("{\"a\":1}".utf8)), Message(isText: false, payload: []),
        Message(isText: true, payload: []), Message(isText: false, payload: long),
        Message(isText: true, payload: [UInt8](repeating: 0x61, count: 16_381)),
        Message(isText: false, payload: [UInt8](repeating: 1, count: 125)),
        Message(isText: false, payload: [UInt8](repeating: 2, count: 126)),
    ]

    @Test func `messages arrive whole, with a stream's bytes between them in order`() async throws {
        let bench = EdgeBench {
            $0.sendStream([1, 2])
            for message in Self.messages { $0.send(message) }
            $0.sendStream([3, 4])
            $0.ping()
        }
        let socket = try await Self.open(bench)
        let frames = try #require(socket.readFrames { $0.contains { $0.payload == [3, 4] } })
        #expect(frames.filter { $0.opcode == 9 }.count == 1)
        let expected =
            [Message(isText: false, payload: [1, 2])] + Self.messages + [Message(isText: false, payload: [3, 4])]
        #expect(ReceivedFrame.messages(in: frames) == expected)
        socket.close()
        await bench.stop()
    }

    /// The socket fills up, so writing stops and resumes many times, with pings and stream bytes in between.
    @Test func `a client that reads slowly gets every message whole`() async throws {
        let bench = EdgeBench { webSocket in
            for index in 0..<400 {
                webSocket.send(
                    Message(isText: true, payload: [UInt8](repeating: UInt8(index % 100), count: index * 50)))
                if index % 50 == 0 { webSocket.sendStream([0xFF, UInt8(index / 50)]) }
            }
        }
        let socket = try await Self.open(bench)
        var pings = 0
        var bytes: [UInt8] = []
        var frames: [ReceivedFrame] = []
        while frames.count(where: { $0.isFinal && $0.opcode & 8 == 0 }) < 408 {
            await bench.order { $0.ping() }
            pings += 1
            bytes += try #require(socket.read(upTo: 30_000))
            let (more, consumed) = try #require(ReceivedFrame.all(in: bytes))
            frames += more
            bytes.removeFirst(consumed)
        }
        #expect(frames.contains { $0.opcode == 9 })
        let messages = try #require(ReceivedFrame.messages(in: frames))
        #expect(messages.filter(\.isText).map(\.payload.count) == (0..<400).map { $0 * 50 })
        #expect(messages.filter { !$0.isText }.flatMap(\.payload) == (0..<8).flatMap { [0xFF, $0] })
        socket.close()
        await bench.stop()
    }

    @Test func `queued bytes include frame headers and end at zero`() async throws {
        let bench = EdgeBench { webSocket in
            webSocket.send(Message(isText: true, payload: [1, 2, 3]))
            #expect(webSocket.queuedBytes == 5)
            webSocket.sendStream([1])
            #expect(webSocket.queuedBytes == 8)
        }
        let socket = try await Self.open(bench)
        _ = socket.readFrames { $0.count == 2 }
        await bench.order { #expect($0.queuedBytes == 0) }
        socket.close()
        await bench.stop()
    }

    @Test func `a Close is sent after the messages before it, and nothing follows it`() async throws {
        let bench = EdgeBench {
            $0.send(Message(isText: true, payload: [1]))
            $0.close(code: 1000, reason: "done")
            $0.send(Message(isText: true, payload: [2]))
        }
        let socket = try await Self.open(bench)
        let frames = try #require(socket.readFrames { $0.contains { $0.opcode == 8 } })
        #expect(frames.map(\.opcode) == [1, 8])
        #expect(frames[1].payload == [0x03, 0xE8] + Array("done".utf8))
        socket.writeFrame(8, [0x03, 0xE8])
        #expect(socket.readAll() == [])
        socket.close()
        await bench.stop()
    }

    /// Both sides close at once: the client's Close frame arrives while ours waits behind bytes that the client hasn't
    /// read yet.
    @Test func `our Close has its code even if it crosses the peer's`() async throws {
        let bench = EdgeBench {
            $0.sendStream([UInt8](repeating: 0, count: 4_000_000))
            $0.close(code: 1001, reason: "gateway is shutting down")
        }
        let socket = try await Self.open(bench)
        socket.writeFrame(8, [0x03, 0xE8])
        var rest = try #require(socket.readAll())
        let (frames, consumed) = try #require(ReceivedFrame.all(in: rest))
        rest.removeFirst(consumed)
        #expect(rest.isEmpty)
        #expect(
            frames.last
                == ReceivedFrame(
                    isFinal: true, opcode: 8, payload: [0x03, 0xE9] + Array("gateway is shutting down".utf8)))
        socket.close()
        await bench.stop()
    }

    @Test func `a fragmented message can be reassembled by its first and last pieces`() async throws {
        let bench = EdgeBench()
        let socket = try await Self.open(bench)
        socket.writeFrame(1, [], isFinal: false)
        socket.writeFrame(9, [1])
        socket.writeFrame(0, Array("one".utf8), isFinal: false)
        socket.writeFrame(10, [])
        socket.writeFrame(0, [])
        socket.writeFrame(2, Self.long)
        socket.writeFrame(2, [])
        socket.writeFrame(1, Array("two".utf8), isFinal: false)
        socket.writeFrame(0, Array(" more".utf8))
        let expected = [
            Message(isText: true, payload: Array("one".utf8)), Message(isText: false, payload: Self.long),
            Message(isText: false, payload: []), Message(isText: true, payload: Array("two more".utf8)),
        ]
        #expect(await bench.messages(expected.count) == expected)
        socket.close()
        await bench.stop()
    }

    @Test func `our own client's messages arrive whole too, and so do the answers`() async throws {
        let server = EdgeBench { webSocket in for message in Self.messages { webSocket.send(message) } }
        let port = try await server.serve()
        let client = EdgeBench(onOpenedAsClient: { webSocket in
            ([9] as [UInt8]).withUnsafeBytes { webSocket.send($0) }
            for message in Self.messages {
                message.payload.withUnsafeBytes { webSocket.sendMessage($0, isText: message.isText) }
            }
        })
        await client.reactor.run {
            let dialler = try? EdgeClient(
                on: client.reactor, settings: EdgeClientSettings(host: "127.0.0.1", port: port, isTLS: false))
            dialler?.connect(headers: [], handler: client) { Issue.record("\($0)") }
        }
        #expect(
            await server.messages(Self.messages.count + 1) == [Message(isText: false, payload: [9])] + Self.messages)
        #expect(await client.messages(Self.messages.count) == Self.messages)
        await client.reactor.run { client.clientSocket?.drop() }
        await server.stop()
    }

    /// As `::1` refuses it, for the name `localhost` of a gateway that listens on 127.0.0.1.
    @Test func `our own client tries the next address if one refuses the connection`() async throws {
        let server = EdgeBench()
        let port = try await server.serve()
        let client = EdgeBench()
        // The kernel refuses the first without waiting.
        let addresses = ["255.255.255.255", "127.0.0.2", "::1", "127.0.0.1"]
        let status = await withCheckedContinuation { answered in
            client.reactor.submit {
                let dialler = try? EdgeClient(
                    on: client.reactor, settings: EdgeClientSettings(host: "localhost", port: port, isTLS: false),
                    addresses: addresses)
                dialler?.connect(headers: [], handler: client) { Issue.record("\($0)") }
                dialler?.request("GET", path: "/") { answered.resume(returning: try? $0.get().status) }
            }
        }
        #expect(status == 404)
        var events = client.events.makeAsyncIterator()
        #expect(await events.next() == .opened)
        await client.reactor.run { client.clientSocket?.drop() }
        await server.stop()
    }

    @Test func `our own client reports the failure at the last address`() async throws {
        let server = EdgeBench()
        let port = try await server.serve()
        await server.stop()
        let client = EdgeBench()
        let failure = await withCheckedContinuation { failed in
            client.reactor.submit {
                let dialler = try? EdgeClient(
                    on: client.reactor, settings: EdgeClientSettings(host: "localhost", port: port, isTLS: false),
                    addresses: ["127.0.0.2", "127.0.0.1"])
                dialler?.connect(headers: [], handler: client) { failed.resume(returning: $0) }
            }
        }
        #expect(failure.status == nil)
    }

    @Test func `our own client learns the code of a Close`() async throws {
        let server = EdgeBench { $0.close(code: 1008, reason: "session_replaced") }
        let port = try await server.serve()
        let client = EdgeBench()
        await client.reactor.run {
            let dialler = try? EdgeClient(
                on: client.reactor, settings: EdgeClientSettings(host: "127.0.0.1", port: port, isTLS: false))
            dialler?.connect(headers: [], handler: client) { Issue.record("\($0)") }
        }
        var events = client.events.makeAsyncIterator()
        #expect(await events.next() == .opened)
        #expect(await events.next() == .peerClosed(1008))
        #expect(await events.next() == .closed)
        await server.stop()
    }

    /// They count toward the client's rate limits.
    @Test func `Pings and Pongs are reported with their sizes`() async throws {
        let bench = EdgeBench()
        let socket = try await Self.open(bench)
        socket.writeFrame(9, [1, 2, 3])
        socket.writeFrame(10, [])
        let frames = try #require(socket.readFrames { !$0.isEmpty })
        #expect(frames.map(\.opcode) == [10] && frames[0].payload == [1, 2, 3])
        socket.writeFrame(1, [65])
        #expect(await bench.messages(1).count == 1)
        #expect(await bench.reactor.run { bench.controlFrames } == [3, 0])
        socket.close()
        await bench.stop()
    }

    private static func open(_ bench: EdgeBench) async throws -> PlainSocket {
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        let head = try #require(socket.readHead())
        #expect(head.hasPrefix("HTTP/1.1 101"))
        return socket
    }
}

extension EdgeBench {
    /// The next `count` messages.
    fileprivate func messages(_ count: Int) async -> [ReceivedMessage] {
        var messages: [ReceivedMessage] = []
        for await event in events {
            if case .message(let message) = event { messages.append(message) }
            if messages.count == count || event == .closed { break }
        }
        return messages
    }
}

extension WebSocketConnection {
    fileprivate func send(_ message: ReceivedMessage) {
        message.payload.withUnsafeBytes { sendMessage($0, isText: message.isText) }
    }

    fileprivate func sendStream(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { send($0) }
    }
}
