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
    /// In characters; 0 means unknown (RFC 1073).
    package var columns: UInt16 = 80
    package var rows: UInt16 = 24
    /// The player's own connection is encrypted: the bit SSL of MTTS.
    package var isSecure = false
    /// `MAX_SUBNEGOTIATION_BYTES`
    package var maximumSubnegotiationBytes = TelnetParser.defaultMaximumSubnegotiationBytes
    package var decompression = DecompressionLimits()
    /// Send Core.Hello and Core.Supports.Set when GMCP comes into force. False if the player's client sends them itself.
    package var greetsGMCP = true
    /// The packages, with their versions, for Core.Supports.Set.
    package var gmcpPackages = GMCP.usualPackages

    package init() {}
}
