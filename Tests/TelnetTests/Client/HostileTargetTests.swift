import Testing

@testable import Telnet

@Suite struct HostileTargetTests {
    private func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        [[UInt8]](repeating: bytes, count: count).flatMap { $0 }
    }

    /// All options in force.
    private func stage(mxp: MXPMode = .strip) -> ClientStage {
        var settings = TelnetClientSettings()
        settings.mxp = mxp
        settings.address = "192.0.2.1"
        var stage = ClientStage(settings, decompresses: true)
        for option in [0, 3, 24, 31, 39, 42] { _ = stage.replies(to: IAC, DO, option) }
        for option in [0, 3, 25, 69, 70, 86, 91, 200, 201] { _ = stage.replies(to: IAC, WILL, option) }
        return stage
    }

    // MARK: Storms

    @Test func `requests that can't be answered use no memory`() {
        for request in [
            subnegotiation(24, 1), subnegotiation(39, 1), subnegotiation(39, 1, 0, "IPADDRESS"),
            subnegotiation(42, 1, ";UTF-8"), subnegotiation(42, 1, ";X"), trace(IAC, DO, 31, IAC, DONT, 31),
            trace(IAC, WILL, 201, IAC, WONT, 201), trace(IAC, WILL, 1, IAC, WONT, 1),
        ] {
            var stage = stage()
            _ = stage.client.takeReplies()
            for _ in 0..<10 {
                _ = stage.events(of: repeated(request, 1_000))
                #expect(stage.client.replies.bytes.count <= ReplyBuffer.maximumBytes)
            }
            // Replies resume when there is room again.
            #expect(stage.client.takeReplies().count > ReplyBuffer.maximumBytes / 2)
            #expect(stage.receive(IAC, SB, 24, 1, IAC, SE, "on") == [text("on")])
            #expect(!stage.client.takeReplies().isEmpty)
        }
    }

    @Test func `a reply is queued whole or not at all`() {
        var buffer = ReplyBuffer()
        buffer.append([UInt8](repeating: 0, count: ReplyBuffer.maximumBytes - 1))
        buffer.append([1, 2])
        #expect(buffer.bytes.count == ReplyBuffer.maximumBytes - 1)
        buffer.append([3])
        #expect(buffer.bytes.count == ReplyBuffer.maximumBytes && buffer.bytes.last == 3)
        #expect(!buffer.hasRoom(for: 1))
        #expect(buffer.take().count == ReplyBuffer.maximumBytes && buffer.bytes.isEmpty)
        // Escaping counts: 8 190 IACs become 16 380 bytes, plus 5 bytes of framing.
        buffer.appendSubnegotiation(.gmcp, [UInt8](repeating: 255, count: 8_190))
        #expect(buffer.bytes.isEmpty)
        buffer.appendSubnegotiation(.gmcp, [UInt8](repeating: 255, count: 8_189))
        #expect(buffer.bytes.count == 16_383)
    }

    @Test func `an option whose answer didn't fit is unchanged`() {
        var stage = ClientStage()
        stage.client.replies.append([UInt8](repeating: 0, count: ReplyBuffer.maximumBytes - 2))
        #expect(stage.receive(IAC, WILL, 1) == [])
        _ = stage.client.takeReplies()
        #expect(stage.receive(IAC, WILL, 1) == [.echo(isSuppressed: true)])
    }

    @Test func `unknown options are refused once each`() {
        var stage = ClientStage()
        let all = (0...255).flatMap { trace(IAC, WILL, $0, IAC, DO, $0) }
        _ = stage.replies(to: all)
        #expect(stage.replies(to: all).isEmpty)
    }

    // MARK: Lengths

    @Test func `an oversized subnegotiation is dropped whole and the stream continues`() {
        var stage = ClientStage { $0.maximumSubnegotiationBytes = 10 }
        _ = stage.receive(IAC, WILL, 201)
        #expect(
            stage.receive(subnegotiation(201, "A 12345678"), "x") == [
                .gmcp(name: "A", data: Array("12345678".utf8)), text("x"),
            ])
        #expect(stage.receive(subnegotiation(201, "A 123456789"), "x") == [text("x")])
        #expect(stage.receive(IAC, SB, 201, repeated([65], 1_000_000), IAC, SE, "x") == [text("x")])
    }

    @Test(arguments: MXPMode.allCases, TextEncoding.allCases)
    func `no text is longer than its limit`(mxp: MXPMode, encoding: TextEncoding) {
        for unit in [[0x41], [0xE9], [0xB0], [0xE2, 0x98, 0x83], [0x41, 0xF0, 0x9F, 0x90, 0x89], [0x3C, 0x62, 0xB0]]
            as [[UInt8]]
        {
            var stage = ClientStage {
                $0.mxp = mxp
                $0.encoding = encoding
            }
            _ = stage.receive(IAC, WILL, 91)
            // Somewhat more than fits into one event.
            let input = repeated(unit, TelnetClient.maximumTextBytes * 11 / 10 / unit.count)
            let events = stage.events(of: input)
            #expect(areWellFormed(events) && events.count > 1, "\(unit)")
            guard mxp != .strip else { continue }
            // Nothing is lost at the boundaries.
            var decoder = TextDecoder(encoding: encoding)
            var all = input[...]
            #expect(joined(events) == [.text(decoder.decode(&all, limit: .max))], "\(unit)")
        }
    }

    @Test func `plain text comes in pieces of nearly the limit`() {
        var stage = ClientStage()
        #expect(stage.events(of: repeated([65], 65_536)).count == 5)
        #expect(stage.events(of: repeated([65], 16_000)).count == 1)
    }

    // MARK: Fuzz

    private static let seeds: [[UInt8]] = [
        TelnetClientTests.everything, subnegotiation(39, 1, 0, "CHARSET", 3, 2, 0), subnegotiation(24, 1),
        subnegotiation(42, 1, ";UTF-8;ISO-8859-1"), trace("\u{1B}[1z<send href='x'>&lt;b</send>\n", IAC, GA),
        subnegotiation(69, 1, "A", 2, 5, 2, 3, 1, "k", 2, "v", 4, 6), subnegotiation(70, 1, "N", 2, "v", 2, "w"),
        subnegotiation(201, "Char.Vitals {\"hp\":1}"), trace(0xE2, 0x98, IAC, EOR, 0x83, IAC, IAC, 0, 0xF0, 0x9F),
        subnegotiation(86), trace(0x78, 0x9C, 1, 5, 0, 0xFA, 0xFF, "hello"),
        (try? subnegotiation(86) + zlibStream(of: trace("in", IAC, GA, 0xC3))) ?? [],
    ]

    private func mutated(_ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = (0..<Int.random(in: 1...6, using: &generator)).flatMap { _ in
            Self.seeds.randomElement(using: &generator) ?? []
        }
        for _ in 0..<Int.random(in: 0...12, using: &generator) where !bytes.isEmpty {
            let index = bytes.indices.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: bytes[index] = .random(in: 0...255, using: &generator)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(contentsOf: [255, .random(in: 239...255, using: &generator)], at: index)
            default: bytes.insert(contentsOf: bytes[index...].prefix(20), at: index)
            }
        }
        return bytes
    }

    /// For any input: no trap, only valid text, bounded memory, and the same events and replies however the input is
    /// split.
    @Test(arguments: MXPMode.allCases)
    func `mutated sessions do no harm and are read the same however they are split`(mxp: MXPMode) {
        for seed in 0..<300 {
            var generator = SeededGenerator(state: UInt64(seed))
            let bytes = mutated(&generator)
            var (whole, pieces) = (stage(mxp: mxp), stage(mxp: mxp))
            let events = whole.events(of: bytes)
            var rest = bytes[...]
            var cutEvents: [TargetEvent] = []
            while !rest.isEmpty {
                let piece = rest.prefix(.random(in: 1...9, using: &generator))
                rest = rest.dropFirst(piece.count)
                cutEvents += pieces.events(of: Array(piece))
                #expect(pieces.client.replies.bytes.count <= ReplyBuffer.maximumBytes)
            }
            #expect(areWellFormed(events), "seed \(seed)")
            #expect(joined(cutEvents) == joined(events), "seed \(seed)")
            #expect(whole.client.failure == pieces.client.failure, "seed \(seed)")
            #expect(whole.client.finish() == pieces.client.finish(), "seed \(seed)")
            #expect(whole.client.takeReplies() == pieces.client.takeReplies(), "seed \(seed)")
            #expect(!whole.client.holdsBytes && !pieces.client.holdsBytes)
        }
    }
}
