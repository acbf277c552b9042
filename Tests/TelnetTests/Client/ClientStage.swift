import Compression
import Telnet

/// A telnet client with the test as its target.
struct ClientStage {
    var client: TelnetClient
    /// Nanoseconds.
    var now: UInt64 = 1_000_000_000

    init(_ settings: TelnetClientSettings = TelnetClientSettings(), decompresses: Bool = false) {
        let makeDecompressor: @Sendable () -> any Decompressor = { ZlibDecompressor() }
        client = TelnetClient(settings: settings, makeDecompressor: decompresses ? makeDecompressor : nil)
    }

    init(_ change: (inout TelnetClientSettings) -> Void) {
        var settings = TelnetClientSettings()
        change(&settings)
        self.init(settings)
    }

    /// All events of `bytes`, unjoined.
    mutating func events(of bytes: [UInt8]) -> [TargetEvent] {
        var input = bytes[...]
        var events: [TargetEvent] = []
        while let event = client.next(&input, now: now) { events.append(event) }
        return events
    }

    /// All events of the traced bytes, with text joined.
    mutating func receive(_ parts: any TraceBytes...) -> [TargetEvent] {
        joined(events(of: parts.flatMap(\.bytes)))
    }

    /// The client's replies to the traced bytes.
    mutating func replies(to parts: any TraceBytes...) -> [UInt8] {
        _ = events(of: parts.flatMap(\.bytes))
        return client.takeReplies()
    }

    mutating func input(_ text: String) -> [UInt8] {
        var output: [UInt8] = []
        client.appendInput(Array(text.utf8)[...], to: &output)
        return output
    }
}

/// Joins adjacent texts, so that the result doesn't depend on how the stream was split.
func joined(_ events: [TargetEvent]) -> [TargetEvent] {
    var result: [TargetEvent] = []
    for event in events {
        if case .text(let text) = event, case .text(let before)? = result.last {
            result[result.count - 1] = .text(before + text)
        } else {
            result.append(event)
        }
    }
    return result
}

func text(_ text: String) -> TargetEvent { .text(Array(text.utf8)[...]) }

/// `IAC SB option payload IAC SE`
func subnegotiation(_ option: Int, _ parts: any TraceBytes...) -> [UInt8] {
    trace(IAC, SB, option) + parts.flatMap(\.bytes) + trace(IAC, SE)
}

extension [UInt8]: TraceBytes {
    var bytes: [UInt8] { self }
}

/// Whether every text of `events` is valid UTF-8, without NUL, not empty and not too long.
func areWellFormed(_ events: [TargetEvent]) -> Bool {
    events.allSatisfy { event in
        switch event {
        case .text(let bytes):
            !bytes.isEmpty && bytes.count <= TelnetClient.maximumTextBytes && isText(Array(bytes))
        case .gmcp(let name, let data): GMCP.isName(name.utf8) && isText(data)
        default: true
        }
    }
}

private func isText(_ bytes: [UInt8]) -> Bool {
    // The standard library's validation is independent of ours.
    String(validating: bytes, as: UTF8.self) != nil && !bytes.contains(0)
}
