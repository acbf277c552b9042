import Telnet

/// A client's command, independent of its dialect.
enum ClientCommand: Hashable, Sendable {
    /// Valid UTF-8; line ends are the client's own.
    ///
    /// - Parameter cid: increases from input to input; nil: the client doesn't number its input.
    case input(ArraySlice<UInt8>, cid: UInt64? = nil)
    /// `data` is JSON, or empty.
    case gmcp(name: String, data: [UInt8])
    case msdp(name: String, value: MSDPValue)
    /// In characters.
    case resize(columns: UInt16, rows: UInt16)
    case describe(ClientDescription)
    case connect(TargetRequest, ClientDescription)
    case resume(ResumeRequest)
    /// The client has seen the session's messages up to `lastSeq`. This command never waits, so `sessionID` may be a slice of the
    /// message.
    case acknowledge(sessionID: ArraySlice<UInt8>, lastSeq: UInt64)
    case disconnect
    /// Accepted without effect on the session.
    case nothing(NeedsSession)

    enum NeedsSession { case yes, no }
}
