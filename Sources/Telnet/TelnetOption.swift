/// A telnet option by its number, with names for those that MUDs and their clients use.
package struct TelnetOption: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// TRANSMIT-BINARY (RFC 856): 8-bit data, and no CR rules.
    package static let binary = TelnetOption(rawValue: 0)
    /// ECHO (RFC 857). WILL from a MUD means "don't show what is typed": a password prompt.
    package static let echo = TelnetOption(rawValue: 1)
    /// SUPPRESS-GO-AHEAD (RFC 858).
    package static let suppressGoAhead = TelnetOption(rawValue: 3)
    /// TERMINAL-TYPE (RFC 1091), with the MTTS cycle of MUD clients.
    package static let terminalType = TelnetOption(rawValue: 24)
    /// END-OF-RECORD (RFC 885).
    package static let endOfRecord = TelnetOption(rawValue: 25)
    /// NAWS, negotiate about window size (RFC 1073).
    package static let windowSize = TelnetOption(rawValue: 31)
    /// LINEMODE (RFC 1184).
    package static let lineMode = TelnetOption(rawValue: 34)
    /// NEW-ENVIRON (RFC 1572), with the MNES variables of MUD clients.
    package static let newEnvironment = TelnetOption(rawValue: 39)
    /// CHARSET (RFC 2066).
    package static let charset = TelnetOption(rawValue: 42)
    /// Mud Server Data Protocol.
    package static let msdp = TelnetOption(rawValue: 69)
    /// Mud Server Status Protocol.
    package static let mssp = TelnetOption(rawValue: 70)
    /// Mud Client Compression Protocol 2: server to client.
    package static let mccp2 = TelnetOption(rawValue: 86)
    /// Mud Client Compression Protocol 3: client to server.
    package static let mccp3 = TelnetOption(rawValue: 87)
    /// Mud eXtension Protocol.
    package static let mxp = TelnetOption(rawValue: 91)
    /// Achaea Telnet Client Protocol.
    package static let atcp = TelnetOption(rawValue: 200)
    /// Generic Mud Communication Protocol.
    package static let gmcp = TelnetOption(rawValue: 201)
}
