/// What a target says to its client, in the order it says it: telnet's commands turned into events, text made UTF-8.
package enum TargetEvent: Hashable, Sendable {
    /// Text with its ANSI sequences. Valid UTF-8, never empty, no character split, no NUL, at most
    /// ``TelnetClient/maximumTextBytes``. Line ends are the target's own, CR LF as a rule. Where nothing had to be changed it is a part of the input: to
    /// be used before that is.
    case text(ArraySlice<UInt8>)
    /// The text before it is a prompt: GA (RFC 854) or EOR (RFC 885) stood behind it.
    case prompt
    /// ECHO (RFC 857): true while the target echoes itself, and so hides what is typed.
    case echo(isSuppressed: Bool)
    /// A GMCP message. The name is graphic ASCII; `data` is what came behind it as valid UTF-8, empty if nothing did. Whether it is JSON
    /// is for the dialect to check.
    case gmcp(name: String, data: [UInt8])
    case atcp(name: String, text: String)
    case msdp(name: String, value: MSDPValue)
    /// MSSP: what a target says of itself to crawlers.
    case mssp([MSSPVariable])
}
