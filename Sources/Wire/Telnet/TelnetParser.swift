/// One element of a telnet stream, in stream order.
package enum TelnetEvent: Hashable, Sendable {
    /// Data with IACs undoubled. The slice shares the input's storage, so nothing is copied. CR LF and CR NUL are kept.
    case data(ArraySlice<UInt8>)
    /// A two-byte command: GA, EOR, NOP, …, including undefined ones.
    case command(TelnetCommand)
    case negotiation(TelnetVerb, TelnetOption)
    /// A complete subnegotiation with IACs undoubled.
    case subnegotiation(TelnetOption, [UInt8])
    /// A subnegotiation that was too long or was cut off by another command. None of its bytes is delivered.
    case droppedSubnegotiation(TelnetOption)
}

/// Splits a telnet stream (RFC 854, RFC 855) into events. The result doesn't depend on how the stream is split into
/// pieces.
///
/// The parser is pulled: each call of ``next(_:)`` takes one event off the front of the input. A caller can therefore
/// stop after any event and give the rest of the buffer to another consumer. MCCP2 needs this because its compressed
/// bytes start right behind IAC SE.
///
/// It keeps at most ``maximumSubnegotiationBytes`` and a few words of state. Nothing is an error: invalid input is
/// skipped and the stream goes on.
package struct TelnetParser: Codable, Sendable {
    /// `MAX_SUBNEGOTIATION_BYTES`
    package static let defaultMaximumSubnegotiationBytes = 65_536

    /// The longest payload that is delivered, counted after undoubling. A longer subnegotiation is dropped whole.
    package let maximumSubnegotiationBytes: Int

    private var state = State.data
    private var payload: [UInt8] = []
    private var isOversized = false

    private enum State: Codable {
        case data
        case command
        case negotiation(TelnetVerb)
        case subnegotiationOption
        case subnegotiation(TelnetOption)
        case subnegotiationCommand(TelnetOption)
    }

    package init(maximumSubnegotiationBytes: Int = defaultMaximumSubnegotiationBytes) {
        self.maximumSubnegotiationBytes = maximumSubnegotiationBytes
    }

    /// Takes one event off the front of `input`; nil when `input` is used up. A data run ends at the end of the input
    /// at the latest.
    package mutating func next(_ input: inout ArraySlice<UInt8>) -> TelnetEvent? {
        while !input.isEmpty {
            if let event = step(&input) { return event }
        }
        return nil
    }

    /// All events of `bytes`, for callers that never need to stop between events.
    package mutating func parse(_ bytes: [UInt8]) -> [TelnetEvent] {
        var input = bytes[...]
        var events: [TelnetEvent] = []
        while let event = next(&input) { events.append(event) }
        return events
    }

    /// Consumes at least one byte of a non-empty input, or moves to a state that will.
    private mutating func step(_ input: inout ArraySlice<UInt8>) -> TelnetEvent? {
        switch state {
        case .data:
            if input.first != iac { return .data(takeRun(from: &input, startingAfter: 0)) }
            input.removeFirst()
            state = .command
            return nil
        case .command:
            return command(&input)
        case .negotiation(let verb):
            state = .data
            return input.popFirst().map { .negotiation(verb, TelnetOption(rawValue: $0)) }
        case .subnegotiationOption:
            // A subnegotiation without an option: its IAC introduces whatever follows.
            state = input.popFirst().map { $0 == iac ? .command : .subnegotiation(TelnetOption(rawValue: $0)) } ?? state
            return nil
        case .subnegotiation(let option):
            collect(takeRun(from: &input, startingAfter: 0))
            if input.popFirst() == iac { state = .subnegotiationCommand(option) }
            return nil
        case .subnegotiationCommand(let option):
            return subnegotiationCommand(option, &input)
        }
    }

    /// The byte after IAC.
    private mutating func command(_ input: inout ArraySlice<UInt8>) -> TelnetEvent? {
        state = .data
        // A doubled IAC is data. The run starts with the second one, so it needs no copy.
        if input.first == iac { return .data(takeRun(from: &input, startingAfter: 1)) }
        guard let byte = input.popFirst() else { return nil }
        if let verb = TelnetVerb(rawValue: byte) {
            state = .negotiation(verb)
        } else if byte == TelnetCommand.subnegotiationBegin.rawValue {
            state = .subnegotiationOption
        } else {
            return .command(TelnetCommand(rawValue: byte))
        }
        return nil
    }

    /// The byte after IAC inside a subnegotiation.
    private mutating func subnegotiationCommand(
        _ option: TelnetOption, _ input: inout ArraySlice<UInt8>
    ) -> TelnetEvent? {
        if input.first == iac {
            collect(input.prefix(1))
            input.removeFirst()
            state = .subnegotiation(option)
            return nil
        }
        if input.first == TelnetCommand.subnegotiationEnd.rawValue {
            input.removeFirst()
            state = .data
            let isComplete = !isOversized
            let bytes = takePayload()
            return isComplete ? .subnegotiation(option, bytes) : .droppedSubnegotiation(option)
        }
        // RFC 855 doesn't define this case. The peer forgot its IAC SE: the following command is more useful than the
        // unfinished subnegotiation.
        state = .command
        _ = takePayload()
        return .droppedSubnegotiation(option)
    }

    private mutating func collect(_ run: ArraySlice<UInt8>) {
        guard !isOversized else { return }
        guard run.count <= maximumSubnegotiationBytes - payload.count else {
            isOversized = true
            payload = []
            return
        }
        payload.append(contentsOf: run)
    }

    private mutating func takePayload() -> [UInt8] {
        defer {
            payload = []
            isOversized = false
        }
        return payload
    }

    /// Everything up to the next IAC, not counting the first `skipped` bytes.
    private func takeRun(from input: inout ArraySlice<UInt8>, startingAfter skipped: Int) -> ArraySlice<UInt8> {
        let end = input.dropFirst(skipped).firstIndex(of: iac) ?? input.endIndex
        defer { input = input[end...] }
        return input[..<end]
    }

    private var iac: UInt8 { TelnetCommand.interpretAsCommand.rawValue }
}
