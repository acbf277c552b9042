import Telnet
import WireText

/// A client's description of itself, from its messages or from the upgrade's query. nil: not given.
package struct ClientDescription: Codable, Hashable, Sendable {
    /// The longest name, version and terminal type in bytes; longer ones count as not given.
    static let maximumTermBytes = 64

    package var columns: UInt16?
    package var rows: UInt16?
    package private(set) var name: String?
    package private(set) var version: String?
    package private(set) var terminalType: String?

    package init(columns: UInt16? = nil, rows: UInt16? = nil) {
        self.columns = columns
        self.rows = rows
    }

    /// Names that aren't graphic ASCII of bounded length count as not given: telnet can't carry others.
    package init(name: String?, version: String? = nil, terminalType: String? = nil) {
        self.name = name.flatMap(Self.term)
        self.version = version.flatMap(Self.term)
        self.terminalType = terminalType.flatMap(Self.term)
    }

    /// The valid ones among the parameters `cols`, `rows`, `client` and `ttype` of a query.
    ///
    /// - Parameter parameter: the decoded value of the parameter with this name; nil if it is absent or malformed.
    package init(parameter: (String) -> String?) {
        columns = parameter("cols").flatMap(Self.size)
        rows = parameter("rows").flatMap(Self.size)
        name = parameter("client").flatMap(Self.term)
        terminalType = parameter("ttype").flatMap(Self.term)
    }

    /// Values in `newer` replace the earlier ones.
    mutating func merge(_ newer: ClientDescription) {
        columns = newer.columns ?? columns
        rows = newer.rows ?? rows
        name = newer.name ?? name
        version = newer.version ?? version
        terminalType = newer.terminalType ?? terminalType
    }

    func apply(to settings: inout TelnetClientSettings) {
        settings.columns = columns ?? settings.columns
        settings.rows = rows ?? settings.rows
        // A version belongs to the name with which it was given.
        settings.clientVersion = version ?? (name == nil ? settings.clientVersion : "")
        settings.clientName = name ?? settings.clientName
        settings.terminalType = terminalType ?? settings.terminalType
    }

    private static func size(_ text: String) -> UInt16? {
        guard text.utf8.allSatisfy(ASCIIByte.isDigit) else { return nil }
        return UInt16(text).flatMap { $0 > 0 ? $0 : nil }
    }

    private static func term(_ text: String) -> String? {
        let isSane = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.contains { $0 > 0x20 }
        return isSane && text.utf8.count <= maximumTermBytes ? text : nil
    }
}

/// A client's command, independent of its dialect.
enum ClientCommand: Equatable, Sendable {
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
    /// The client has seen the session's messages up to `lastSeq`. This command never waits, so `sessionID` may be a
    /// slice of the message.
    case acknowledge(sessionID: ArraySlice<UInt8>, lastSeq: UInt64)
    case disconnect
    /// Accepted without effect on the session.
    case nothing(NeedsSession)

    enum NeedsSession { case yes, no }
}
