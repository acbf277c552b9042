/// Writes a telnet stream (RFC 854, RFC 855).
///
/// Only text has state: the byte after a CR decides whether LF or NUL follows it, and that byte may come with the next
/// call. The output doesn't depend on how the text is split into calls.
package struct TelnetEncoder: Codable, Sendable {
    private var isAfterCR = false

    package init() {}

    /// Appends text by the rules of the network virtual terminal: LF and CR LF become CR LF, any other CR becomes CR
    /// NUL, and IAC is doubled. CR NUL that is already in the text is kept.
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

    /// Appends text while TRANSMIT-BINARY is in force (RFC 856): the rules of the network virtual terminal don't apply,
    /// and CR and LF are ordinary bytes. A line then has a single end byte: CR LF becomes LF. A lone CR is a key press
    /// and is kept.
    ///
    /// A terminal behind the target (telnetd's) treats CR and LF each as a line end, and CR LF as two. Line-based
    /// targets take LF. If one call ends with CR, the CR has been sent, and an LF that begins the next call is dropped
    /// as part of the same line end.
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

    /// Appends bytes with IAC doubled and otherwise unchanged: data that is already in the target's encoding.
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

    /// Appends `IAC SB option payload IAC SE` with the payload's IACs doubled.
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
