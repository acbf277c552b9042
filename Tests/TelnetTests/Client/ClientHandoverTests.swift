import Compression
import StateCoding
import Telnet
import Testing

/// A client whose connection goes on in another process at any point of its stream.
@Suite("A telnet client in another process") struct ClientHandoverTests {
    private static let iac: UInt8 = 255, `do`: UInt8 = 253, will: UInt8 = 251, begin: UInt8 = 250, end: UInt8 = 240

    /// Options of every kind, subnegotiations, split characters, markup, prompts.
    private static var stream: [UInt8] {
        func sub(_ option: UInt8, _ payload: [UInt8]) -> [UInt8] { [iac, begin, option] + payload + [iac, end] }
        var bytes: [UInt8] = []
        for option: UInt8 in [1, 25, 201, 69, 70, 91, 42] { bytes += [iac, will, option] }
        for option: UInt8 in [24, 31, 39, 42] { bytes += [iac, `do`, option] }
        bytes += Array("Grüße 🥊 & <b>fett</b> \u{1B}[1zx".utf8) + [iac, iac, 13, 0, 13, 10]
        bytes += sub(201, Array(#"Char.Vitals {"hp":7}"#.utf8))
        bytes += sub(
            69, [1] + Array("HP".utf8) + [2] + Array("7".utf8) + [1] + Array("MP".utf8) + [2, 3, 1, 65, 2, 66, 4])
        bytes += sub(24, [1]) + sub(24, [1]) + Array("> ".utf8) + [iac, 249]
        bytes += sub(42, [1] + Array(";ISO-8859-1".utf8)) + [0xE4, 0xF6, iac, 239]
        bytes += [iac, 252, 1] + Array("<!-- hidden --> &lt; end\r\n".utf8)
        return bytes
    }

    /// What a client has said after a stream that was cut in two.
    private struct Outcome: Equatable {
        var events: [TargetEvent] = []
        var replies: [UInt8] = []
        var input: [UInt8] = []
    }

    private static func crossed(_ client: TelnetClient, _ settings: TelnetClientSettings) throws -> TelnetClient? {
        guard let state = client.state else { return nil }
        let bytes = try StateEncoder.bytes(of: state)
        return TelnetClient(
            try StateDecoder.decode(TelnetClient.State.self, from: bytes), settings: settings,
            makeDecompressor: { ZlibDecompressor() }, restoring: { ZlibDecompressor($0) })
    }

    private static func run(
        _ stream: [UInt8], cutAt cut: Int, mxp: MXPMode, takesReplies: Bool
    ) throws -> Outcome? {
        var settings = TelnetClientSettings()
        settings.mxp = mxp
        var stage = ClientStage(settings, decompresses: true)
        var outcome = Outcome()
        func go(_ bytes: ArraySlice<UInt8>) {
            outcome.events += stage.events(of: Array(bytes))
            if takesReplies { outcome.replies += stage.client.takeReplies() }
            outcome.input += stage.input("ä\r")
        }
        go(stream[..<cut])
        // The settings of the other process are other ones: what was agreed on doesn't change.
        var others = TelnetClientSettings()
        others.mxp = .pass
        others.clientName = "Other"
        guard let client = try crossed(stage.client, others) else { return nil }
        stage.client = client
        go(stream[cut...])
        outcome.replies += stage.client.takeReplies()
        outcome.events = joined(outcome.events)
        return outcome
    }

    @Test(arguments: [MXPMode.refuse, .strip, .pass], [false, true])
    func `goes on at every byte as if nothing had happened`(mxp: MXPMode, takesReplies: Bool) throws {
        let stream = Self.stream
        for cut in 0...stream.count {
            let expected = Self.reference(stream, cut, mxp: mxp, takesReplies: takesReplies)
            #expect(
                try Self.run(stream, cutAt: cut, mxp: mxp, takesReplies: takesReplies) == expected, "cut at \(cut)")
        }
    }

    /// The same calls on one client.
    private static func reference(_ stream: [UInt8], _ cut: Int, mxp: MXPMode, takesReplies: Bool) -> Outcome {
        var settings = TelnetClientSettings()
        settings.mxp = mxp
        var stage = ClientStage(settings, decompresses: true)
        var outcome = Outcome()
        for piece in [stream[..<cut], stream[cut...]] {
            outcome.events += stage.events(of: Array(piece))
            if takesReplies { outcome.replies += stage.client.takeReplies() }
            outcome.input += stage.input("ä\r")
        }
        outcome.replies += stage.client.takeReplies()
        outcome.events = joined(outcome.events)
        return outcome
    }

    @Test(arguments: [true, false]) func `knows whether its target negotiates`(negotiates: Bool) throws {
        var stage = ClientStage()
        _ = stage.events(of: negotiates ? [Self.iac, Self.will, 1] : Array("Welcome".utf8))
        let client = try #require(try Self.crossed(stage.client, TelnetClientSettings()))
        var output: [UInt8] = []
        client.keepAlive(to: &output)
        #expect(output == (negotiates ? [Self.iac, 241] : []))
    }

    @Test func `goes on with an event that was held back`() throws {
        var stage = ClientStage(decompresses: true)
        _ = stage.events(of: [Self.iac, Self.will, 25])
        var input = (Array("> ".utf8) + [Self.iac, 249])[...]
        // The character that is split comes out with the prompt mark, and the prompt after it.
        var split = ([0xC3] as [UInt8])[...]
        _ = stage.client.next(&split, now: 0)
        #expect(stage.client.next(&input, now: 0) != nil)
        while stage.client.holdsBytes == false, stage.client.next(&input, now: 0) != nil {}
        var other = try #require(try Self.crossed(stage.client, TelnetClientSettings()))
        #expect(other.holdsBytes == stage.client.holdsBytes)
        #expect(other.next(&input, now: 0) == stage.client.next(&input, now: 0))
    }

    @Test func `goes on with a compressed stream wherever its target has flushed`() throws {
        let compressed = try compressedStream(["one ", "two ", String(repeating: "three ", count: 2_000), "end\r\n"])
        let start: [UInt8] = [Self.iac, Self.will, 86, Self.iac, Self.begin, 86, Self.iac, Self.end]
        let stream = start + compressed.bytes + Array("plain again".utf8)
        var whole = ClientStage(decompresses: true)
        let expected = joined(whole.events(of: stream))
        var moved = 0
        for cut in 0...stream.count {
            var stage = ClientStage(decompresses: true)
            var events = stage.events(of: Array(stream[..<cut]))
            guard let client = try Self.crossed(stage.client, TelnetClientSettings()) else { continue }
            moved += 1
            stage.client = client
            events += stage.events(of: Array(stream[cut...]))
            #expect(joined(events) == expected, "cut at \(cut)")
        }
        // In the text before and after, and where the target has flushed, at least.
        #expect(moved >= start.count + "plain again".count + compressed.flushes)
    }

    @Test func `can't take a stream that it can't inflate`() throws {
        let compressed = try compressedStream(["one "])
        var stage = ClientStage(decompresses: true)
        let start: [UInt8] = [Self.iac, Self.will, 86, Self.iac, Self.begin, 86, Self.iac, Self.end]
        _ = stage.events(of: start + compressed.bytes.prefix(compressed.firstFlush))
        let state = try #require(stage.client.state)
        let client = TelnetClient(
            state, settings: TelnetClientSettings(), makeDecompressor: { ZlibDecompressor() }, restoring: { _ in nil })
        #expect(client == nil)
    }
}
