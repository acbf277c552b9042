/// What a telnet stream says, in the order it says it.
package enum TelnetEvent: Hashable, Sendable {
    /// Data with its IACs undoubled. The slice shares the input's storage, nothing is copied; CR LF and CR NUL stay as they came.
    case data(ArraySlice<UInt8>)
    /// A command of two bytes: GA, EOR, NOP, …, also undefined ones.
    case command(TelnetCommand)
    case negotiation(TelnetVerb, TelnetOption)
    /// A complete subnegotiation, its IACs undoubled.
    case subnegotiation(TelnetOption, [UInt8])
    /// A subnegotiation that was too long, or broke off in another command. None of its bytes is delivered.
    case droppedSubnegotiation(TelnetOption)
}

/// Splits a telnet stream (RFC 854, RFC 855) into events, whatever pieces it arrives in.
///
/// The parser is pulled: each call of ``next(_:)`` takes one event off the front of the input. A caller can so stop after any
/// event and give the rest of the buffer to somebody else, as MCCP2 needs it, whose compressed bytes start right behind IAC SE.
///
/// It keeps at most ``maximumSubnegotiationBytes`` and a few words of state. Nothing is an error: a peer that sends nonsense
/// loses that nonsense, and the stream goes on.
package struct TelnetParser: Sendable {
    /// `MAX_SUBNEGOTIATION_BYTES`
    package static let defaultMaximumSubnegotiationBytes = 65_536

    /// The longest payload, counted after undoubling, that is delivered; one byte more drops the subnegotiation whole.
    package let maximumSubnegotiationBytes: Int

    private var state = State.data
    private var payload: [UInt8] = []
    private var isOversized = false

    private enum State {
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

    /// Takes one event off the front of `input`; nil when `input` is used up. A data run ends with the input, at the latest.
    package mutating func next(_ input: inout ArraySlice<UInt8>) -> TelnetEvent? {
        while !input.isEmpty {
            if let event = step(&input) { return event }
        }
        return nil
    }

    /// All events of `bytes`, for callers that never need to stop in between.
    package mutating func parse(_ bytes: [UInt8]) -> [TelnetEvent] {
        var input = bytes[...]
        var events: [TelnetEvent] = []
        while let event = next(&input) { events.append(event) }
        return events
    }

    /// Consumes at least one byte of a non-empty input, or changes to a state that will.
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
            // A subnegotiation about nothing: its IAC introduces whatever follows.
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
        // A doubled IAC is data: the run starts with the second one, and so needs no copy.
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
        // RFC 855 leaves this open. The peer forgot its IAC SE: what follows is worth more than what broke off.
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
