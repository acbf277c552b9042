/// What a telnet client says of itself, and what it allows its target.
package struct TelnetClientSettings: Sendable {
    /// Told through TTYPE, NEW-ENVIRON and GMCP.
    package var clientName = "Portcullis"
    package var clientVersion = "1.0"
    package var terminalType = "xterm-256color"
    /// The address that the player comes from, for NEW-ENVIRON's IPADDRESS; nil: it isn't told.
    package var address: String?
    /// The target's encoding until CHARSET agrees on another.
    package var encoding = TextEncoding.utf8
    /// Of the encodings of several bytes; nil: there are none.
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
    /// Greet with Core.Hello and Core.Supports.Set when GMCP comes into force. False for a client that does so itself.
    package var greetsGMCP = true
    /// What Core.Supports.Set lists: packages with their version.
    package var gmcpPackages = GMCP.usualPackages

    package init() {}
}
