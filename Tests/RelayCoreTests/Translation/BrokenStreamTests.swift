import Telnet
import Testing

@testable import RelayCore

/// A target whose compressed stream can't be inflated.
@Suite("A broken stream")
struct BrokenStreamTests {
    /// Fails as it is told to.
    private struct Failing: Decompressor {
        let error: DecompressionError

        mutating func decompress(
            _ input: inout ArraySlice<UInt8>, limit: Int
        ) throws(DecompressionError) -> Decompressed { throw error }
    }

    private struct Expanding: Decompressor {
        mutating func decompress(_ input: inout ArraySlice<UInt8>, limit: Int) -> Decompressed {
            input = input[input.endIndex...]
            return Decompressed(bytes: [UInt8](repeating: 65, count: limit), isEnd: false)
        }
    }

    private func failure(_ make: @escaping @Sendable () -> any Decompressor, ratio: Int = 100) throws -> TelnetFailure?
    {
        var session = try Conversation(.terminal, makeDecompressor: make)
        var settings = Transcript.telnet
        settings.decompression.ratio = ratio
        if ratio > 1_000 { settings.decompression.burst = 1 }
        session.translation.connected(Transcript.session, telnet: settings, into: &session.output)
        #expect(session.translation.brokenStream == nil)
        _ = session.hear([255, 251, 86, 255, 250, 86, 255, 240])
        for _ in 0..<10 where !session.translation.hasEnded { _ = session.hear(Array("x".utf8)) }
        #expect(session.translation.hasEnded)
        return session.translation.brokenStream
    }

    @Test func `is told apart by its cause`() throws {
        #expect(try failure { Failing(error: .corrupt) } == .corruptCompression)
        #expect(try failure { Failing(error: .outOfMemory) } == .outOfMemory)
        #expect(try failure { Expanding() } == .compressionRatio)
        #expect(try failure({ Expanding() }, ratio: 1_000_000) == .compressionRate)
    }

    @Test(arguments: [
        TelnetFailure.corruptCompression, .compressionRatio, .compressionRate, .outOfMemory,
    ])
    func `names the option that avoids it`(failure: TelnetFailure) {
        #expect(failure.remark.contains("mccp=off") && failure.remark.contains("TARGET_MCCP=off"))
        #expect(failure.remark.utf8.count <= 240, "a line of the log cuts longer texts")
    }
}
