import Telnet
import Testing

/// A real MUD's stream through the parser.
@Suite("A recorded session of Evennia")
struct EvenniaRecordingTests {
    private static func text(of events: [TelnetEvent]) -> String {
        let runs = events.map { event -> [UInt8] in
            guard case .data(let run) = event else { return [] }
            return Array(run)
        }
        return String(decoding: runs.flatMap(\.self), as: UTF8.self)
    }

    private static func messages(_ option: TelnetOption, in events: [TelnetEvent]) -> [String] {
        events.compactMap { event in
            guard case .subnegotiation(option, let payload) = event else { return nil }
            return String(decoding: payload, as: UTF8.self)
        }
    }

    @Test func `is split cleanly into text and messages`() {
        let all = events(of: [EvenniaRecording.plain])
        let text = Self.text(of: all)
        #expect(text.hasPrefix("\r\n\u{1B}[1m\u{1B}[34m====="))
        #expect(text.contains("A new account 'Berta' was created.") && text.contains("Echo returns: ['hello'], {}"))
        #expect(
            text.unicodeScalars.allSatisfy { $0.value >= 32 && $0.isASCII || "\r\n\u{1B}".unicodeScalars.contains($0) })
        let messages = Self.messages(.gmcp, in: all)
        #expect(messages.first == "Logged.In" && messages.count == 2)
        #expect(messages.last?.contains(#""SCREENWIDTH": {"0": 77}"#) == true)
    }

    @Test func `is read the same wherever it is split`() {
        let bytes = EvenniaRecording.plain
        let whole = events(of: [bytes])
        for cut in 1..<bytes.count {
            #expect(events(of: [Array(bytes[..<cut]), Array(bytes[cut...])]) == whole, "at \(cut)")
        }
    }

    @Test func `switches to compression directly after MCCP2's subnegotiation`() throws {
        let bytes = EvenniaRecording.compressed
        let start = try #require(bytes.indices.first { bytes[$0...].starts(with: [255, 250, 86, 255, 240]) })
        // A zlib stream of RFC 1950 with a window of 32 KiB.
        #expect(bytes[start + 5] == 0x78)
        #expect((Int(bytes[start + 5]) << 8 | Int(bytes[start + 6])).isMultiple(of: 31))
    }
}
