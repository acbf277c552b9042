import Telnet
import Testing

@Suite struct TelnetParserTests {
    /// A stream with one event of each kind, and those events.
    static let everything = trace(
        "Welcome\r\n", IAC, WILL, 1, IAC, DO, 31, "naïve ", IAC, IAC, "y", IAC, IAC, IAC, IAC,
        IAC, SB, 201, "Room.Info {}", IAC, SE, IAC, SB, 31, 0, IAC, IAC, 0, 24, IAC, SE, IAC, SB, 86, IAC, SE,
        "> ", IAC, GA, IAC, NOP, IAC, EOR, IAC, WONT, 1, IAC, DONT, 255, "\r\0end")
    static let everythingSaid: [TelnetEvent] = [
        data("Welcome\r\n"), .negotiation(.will, .echo), .negotiation(.do, .windowSize),
        .data((Array("naïve ".utf8) + [255, UInt8(ascii: "y"), 255, 255])[...]),
        .subnegotiation(.gmcp, Array("Room.Info {}".utf8)), .subnegotiation(.windowSize, [0, 255, 0, 24]),
        .subnegotiation(.mccp2, []),
        data("> "), .command(.goAhead), .command(.noOperation), .command(.endOfRecord),
        .negotiation(.wont, .echo), .negotiation(.dont, TelnetOption(rawValue: 255)), data("\r\0end"),
    ]

    @Test func `a stream is split into its events in order`() {
        #expect(events(of: [Self.everything]) == Self.everythingSaid)
    }

    @Test func `the result doesn't depend on where the stream is split`() {
        let stream = Self.everything
        for cut in 0...stream.count {
            #expect(events(of: [Array(stream[..<cut]), Array(stream[cut...])]) == Self.everythingSaid, "cut at \(cut)")
        }
        #expect(events(of: stream.map { [$0] }) == Self.everythingSaid)
    }

    @Test func `a data run shares the input and isn't split without need`() {
        var parser = TelnetParser()
        let input = Array("one long run of plain text\r\n".utf8)
        #expect(parser.parse(input) == [.data(input[...])])
        // A doubled IAC begins a new run and occurs in it once.
        #expect(parser.parse(trace("a", IAC, IAC, "b")) == [data("a"), .data([255, UInt8(ascii: "b")])])
    }

    @Test func `the caller can stop after any event and keep the rest`() {
        var parser = TelnetParser()
        var input = trace("text", IAC, SB, 86, IAC, SE, 120, 156, 255, 240)[...]
        #expect(parser.next(&input) == data("text"))
        #expect(parser.next(&input) == .subnegotiation(.mccp2, []))
        #expect(Array(input) == [120, 156, 255, 240])
    }

    @Test func `undefined commands are delivered for the caller to ignore`() {
        #expect(
            events(of: [trace(IAC, 7, "x", IAC, SE, "y")]) == [
                .command(TelnetCommand(rawValue: 7)), data("x"), .command(.subnegotiationEnd), data("y"),
            ])
    }

    @Test func `an endless row of IACs is half as much data`() {
        let row = [UInt8](repeating: 255, count: 1001)
        #expect(events(of: [row]) == [.data([UInt8](repeating: 255, count: 500)[...])])
    }

    // MARK: Subnegotiations that go wrong

    @Test func `a subnegotiation at the limit is delivered and one byte more drops it whole`() {
        let limit = 8
        for (length, expected) in [
            (limit, TelnetEvent.subnegotiation(.gmcp, [UInt8](repeating: 65, count: limit))),
            (limit + 1, .droppedSubnegotiation(.gmcp)), (1000, .droppedSubnegotiation(.gmcp)),
        ] {
            let stream = trace("a", IAC, SB, 201) + [UInt8](repeating: 65, count: length) + trace(IAC, SE, "b")
            let wanted = [data("a"), expected, data("b")]
            #expect(events(of: [stream], limit: limit) == wanted)
            #expect(events(of: stream.map { [$0] }, limit: limit) == wanted)
        }
    }

    @Test func `the default limit is 65536`() {
        let full = [UInt8](repeating: 1, count: 65_536)
        #expect(events(of: [trace(IAC, SB, 201) + full + trace(IAC, SE)]) == [.subnegotiation(.gmcp, full)])
        #expect(events(of: [trace(IAC, SB, 201) + full + trace(1, IAC, SE)]) == [.droppedSubnegotiation(.gmcp)])
    }

    @Test func `doubled IACs count once toward the limit`() {
        let four = trace(IAC, IAC, IAC, IAC, IAC, IAC, IAC, IAC)
        #expect(
            events(of: [trace(IAC, SB, 0) + four + trace(IAC, SE)], limit: 4)
                == [.subnegotiation(.binary, [255, 255, 255, 255])])
        #expect(
            events(of: [trace(IAC, SB, 0) + four + trace(IAC, IAC, IAC, SE)], limit: 4)
                == [.droppedSubnegotiation(.binary)])
    }

    @Test func `the subnegotiation after a dropped one is whole`() {
        let stream = trace(IAC, SB, 201, "too long", IAC, SE, IAC, SB, 31, 0, 80, 0, 24, IAC, SE)
        #expect(
            events(of: [stream], limit: 4)
                == [.droppedSubnegotiation(.gmcp), .subnegotiation(.windowSize, [0, 80, 0, 24])])
    }

    @Test func `an unterminated subnegotiation ends at the next command`() {
        #expect(
            events(of: [trace(IAC, SB, 201, "half", IAC, WILL, 1, "on")])
                == [.droppedSubnegotiation(.gmcp), .negotiation(.will, .echo), data("on")])
        #expect(
            events(of: [trace(IAC, SB, 201, "half", IAC, SB, 31, 0, 80, 0, 24, IAC, SE)])
                == [.droppedSubnegotiation(.gmcp), .subnegotiation(.windowSize, [0, 80, 0, 24])])
    }

    @Test func `a subnegotiation without an option is skipped`() {
        #expect(
            events(of: [trace("a", IAC, SB, IAC, SE, "b")]) == [data("a"), .command(.subnegotiationEnd), data("b")])
    }

    // MARK: Chance

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `any bytes mean the same however they are split`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        // Mostly bytes with a meaning, so that every state is reached often.
        let telling: [UInt8] = [255, 255, 255, 250, 240, 251, 253, 249, 201, 31, 65, 13, 10, 0]
        for _ in 0..<200 {
            let stream = (0..<Int.random(in: 0...120, using: &random)).map { _ in
                Int.random(in: 0..<8, using: &random) == 0
                    ? UInt8.random(in: 0...255, using: &random) : telling.randomElement(using: &random) ?? 0
            }
            let whole = events(of: [stream], limit: 6)
            #expect(events(of: stream.map { [$0] }, limit: 6) == whole)
            var pieces: [[UInt8]] = []
            var rest = stream[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...rest.count, using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(events(of: pieces, limit: 6) == whole)
            #expect(whole.map(deliveredBytes).reduce(0, +) <= stream.count)
            #expect(
                whole.allSatisfy { event in
                    if case .subnegotiation(_, let bytes) = event { bytes.count <= 6 } else { true }
                })
        }
    }

    private func deliveredBytes(_ event: TelnetEvent) -> Int {
        switch event {
        case .data(let run): run.count
        case .subnegotiation(_, let bytes): bytes.count
        default: 0
        }
    }
}
