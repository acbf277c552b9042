import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// permessage-deflate (RFC 7692) against the real binary.
    @Suite struct CompressionTests {
        private typealias Opcode = WebSocketFrame.Opcode

        private static let line = "You are standing in a small clearing. Obvious exits are north and south.\r\n"

        private static func start(
            _ manner: TargetServer.Manner = .echo, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> Edge {
            try await Edge.start(manner) {
                change($0.setting("WS_COMPRESSION", "on").setting("DEFAULT_DIALECT", "raw"))
            }
        }

        // MARK: Negotiation

        @Test func `compression is agreed only where it is enabled`() async throws {
            let off = try await Edge.start()
            #expect(try await DeflateClient.open(off).answer == nil)
            let on = try await Self.start()
            #expect(try await DeflateClient.open(on).answer?.hasPrefix("permessage-deflate") == true)
            #expect(try await on.gateway.open().answer["sec-websocket-extensions"] == nil)
            #expect(try await DeflateClient.open(on, offer: "permessage-bzip2").answer == nil)
            #expect(try await DeflateClient.open(on, offer: "permessage-deflate; unknown=1").answer == nil)
        }

        @Test func `a route's compression setting overrides the general one in both directions`() async throws {
            for (standard, other) in [("off", "on"), ("on", "off")] {
                let edge = try await Edge.start {
                    $0.setting("WS_COMPRESSION", standard).setting("DEFAULT_DIALECT", "raw").setting(
                        "MUD_ROUTES", "other=127.0.0.1:\($0["TN_PORT"] ?? ""),compression=\(other)")
                }
                let plain = try await DeflateClient.open(edge)
                #expect((plain.answer != nil) == (standard == "on"))
                for path in ["/mud/other", "/?target=other"] {
                    let routed = try await DeflateClient.open(edge) { $0.path(path) }
                    #expect((routed.answer != nil) == (other == "on"), "\(path)")
                    try await routed.socket.send(text: Self.line)
                    #expect(try await routed.receiveText(Self.line.utf8.count) == Self.line)
                }
            }
        }

        /// A client that names its target in a message has already negotiated compression; if its target's route
        /// disables compression, the messages to it are sent uncompressed.
        @Test func `a route that is named after the upgrade gets uncompressed messages`() async throws {
            let edge = try await Edge.start(.scripted) {
                $0.setting("WS_COMPRESSION", "on").setting(
                    "MUD_ROUTES", "other=127.0.0.1:\($0["TN_PORT"] ?? ""),compression=off")
            }
            for (target, isCompressed) in [(#""target":"""#, true), (#""target":"other""#, false)] {
                let client = try await DeflateClient.open(edge) { $0.path("/?dialect=typed") }
                let connections = edge.target.connectionCount
                try await client.send(#"{"type":"connect",\#(target)}"#)
                #expect(try await client.next().fields["type"] as? String == "session")
                let target = try await edge.target.connection(connections)
                try await target.send(String(repeating: Self.line, count: 5))
                #expect(try await client.next().isCompressed == isCompressed)
            }
        }

        // MARK: Messages both ways

        @Test(arguments: [
            "permessage-deflate", "permessage-deflate; server_no_context_takeover",
            "permessage-deflate; client_no_context_takeover",
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover; client_max_window_bits",
        ])
        func `compression works in both directions with and without context takeover`(offer: String) async throws {
            let edge = try await Self.start()
            let client = try await DeflateClient.open(edge, offer: offer)
            for name in ["server_no_context_takeover", "client_no_context_takeover"] {
                #expect((client.answer?.contains(name) == true) == offer.contains(name))
            }
            var sizes: [Int] = []
            for _ in 0..<20 {
                let before = client.received
                try await client.send(Self.line)
                #expect(try await client.receiveText(Self.line.utf8.count) == Self.line)
                sizes.append(client.received - before)
            }
            if offer.contains("server_no_context_takeover") {
                #expect(Set(sizes).count == 1)
            } else {
                #expect(sizes[1] < sizes[0] / 3)
            }
        }

        @Test(arguments: ["both", "server", "client", "none"])
        func `the setting decides whose context is kept`(setting: String) async throws {
            let edge = try await Self.start { $0.setting("WS_COMPRESSION_CONTEXT", setting) }
            let client = try await DeflateClient.open(edge, offer: "permessage-deflate")
            let answer = try #require(client.answer)
            #expect(answer.contains("server_no_context_takeover") == (setting == "client" || setting == "none"))
            #expect(answer.contains("client_no_context_takeover") == (setting == "server" || setting == "none"))
            for _ in 0..<5 {
                try await client.send(Self.line)
                #expect(try await client.receiveText(Self.line.utf8.count) == Self.line)
            }
        }

        /// The gateway's own windows have at most 12 bits; a client that doesn't offer a smaller one has 15.
        @Test(arguments: 9...15) func `every window size works in both directions`(bits: Int) async throws {
            let edge = try await Self.start()
            let own = bits < 15 ? "client_max_window_bits=\(bits)" : ""
            let offer = "permessage-deflate; server_max_window_bits=\(bits)" + (own.isEmpty ? "" : "; " + own)
            let client = try await DeflateClient.open(edge, offer: offer)
            #expect(client.answer?.contains("server_max_window_bits=\(min(bits, 12))") == true)
            #expect(client.answer?.contains("client_max_window_bits=\(min(bits, 12))") == !own.isEmpty)
            var generator = SeededGenerator(seed: 7692)
            let words = Self.line.split(separator: " ")
            for _ in 0..<6 {
                let text = (0..<6_000).map { _ in words.randomElement(using: &generator) ?? "" }.joined(separator: " ")
                try await client.send(text)
                #expect(try await client.receiveText(text.utf8.count) == text)
            }
        }

        @Test func `fragments and control frames between them make no difference`() async throws {
            let edge = try await Self.start()
            let client = try await DeflateClient.open(edge)
            for fragments in [2, 3, 7, 40] {
                let text = (0..<60).map { "\($0). " + Self.line }.joined()
                try await client.send(text, fragments: fragments, pings: true)
                #expect(try await client.receiveText(text.utf8.count) == text)
            }
            // Split by TCP at every byte.
            for byte in client.frames(Array("one byte after the other".utf8), fragments: 4, pings: true) {
                try await client.socket.connection.send([byte])
            }
            #expect(try await client.receiveText(24) == "one byte after the other")
        }

        @Test func `compressed and uncompressed messages can be mixed`() async throws {
            let edge = try await Self.start()
            let client = try await DeflateClient.open(edge)
            for index in 0..<30 {
                let text = "\(index) " + Self.line
                if index.isMultiple(of: 3) {
                    try await client.socket.send(text: text)
                } else {
                    try await client.send(text)
                }
                #expect(try await client.receiveText(text.utf8.count) == text)
            }
        }

        @Test func `messages shorter than 64 bytes are sent uncompressed`() async throws {
            let edge = try await Self.start(.scripted)
            let client = try await DeflateClient.open(edge)
            let target = try await edge.target.connection()
            for (count, isCompressed) in [(63, false), (64, true), (63, false), (500, true)] {
                try await target.send([UInt8](repeating: 0x61, count: count))
                let message = try await client.next()
                #expect(message.bytes.count == count && message.isCompressed == isCompressed)
            }
        }

        /// Long incompressible data, in fragments and whole messages: nothing is lost, and no frame is longer than a
        /// TLS record.
        @Test func `data that doesn't compress arrives whole`() async throws {
            for offer in ["permessage-deflate", "permessage-deflate; server_no_context_takeover"] {
                let edge = try await Self.start(.scripted)
                let client = try await DeflateClient.open(edge, offer: offer)
                let target = try await edge.target.connection()
                var generator = SeededGenerator(seed: 9)
                let noise = (0..<300_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
                try await target.send(noise)
                #expect(try await client.receive(noise.count) == noise)
            }
        }

        @Test(arguments: ["typed", "gmcp", "json", "terminal"])
        func `every dialect is compressed`(dialect: String) async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("WS_COMPRESSION", "on") }
            let client = try await DeflateClient.open(edge) { $0.path("/?dialect=\(dialect)") }
            if dialect == "typed" { try await client.send(#"{"type":"connect","target":""}"#) }
            let target = try await edge.target.connection()
            if dialect != "terminal" { _ = try await client.next() }
            var generator = SeededGenerator(seed: 11)
            let words = Self.line.split(separator: " ")
            let long = (0..<12_000).map { _ in words.randomElement(using: &generator) ?? "" }.joined(separator: " ")
            var wire = 0
            for text in [String(repeating: Self.line, count: 30), long] {
                try await target.send(text)
                var seen = ""
                while seen.utf8.count < text.utf8.count {
                    let message = try await client.next()
                    wire += message.wireBytes
                    seen +=
                        dialect == "typed"
                        ? ReceivedMessage(isText: true, bytes: message.bytes).payload ?? "?" : message.text
                }
                #expect(seen == text)
            }
            #expect(wire < long.utf8.count / 2)
        }

        // MARK: Secrets

        /// The message with the resume token or the ticket isn't compressed; those before and after it are.
        @Test(arguments: ["typed", "gmcp", "json"])
        func `messages with tokens aren't compressed`(dialect: String) async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("WS_COMPRESSION", "on") }
            let ticket = try #require(try await edge.gateway.post("/ticket", "").strings?["ticket"])
            let client = try await DeflateClient.open(edge) { $0.path("/?dialect=\(dialect)&ticket=\(ticket)") }
            if dialect == "typed" { try await client.send(#"{"type":"connect","target":""}"#) }
            let target = try await edge.target.connection()
            var secrets: [String] = []
            for _ in 0..<2 {
                let message = try await client.next()
                #expect(!message.isCompressed && message.text.contains(/token|ticket/), "\(message.text)")
                secrets += message.text.matches(of: /[0-9a-f]{64}|[A-Za-z0-9_-]{43}/).map { String($0.output) }
            }
            #expect(secrets.count >= 2)
            // If a secret were in the window, text that repeats it would compress to a few bytes.
            for secret in secrets {
                try await target.send(Self.line + secret + "\r\n")
                let message = try await client.next()
                #expect(message.isCompressed && message.wireBytes > secret.utf8.count / 2, "\(message.wireBytes)")
            }
            guard dialect == "typed" else { return }
            let session = try #require(try await resumeTyped(edge, secrets[0]))
            #expect(session.fields["type"] as? String == "error" || !session.isCompressed)
        }

        private func resumeTyped(_ edge: Edge, _ token: String) async throws -> DeflateClient.Message? {
            let client = try await DeflateClient.open(edge) { $0.path("/?dialect=typed") }
            try await client.send(#"{"type":"connect","target":""}"#)
            let begun = try await client.next()
            let id = try #require(begun.fields["sessionId"] as? String)
            let own = try #require(begun.fields["token"] as? String)
            await client.socket.connection.reset()
            let again = try await DeflateClient.open(edge) { $0.path("/?dialect=typed") }
            try await again.send(#"{"type":"resume","sessionId":"\#(id)","token":"\#(own)","lastSeq":0}"#)
            let resumed = try await again.next()
            #expect(resumed.fields["type"] as? String == "resumed" && !resumed.isCompressed)
            return resumed
        }

        // MARK: What is refused

        @Test func `RSV1 without an agreement closes with 1002`() async throws {
            let edge = try await Self.start(.scripted)
            let socket = try await edge.gateway.open()
            socket.connection.post(WebSocketFrame(Opcode.text, [65], reserved: 4).encoded())
            #expect(try await socket.closedByServer().code == 1002)
        }

        @Test(arguments: [Opcode.continuation, Opcode.ping, Opcode.pong, Opcode.close])
        func `RSV1 on any frame but the first of a message closes with 1002`(opcode: UInt8) async throws {
            let edge = try await Self.start(.scripted)
            let client = try await DeflateClient.open(edge)
            let frames = client.frames(Array(Self.line.utf8), fragments: 2)
            let first = 2 + 4 + Int(frames[1] & 0x7F)
            client.socket.connection.post(Array(frames[..<first]))
            client.socket.connection.post(
                WebSocketFrame(opcode, [], reserved: 4).encoded())
            #expect(try await client.socket.closedByServer().code == 1002)
        }

        @Test func `data that is no DEFLATE closes with 1007`() async throws {
            let edge = try await Self.start(.scripted)
            for payload: [UInt8] in [[0xFF, 0xFF, 0xFF], [0x07], [0x06, 1, 2]] {
                let client = try await DeflateClient.open(edge)
                client.socket.connection.post(WebSocketFrame(Opcode.binary, payload, reserved: 4).encoded())
                let close = try await client.socket.closedByServer()
                #expect(close.code == 1007 && close.reason == "corrupt compressed data")
            }
            let client = try await DeflateClient.open(edge)
            client.socket.connection.post(client.frames([0x41, 0xC0, 0x80]))
            #expect(try await client.socket.closedByServer().reason == "text is not UTF-8")
            try await edge.expectHealthy()
        }

        @Test func `a compression bomb closes with 1009 and doesn't affect other sessions`() async throws {
            let edge = try await Self.start(.scripted) { $0.setting("LOG_LEVEL", "warning") }
            let neighbour = try await DeflateClient.open(edge)
            let neighbours = try await edge.target.connection()
            for index in 0..<20 {
                let client = try await DeflateClient.open(edge)
                let bomb = [UInt8](repeating: 0, count: 3_000_000)
                client.socket.connection.post(client.frames(bomb, isText: false, fragments: index % 3 + 1))
                #expect(try await client.socket.closedByServer().code == 1009)
                let target = try await edge.target.connection(index + 1)
                #expect(try await target.receiveToEnd().count <= 65_536)
                try await neighbour.send(Self.line)
                #expect(try await neighbours.receive(upTo: Self.line) == Array(Self.line.utf8))
            }
        }

        /// Each message may inflate to 64 KiB, and a read of 16 KiB holds hundreds of them: messages that the target
        /// has no room for aren't inflated.
        @Test func `small messages that become large use no memory before the target reads`() async throws {
            let edge = try await Self.start(.deaf)
            let idle = try ProcessMemory.residentKiB(of: edge.gateway.processID)
            let client = try await DeflateClient.open(edge, offer: "permessage-deflate")
            let target = try await edge.target.connection()
            let message = [UInt8](repeating: 0x61, count: 65_536)
            let count = 1_000
            var bytes: [UInt8] = []
            for _ in 0..<count { bytes += client.frames(message, isText: false) }
            // These include the messages that fit into a target's socket.
            #expect(bytes.count < count * 200)
            client.socket.connection.post(bytes + WebSocketFrame.ping([1]).encoded())
            for _ in 0..<20 { try await edge.expectHealthy() }
            let held = try ProcessMemory.peakKiB(of: edge.gateway.processID) - idle
            #expect(held < 8_192, "\(held) KiB")
            try await target.setReading(true)
            var left = count * message.count
            while left > 0 {
                let piece = try await target.receive(min(left, 1 << 20))
                #expect(piece.allSatisfy { $0 == 0x61 })
                left -= piece.count
            }
            #expect(try await client.socket.nextFrame().opcode == Opcode.pong)
            try await client.send(Self.line)
            #expect(try await target.receive(upTo: "\r\n") == Array(Self.line.utf8))
        }

        // MARK: Memory

        @Test
        func `without compression memory windows shrink, and no client is refused`() async throws {
            // Two whole sessions and a part of one.
            let edge = try await Self.start { $0.setting("WS_COMPRESSION_TOTAL_BYTES", 140_000) }
            var clients: [DeflateClient] = []
            var answers: [String?] = []
            for _ in 0..<12 {
                let client = try await DeflateClient.open(
                    edge, offer: "permessage-deflate; server_max_window_bits=15; client_max_window_bits")
                clients.append(client)
                answers.append(client.answer)
                try await client.socket.send(text: Self.line)
                #expect(try await client.receiveText(Self.line.utf8.count) == Self.line)
            }
            #expect(answers[0]?.contains("server_max_window_bits=12") == true)
            #expect(answers.contains { $0 != nil && $0?.contains("server_max_window_bits=12") == false })
            #expect(answers.last == .some(nil))
            // Sessions release their memory at their end.
            for client in clients { try await client.socket.close() }
            try await edge.gateway.errorLine("session ended")
            let first = try await DeflateClient.open(
                edge, offer: "permessage-deflate; server_max_window_bits=15; client_max_window_bits")
            #expect(first.answer?.contains("server_max_window_bits=12") == true)
        }

        /// A session without output releases its window at its next ping, and still compresses later.
        @Test func `idle sessions release compression memory for others`() async throws {
            let edge = try await Self.start {
                // One whole session takes more than three quarters of it.
                $0.setting("WS_COMPRESSION_TOTAL_BYTES", 66_300).setting("PING_INTERVAL_SECONDS", 1)
            }
            let offer = "permessage-deflate; server_max_window_bits=15; client_max_window_bits"
            let first = try await DeflateClient.open(edge, offer: offer)
            try await first.send(Self.line)
            #expect(try await first.receiveText(Self.line.utf8.count) == Self.line)
            func hasFullWindow(_ client: DeflateClient) -> Bool {
                client.answer?.contains("server_max_window_bits=12") == true
                    && client.answer?.contains("server_no_context_takeover") == false
            }
            let early = try await DeflateClient.open(edge, offer: offer)
            #expect(hasFullWindow(first) && !hasFullWindow(early))
            try await early.socket.close()
            // At the first ping there had been output since the previous one.
            for _ in 0..<2 {
                let ping = try await first.socket.nextFrame()
                #expect(ping.opcode == Opcode.ping)
                try await first.socket.send(WebSocketFrame(Opcode.pong, ping.payload))
            }
            #expect(hasFullWindow(try await DeflateClient.open(edge, offer: offer)))
            for _ in 0..<3 {
                try await first.send(Self.line)
                #expect(try await first.receiveText(Self.line.utf8.count) == Self.line)
            }
        }

        @Test func `the log has the size of the frames`() async throws {
            let edge = try await Self.start()
            let client = try await DeflateClient.open(edge)
            for _ in 0..<50 {
                try await client.send(Self.line)
                #expect(try await client.receiveText(Self.line.utf8.count) == Self.line)
            }
            try await client.socket.close()
            let line = try await edge.gateway.errorLine("session ended", "compression=permessage-deflate")
            let payload = try #require(line.firstMatch(of: /bytesToClient=([0-9]+)/).flatMap { Int($0.1) })
            let frames = try #require(line.firstMatch(of: /framesToClient=([0-9]+)/).flatMap { Int($0.1) })
            #expect(payload == 50 * Self.line.utf8.count)
            #expect(frames < payload / 4 && frames > client.received)
        }
    }
}
