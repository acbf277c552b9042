import Telnet

/// The telnet end of one connection: turns bytes into lines and client events, and lines into bytes.
///
/// It offers END-OF-RECORD and GMCP, and requests the window size and the terminal type. A client that supports none of
/// these gets plain text with colours, and each prompt ends with GA.
struct MudTerminal: Sendable {
    enum Input: Hashable, Sendable {
        case line(String)
        case lineTooLong
        case gmcpBegins
        /// A message from the client, split at the first space; its parts are unchecked.
        case gmcp(package: String, json: [UInt8])
    }

    static let defaultWidth = 78
    private static let usableWidths = 20...200

    private let limits: MudLimits
    private var parser: TelnetParser
    private var encoder = TelnetEncoder()
    private var options = OptionNegotiation(
        acceptingLocal: [.suppressGoAhead, .endOfRecord, .gmcp], remote: [.windowSize, .terminalType])
    private var lines: LineBuffer
    private var output: [UInt8] = []

    /// Columns and rows of the client's window, as the client sent them; 0 means unknown (RFC 1073).
    private(set) var windowSize: (columns: UInt16, rows: UInt16)?
    /// The client's answers to TERMINAL-TYPE, in order: with MTTS its name, its terminal and `MTTS <bits>`.
    private(set) var terminalTypes: [String] = []

    init(limits: MudLimits) {
        self.limits = limits
        parser = TelnetParser(maximumSubnegotiationBytes: limits.maximumSubnegotiationBytes)
        lines = LineBuffer(maximumBytes: limits.maximumLineBytes)
    }

    var hasGMCP: Bool { options.isOn(.gmcp, .local) }

    mutating func open() {
        turnOn(.endOfRecord, .local)
        turnOn(.gmcp, .local)
        turnOn(.windowSize, .remote)
        turnOn(.terminalType, .remote)
    }

    // MARK: In

    mutating func receive(_ bytes: [UInt8]) -> [Input] {
        var inputs: [Input] = []
        var rest = bytes[...]
        while let event = parser.next(&rest) {
            switch event {
            case .data(let run):
                inputs += run.compactMap { lines.append($0) }.map { line in
                    switch line {
                    case .complete(let text): .line(text)
                    case .tooLong: .lineTooLong
                    }
                }
            case .negotiation(let verb, let option):
                if negotiated(option, options.received(verb, option)) { inputs.append(.gmcpBegins) }
            case .subnegotiation(let option, let payload):
                if let input = subnegotiation(option, payload) { inputs.append(input) }
            case .command, .droppedSubnegotiation:
                break
            }
        }
        return inputs
    }

    /// Returns whether GMCP may be sent from now on.
    private mutating func negotiated(_ option: TelnetOption, _ step: OptionNegotiation.Step) -> Bool {
        if let reply = step.reply { TelnetEncoder.appendNegotiation(reply, option, to: &output) }
        guard step.change == true else { return false }
        if option == .terminalType { askForTerminalType() }
        return option == .gmcp
    }

    private mutating func subnegotiation(_ option: TelnetOption, _ payload: [UInt8]) -> Input? {
        switch option {
        case .windowSize where options.isOn(option, .remote) && payload.count == 4:
            windowSize = (
                columns: UInt16(payload[0]) << 8 | UInt16(payload[1]),
                rows: UInt16(payload[2]) << 8 | UInt16(payload[3])
            )
        case .terminalType where options.isOn(option, .remote) && payload.first == TerminalTypeCode.is:
            learnTerminalType(String(decoding: payload.dropFirst(), as: UTF8.self))
        case .gmcp where hasGMCP:
            let parts = payload.split(separator: UInt8(ascii: " "), maxSplits: 1)
            let package = String(decoding: parts.first ?? [], as: UTF8.self)
            return .gmcp(package: package, json: parts.count > 1 ? Array(parts[1]) : [])
        default:
            break
        }
        return nil
    }

    /// Each answer is followed by the next request, until the client repeats itself.
    private mutating func learnTerminalType(_ type: String) {
        let type = String(type.withoutControls.prefix(limits.maximumClientNameLength))
        guard terminalTypes.last != type, terminalTypes.count < limits.maximumTerminalTypes else { return }
        terminalTypes.append(type)
        if terminalTypes.count < limits.maximumTerminalTypes { askForTerminalType() }
    }

    private mutating func askForTerminalType() {
        TelnetEncoder.appendSubnegotiation(.terminalType, [TerminalTypeCode.send], to: &output)
    }

    // MARK: Out

    mutating func write(_ text: String) {
        encoder.appendText(text.utf8, to: &output)
    }

    mutating func print(_ line: MudLine) {
        let text = line.text.wrapped(to: width).joined(separator: "\n")
        if let rendition = line.style.graphicRendition, hasColours {
            write("\u{1B}[\(rendition)m\(text)\u{1B}[0m\n")
        } else {
            write(text + "\n")
        }
    }

    /// Writes a prompt with its mark: EOR if the client agreed to it, otherwise GA unless the client suppresses it.
    mutating func prompt(_ text: String) {
        write(text)
        if options.isOn(.endOfRecord, .local) {
            TelnetEncoder.appendCommand(.endOfRecord, to: &output)
        } else if !options.isOn(.suppressGoAhead, .local) {
            TelnetEncoder.appendCommand(.goAhead, to: &output)
        }
    }

    /// Takes over the echo from the client, so that a password isn't shown; the counterpart returns it.
    mutating func hideInput() { turnOn(.echo, .local) }
    mutating func showInput() { _ = negotiated(.echo, options.turnOff(.echo, .local)) }

    mutating func send(_ message: GMCPMessage) {
        guard hasGMCP else { return }
        TelnetEncoder.appendSubnegotiation(.gmcp, message.bytes, to: &output)
    }

    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    private mutating func turnOn(_ option: TelnetOption, _ side: OptionNegotiation.Side) {
        _ = negotiated(option, options.turnOn(option, side))
    }

    private var width: Int {
        guard let columns = windowSize?.columns, columns > 0 else { return Self.defaultWidth }
        return min(max(Int(columns), Self.usableWidths.lowerBound), Self.usableWidths.upperBound)
    }

    /// True unless the client denies it: by an MTTS number without the ANSI bit, or by the name of its terminal.
    private var hasColours: Bool {
        for type in terminalTypes {
            if type.uppercased() == "DUMB" { return false }
            if type.hasPrefix("MTTS "), let bits = Int(type.dropFirst(5)) { return bits & 1 == 1 }
        }
        return true
    }
}

/// The first byte of a TERMINAL-TYPE subnegotiation (RFC 1091).
private enum TerminalTypeCode {
    static let `is`: UInt8 = 0
    static let send: UInt8 = 1
}
