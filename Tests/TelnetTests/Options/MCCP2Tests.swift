import Compression
import Testing

@testable import Telnet

@Suite struct MCCP2Tests {
    private static let start = subnegotiation(86)

    private func stage(_ change: (inout DecompressionLimits) -> Void = { _ in }) -> ClientStage {
        var settings = TelnetClientSettings()
        change(&settings.decompression)
        var stage = ClientStage(settings, decompresses: true)
        #expect(stage.replies(to: IAC, WILL, 86) == trace(IAC, DO, 86))
        return stage
    }

    /// Text that doesn't compress well.
    private func noise(_ count: Int) -> [UInt8] {
        var generator = SeededGenerator(state: 86)
        return (0..<count).map { _ in UInt8.random(in: 0x20...0x7E, using: &generator) }
    }

    @Test func `every byte after the start is inflated, and none after the end`() throws {
        var stage = stage()
        let inside = trace("inside ", IAC, GA, "é", IAC, WILL, 1, IAC, IAC)
        let stream = try trace("before ") + Self.start + zlibStream(of: inside) + trace(" behind")
        let said: [TargetEvent] = [
            text("before inside "), .prompt, text("é"), .echo(isSuppressed: true), text("ÿ behind"),
        ]
        #expect(stage.receive(stream) == said)
        for cut in 0...stream.count {
            var stage = self.stage()
            let events = stage.events(of: Array(stream[..<cut])) + stage.events(of: Array(stream[cut...]))
            #expect(joined(events) == said, "cut at \(cut)")
        }
        var bytewise = self.stage()
        #expect(joined(stream.flatMap { bytewise.events(of: [$0]) }) == said)
        #expect(bytewise.client.failure == nil)
    }

    @Test func `compression can begin again`() throws {
        var stage = stage()
        for round in 0..<3 {
            #expect(
                stage.receive(Self.start, try zlibStream(of: Array("in \(round)".utf8)), "out") == [
                    text("in \(round)out")
                ])
        }
    }

    @Test func `a character or a command may span the switch`() throws {
        var stage = stage()
        #expect(stage.receive(0xE2, Self.start, try zlibStream(of: [0x98, 0x83, 0xFF]), 249) == [text("☃"), .prompt])
    }

    @Test func `a target that is told to send uncompressed isn't inflated, even if it compresses`() throws {
        var settings = TelnetClientSettings()
        settings.mccp = .off
        var stage = ClientStage(settings, decompresses: true)
        #expect(stage.replies(to: IAC, WILL, 86) == trace(IAC, DONT, 86))
        #expect(stage.receive(Self.start, "this is no zlib stream") == [text("this is no zlib stream")])
        #expect(stage.client.failure == nil)
    }

    @Test func `without an agreement the start has no effect`() throws {
        var refusing = ClientStage()
        #expect(refusing.replies(to: IAC, WILL, 86) == trace(IAC, DONT, 86))
        #expect(refusing.receive(Self.start, "plain") == [text("plain")])
        var unasked = ClientStage(TelnetClientSettings(), decompresses: true)
        #expect(unasked.receive(Self.start, "plain") == [text("plain")])
        // A second start inside the stream isn't accepted either.
        var stage = stage()
        #expect(stage.receive(Self.start, try zlibStream(of: Self.start + trace("x"))) == [text("x")])
    }

    @Test func `long text is pulled in pieces`() throws {
        let long = noise(100_000)
        var stage = stage()
        var input = try (Self.start + zlibStream(of: long))[...]
        var text: [UInt8] = []
        while let event = stage.client.next(&input, now: 0) {
            guard case .text(let piece) = event else { continue }
            #expect(piece.count <= TelnetClient.maximumTextBytes)
            text += piece
        }
        #expect(text == long)
        #expect(input.isEmpty && !stage.client.holdsBytes)
    }

    @Test func `inflated output is held until it is pulled`() throws {
        var stage = stage()
        var input = try (Self.start + zlibStream(of: [UInt8](repeating: 65, count: 60_000)))[...]
        _ = stage.client.next(&input, now: 0)
        #expect(stage.client.holdsBytes)
        let rest = stage.events(of: Array(input))
        #expect(joined(rest).count == 1)
        #expect(!stage.client.holdsBytes)
    }

    @Test func `output in the decompressor is pulled without further input`() throws {
        var stage = stage()
        // The last copy crosses the end of a piece, and the checksum hasn't come yet.
        let length = MCCP2.pieceBytes + 100
        let stream = try zlibStream(of: [UInt8](repeating: 65, count: length)).dropLast(4)
        var input = (Self.start + stream)[...]
        var text: [UInt8] = []
        while case .text(let piece)? = stage.client.next(&input, now: 0) {
            text += piece
            #expect(stage.client.holdsBytes || text.count == length)
        }
        #expect(text.count == length)
    }

    // MARK: Failures

    @Test func `a corrupt stream ends the connection`() throws {
        var stage = stage()
        #expect(stage.receive("a", Self.start, "this is no zlib") == [text("a")])
        #expect(stage.client.failure == .corruptCompression)
        var input = trace("more")[...]
        #expect(stage.client.next(&input, now: 0) == nil)
        #expect(input.isEmpty && !stage.client.holdsBytes)
        #expect(stage.client.finish() == nil)
    }

    @Test func `a truncated stream gives what it has`() throws {
        var stage = stage()
        let events = stage.receive(Self.start, Array(try zlibStream(of: noise(5_000)).dropLast(100)))
        #expect(events.count == 1 && stage.client.failure == nil)
        #expect(stage.client.finish() == nil)
    }

    @Test func `a compression bomb ends the connection at the ratio`() throws {
        let bomb = try zlibStream(of: [UInt8](repeating: 0x20, count: 2_000_000), level: 9)
        #expect(bomb.count < 2_100)
        var stage = stage()
        var length = 0
        for case .text(let piece) in stage.events(of: Self.start + bomb) { length += piece.count }
        #expect(stage.client.failure == .compressionRatio)
        // The compressed bytes pay for a hundred times their size, plus the allowance.
        #expect(length <= 65_536 + 100 * bomb.count)
        #expect(length < 200_000)
    }

    @Test func `the ratio is exact to the byte`() throws {
        for (excess, failure) in [(0, nil), (1, TelnetFailure.compressionRatio)] {
            var budget = InflationBudget(limits: DecompressionLimits())
            try budget.spend(compressed: 10, inflated: 65_536 + 1_000, now: 0)
            try budget.spend(compressed: 10, inflated: 1_000, now: 0)
            #expect(thrown { try budget.spend(compressed: 1, inflated: 100 + excess, now: 0) } == failure)
        }
        // Unused credit is saved only up to the allowance.
        var saver = InflationBudget(limits: DecompressionLimits())
        try saver.spend(compressed: 1_000_000, inflated: 0, now: 0)
        #expect(thrown { try saver.spend(compressed: 0, inflated: 65_537, now: 0) } == .compressionRatio)
    }

    @Test func `the rate is exact to the byte and recovers with time`() throws {
        var limits = DecompressionLimits()
        limits.ratio = 1_000_000
        (limits.bytesPerSecond, limits.burst) = (1_000, 5_000)
        for (excess, failure) in [(0, nil), (1, TelnetFailure.compressionRate)] {
            var budget = InflationBudget(limits: limits)
            try budget.spend(compressed: 1, inflated: 5_000, now: 7_000_000_000)
            try budget.spend(compressed: 1, inflated: 500, now: 7_500_000_000)
            // A clock that steps back neither adds nor removes credit.
            try budget.spend(compressed: 1, inflated: 0, now: 0)
            #expect(thrown { try budget.spend(compressed: 1, inflated: 1_000 + excess, now: 8_500_000_000) } == failure)
        }
        var rested = InflationBudget(limits: limits)
        try rested.spend(compressed: 1, inflated: 5_000, now: 0)
        #expect(thrown { try rested.spend(compressed: 1, inflated: 5_001, now: .max) } == .compressionRate)
    }

    @Test func `exceeding the rate ends the connection`() throws {
        var stage = stage {
            $0.bytesPerSecond = 1_000
            $0.burst = 50_000
        }
        let stream = try zlibStream(of: noise(50_001))
        _ = stage.receive(Self.start, stream)
        #expect(stage.client.failure == .compressionRate)
    }

    @Test func `starting again doesn't reset the limits`() throws {
        var stage = stage()
        // Each stream alone stays within the allowance.
        let stream = try Self.start + zlibStream(of: [UInt8](repeating: 65, count: 60_000))
        for _ in 0..<3 { _ = stage.receive(stream) }
        #expect(stage.client.failure == .compressionRatio)
    }

    @Test func `extreme limits do no harm`() throws {
        var limits = DecompressionLimits()
        (limits.ratio, limits.allowance, limits.bytesPerSecond, limits.burst) = (.max, .max, .max, .max)
        var budget = InflationBudget(limits: limits)
        try budget.spend(compressed: 1 << 30, inflated: 1 << 30, now: .max)
        (limits.ratio, limits.allowance, limits.bytesPerSecond, limits.burst) = (.min, .min, .min, .min)
        budget = InflationBudget(limits: limits)
        #expect(thrown { try budget.spend(compressed: 1, inflated: 1, now: 0) } == .compressionRatio)
    }

    private func thrown(_ body: () throws -> Void) -> TelnetFailure? {
        do { try body() } catch { return error as? TelnetFailure }
        return nil
    }
}
