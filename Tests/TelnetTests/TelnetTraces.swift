import Telnet

/// Bytes of a telnet stream, written as they are read: `trace("say hi", IAC, GA)`.
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

// The names are RFC 854's own.
// swift-format-ignore: AlwaysUseLowerCamelCase
let (IAC, DONT, DO, WONT, WILL, SB, GA, NOP, SE, EOR) = (255, 254, 253, 252, 251, 250, 249, 241, 240, 239)

/// Events of `pieces`, one after the other, with neighbouring data runs joined: what doesn't depend on where the stream was cut.
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

/// A reproducible source of randomness (SplitMix64), so that a failure can be run again.
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
