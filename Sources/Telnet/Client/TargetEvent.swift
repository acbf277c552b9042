/// An event from the target to its client, in stream order: telnet commands as events, text as UTF-8.
package enum TargetEvent: Hashable, Sendable {
    /// Text with its ANSI sequences: valid UTF-8, never empty, no split character, no NUL, at most
    /// ``TelnetClient/maximumTextBytes``. Line ends are the target's own, usually CR LF. Text that needed no change is a slice of
    /// the input and must be used before the input is.
    case text(ArraySlice<UInt8>)
    /// The text before it is a prompt, because GA (RFC 854) or EOR (RFC 885) followed it.
    case prompt
    /// ECHO (RFC 857): true while the target does the echoing and so hides the player's input.
    case echo(isSuppressed: Bool)
    /// A GMCP message. The name is graphic ASCII; `data` is the rest as valid UTF-8, or empty. The dialect checks whether it is
    /// JSON.
    case gmcp(name: String, data: [UInt8])
    case atcp(name: String, text: String)
    case msdp(name: String, value: MSDPValue)
    /// MSSP: a target's description of itself for crawlers.
    case mssp([MSSPVariable])
}
