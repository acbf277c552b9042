/// Writes a telnet stream (RFC 854, RFC 855).
///
/// Text is the only part with a state: whether a CR is followed by LF or by NUL is known with the next byte alone, which may come
/// with the next call. However a text is cut into calls, the same bytes leave.
package struct TelnetEncoder: Sendable {
    private var isAfterCR = false

    package init() {}

    /// Appends text as the network virtual terminal wants it: LF and CR LF become CR LF, any other CR becomes CR NUL, IAC is
    /// doubled. CR NUL that is already in the text stays.
    package mutating func appendText(_ text: some Sequence<UInt8>, to output: inout [UInt8]) {
        for byte in text {
            let completesCR = isAfterCR && (byte == Self.lf || byte == Self.nul)
            if isAfterCR && !completesCR { output.append(Self.nul) }
            isAfterCR = byte == Self.cr
            if byte == Self.lf && !completesCR { output.append(Self.cr) }
            if byte == Self.iac { output.append(Self.iac) }
            output.append(byte)
        }
    }

    /// Appends text while TRANSMIT-BINARY is in force (RFC 856): the rules of the network virtual terminal don't hold, and CR and LF
    /// are bytes like any others. A line has one end then: CR LF becomes LF. A lone CR is a key that somebody has pressed, and stays.
    ///
    /// A terminal behind the target (telnetd's) makes a line's end of CR and of LF, and two of both. Those that read lines take LF. Where CR ended one
    /// call it has been sent, and an LF that begins the next one belongs to it.
    package mutating func appendBinaryText(_ text: some Sequence<UInt8>, to output: inout [UInt8]) {
        var holdsCR = false
        for byte in text {
            if byte == Self.lf, isAfterCR, !holdsCR {
                isAfterCR = false
                continue
            }
            if holdsCR && byte != Self.lf { output.append(Self.cr) }
            holdsCR = byte == Self.cr
            isAfterCR = holdsCR
            if !holdsCR { Self.appendData(CollectionOfOne(byte), to: &output) }
        }
        if holdsCR { output.append(Self.cr) }
    }

    /// Appends bytes with IAC doubled and nothing else changed: data that is in the target's form already.
    package static func appendData(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        for byte in bytes {
            if byte == iac { output.append(iac) }
            output.append(byte)
        }
    }

    package static func appendCommand(_ command: TelnetCommand, to output: inout [UInt8]) {
        output += [iac, command.rawValue]
    }

    package static func appendNegotiation(_ verb: TelnetVerb, _ option: TelnetOption, to output: inout [UInt8]) {
        output += [iac, verb.rawValue, option.rawValue]
    }

    /// Appends `IAC SB option payload IAC SE`, the payload's IACs doubled.
    package static func appendSubnegotiation(
        _ option: TelnetOption, _ payload: some Sequence<UInt8>, to output: inout [UInt8]
    ) {
        output += [iac, TelnetCommand.subnegotiationBegin.rawValue, option.rawValue]
        appendData(payload, to: &output)
        appendCommand(.subnegotiationEnd, to: &output)
    }

    private static let nul: UInt8 = 0
    private static let lf: UInt8 = 10
    private static let cr: UInt8 = 13
    private static let iac = TelnetCommand.interpretAsCommand.rawValue
}
