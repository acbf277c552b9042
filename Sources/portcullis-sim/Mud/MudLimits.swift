/// The limits of everything that a peer could make grow, each with its default.
struct MudLimits: Sendable {
    /// The most connections at a time, logged in or not; further ones are refused with a line of text.
    var maximumConnections = 256
    /// The most names stored with their passwords during the process's lifetime; at the limit only known names may log in.
    var maximumAccounts = 4096
    /// The longest input line without its line end. A longer one is dropped entirely.
    var maximumLineBytes = 1024
    /// The most lines taken from one call of `received`. The rest of the call is dropped, so that a small flood of input can't
    /// become a large flood of output.
    var maximumLinesPerRead = 64
    /// The most letters in a name; the least is 2.
    var maximumNameLength = 16
    var maximumPasswordBytes = 128
    /// The wrong passwords after which the connection is closed.
    var maximumPasswordAttempts = 3
    /// NAWS needs 4 bytes, a terminal type about 40; only GMCP may need more.
    var maximumSubnegotiationBytes = 8192
    /// The most answers in a terminal type cycle; MTTS has three and a repetition.
    var maximumTerminalTypes = 4
    /// The most characters of a client's description that are shown to others.
    var maximumClientNameLength = 32
}
