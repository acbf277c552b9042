/// The client's description of itself, and the limits and encodings for its target.
package struct TelnetClientSettings: Sendable {
    /// Announced through TTYPE, NEW-ENVIRON and GMCP.
    package var clientName = "Portcullis"
    package var clientVersion = "1.0"
    package var terminalType = "xterm-256color"
    /// The player's address for NEW-ENVIRON's IPADDRESS; nil: it isn't announced.
    package var address: String?
    /// The target's encoding until CHARSET agrees on another.
    package var encoding = TextEncoding.utf8
    /// The tables of the multi-byte encodings; nil: there are none.
    package var tables: (any CharacterTables)?
    package var mxp = MXPMode.refuse
    package var mccp = MCCPMode.on
    /// In characters; 0 means unknown (RFC 1073).
    package var columns: UInt16 = 80
    package var rows: UInt16 = 24
    /// The player's own connection is encrypted: the bit SSL of MTTS.
    package var isSecure = false
    /// `MAX_SUBNEGOTIATION_BYTES`
    package var maximumSubnegotiationBytes = TelnetParser.defaultMaximumSubnegotiationBytes
    package var decompression = DecompressionLimits()
    /// Send Core.Hello and Core.Supports.Set when GMCP comes into force. False if the player's client sends them
    /// itself.
    package var greetsGMCP = true
    /// The packages, with their versions, for Core.Supports.Set.
    package var gmcpPackages = GMCP.usualPackages

    package init() {}
}

/// The name, version and terminal type that a client announces to a target. Clients choose them freely, so they are
/// reduced to what every target can handle: graphic ASCII, with spaces replaced by hyphens.
struct ClientIdentity: Codable, Equatable {
    /// The limit of a name, a version or a terminal type (RFC 1091 has 40 characters).
    static let maximumBytes = 40

    private(set) var name: String
    private(set) var version: String
    private(set) var terminalType: String

    init(_ settings: TelnetClientSettings) {
        name = Self.plain(settings.clientName)
        version = Self.plain(settings.clientVersion)
        terminalType = Self.plain(settings.terminalType)
    }

    /// Changes the values that are given; nil leaves a value unchanged.
    mutating func update(name: String?, version: String?, terminalType: String?) {
        if let name { self.name = Self.plain(name) }
        if let version { self.version = Self.plain(version) }
        if let terminalType { self.terminalType = Self.plain(terminalType) }
    }

    private static func plain(_ text: String) -> String {
        let bytes = text.utf8.lazy.map { $0 == 0x20 ? UInt8(ascii: "-") : $0 }.filter { (0x21...0x7E).contains($0) }
        let kept = bytes.prefix(maximumBytes)
        return kept.isEmpty ? "unknown" : String(decoding: Array(kept), as: UTF8.self)
    }
}
