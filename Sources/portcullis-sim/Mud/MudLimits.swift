/// Everything that a peer could otherwise let grow, each with its default.
struct MudLimits: Sendable {
    /// Connections at a time, logged in or not; the next one is turned away with a line of text.
    var maximumConnections = 256
    /// Names remembered with their password, for as long as the process lives; after that only known names may enter.
    var maximumAccounts = 4096
    /// An input line without its line end. A longer one is dropped whole.
    var maximumLineBytes = 1024
    /// Lines taken from one call of `received`. The rest of the call is dropped, so that a small flood of input can't become a
    /// large one of output.
    var maximumLinesPerRead = 64
    /// Letters of a name; the least is 2.
    var maximumNameLength = 16
    var maximumPasswordBytes = 128
    /// Wrong passwords before the connection is closed.
    var maximumPasswordAttempts = 3
    /// NAWS needs 4 bytes, a terminal type some 40; only GMCP could want more.
    var maximumSubnegotiationBytes = 8192
    /// Answers that a terminal type cycle may have; MTTS has three and a repetition.
    var maximumTerminalTypes = 4
    /// Characters of what a client says about itself, as far as it is shown to others.
    var maximumClientNameLength = 32
}
