/// A telnet command: the byte that follows IAC (RFC 854, EOR from RFC 885).
///
/// A struct, not an enum: a peer may send any byte here, and RFC 854 requires that undefined ones are ignored, not
/// refused.
package struct TelnetCommand: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// End of record: marks a prompt's end while the option END-OF-RECORD is in force.
    package static let endOfRecord = TelnetCommand(rawValue: 239)
    package static let subnegotiationEnd = TelnetCommand(rawValue: 240)
    package static let noOperation = TelnetCommand(rawValue: 241)
    package static let dataMark = TelnetCommand(rawValue: 242)
    package static let breakSignal = TelnetCommand(rawValue: 243)
    package static let interruptProcess = TelnetCommand(rawValue: 244)
    package static let abortOutput = TelnetCommand(rawValue: 245)
    package static let areYouThere = TelnetCommand(rawValue: 246)
    package static let eraseCharacter = TelnetCommand(rawValue: 247)
    package static let eraseLine = TelnetCommand(rawValue: 248)
    /// Go ahead: marks a prompt's end unless SUPPRESS-GO-AHEAD is in force.
    package static let goAhead = TelnetCommand(rawValue: 249)
    package static let subnegotiationBegin = TelnetCommand(rawValue: 250)
    /// Interpret as command: introduces every command; doubled, it is the data byte 255.
    package static let interpretAsCommand = TelnetCommand(rawValue: 255)
}

/// The four verbs of option negotiation (RFC 854).
package enum TelnetVerb: UInt8, Codable, Hashable, Sendable, CaseIterable {
    /// "I want to use it", or "yes, I use it".
    case will = 251
    /// "I don't use it", or "I stop using it".
    case wont = 252
    /// "Please use it", or "yes, use it".
    case `do` = 253
    /// "Don't use it", or "stop using it".
    case dont = 254
}

/// A telnet option by its number, with names for those that MUDs and their clients use.
package struct TelnetOption: RawRepresentable, Codable, Hashable, Sendable {
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
