import Telnet

/// Bytes of a telnet stream in readable form: `trace("say hi", IAC, GA)`.
func trace(_ parts: any TraceBytes...) -> [UInt8] {
    parts.flatMap(\.bytes)
}

protocol TraceBytes {
    var bytes: [UInt8] { get }
}

extension String: TraceBytes {
    var bytes: [UInt8] { Array(utf8) }
}

extension Int: TraceBytes {
    var bytes: [UInt8] { [UInt8(self)] }
}

// The names are those of RFC 854.
// swift-format-ignore: AlwaysUseLowerCamelCase
let (IAC, DONT, DO, WONT, WILL, SB, GA, NOP, SE, EOR) = (255, 254, 253, 252, 251, 250, 249, 241, 240, 239)

/// The events of `pieces` in order, with adjacent data runs joined: this doesn't depend on how the stream was split.
func events(of pieces: [[UInt8]], limit: Int = TelnetParser.defaultMaximumSubnegotiationBytes) -> [TelnetEvent] {
    var parser = TelnetParser(maximumSubnegotiationBytes: limit)
    var joined: [TelnetEvent] = []
    for event in pieces.flatMap({ parser.parse($0) }) {
        if case .data(let run) = event, case .data(let before)? = joined.last {
            joined[joined.count - 1] = .data(before + run)
        } else {
            joined.append(event)
        }
    }
    return joined
}

func data(_ text: String) -> TelnetEvent {
    .data(Array(text.utf8)[...])
}

/// A reproducible random number generator (SplitMix64), so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
