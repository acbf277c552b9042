import Telnet

/// What a client wants, whatever dialect it says it in.
enum ClientCommand: Hashable, Sendable {
    /// Valid UTF-8; line ends are the client's own.
    case input(ArraySlice<UInt8>)
    /// `data` is JSON, or empty.
    case gmcp(name: String, data: [UInt8])
    case msdp(name: String, value: MSDPValue)
    /// In characters.
    case resize(columns: UInt16, rows: UInt16)
    case describe(ClientDescription)
    case connect(TargetRequest, ClientDescription)
    case resume
    case disconnect
    /// Accepted, and without effect on the session.
    case nothing(NeedsSession)

    enum NeedsSession { case yes, no }
}

/// The target that a client asks for. Whether it may have it is for the target policy to say.
package enum TargetRequest: Hashable, Sendable {
    /// The gateway's default.
    case standard
    case route(String)
    /// `host` as the client wrote it: a name or an address, unchecked.
    case address(host: String, port: UInt16)
}
