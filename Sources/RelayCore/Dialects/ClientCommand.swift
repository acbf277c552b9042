import Telnet

/// What a client wants, whatever dialect it says it in.
enum ClientCommand: Hashable, Sendable {
    /// Valid UTF-8; line ends are the client's own.
    ///
    /// - Parameter cid: rises from input to input; nil: the client doesn't count.
    case input(ArraySlice<UInt8>, cid: UInt64? = nil)
    /// `data` is JSON, or empty.
    case gmcp(name: String, data: [UInt8])
    case msdp(name: String, value: MSDPValue)
    /// In characters.
    case resize(columns: UInt16, rows: UInt16)
    case describe(ClientDescription)
    case connect(TargetRequest, ClientDescription)
    case resume(ResumeRequest)
    /// The client has seen what this session said up to `lastSeq`. Never waits, so its `sessionID` may be a part of the message.
    case acknowledge(sessionID: ArraySlice<UInt8>, lastSeq: UInt64)
    case disconnect
    /// Accepted, and without effect on the session.
    case nothing(NeedsSession)

    enum NeedsSession { case yes, no }
}
