/// A telnet command: the byte that follows IAC (RFC 854, EOR from RFC 885).
///
/// A struct, not an enum: a peer may send any byte here, and RFC 854 requires that undefined ones are ignored, not refused.
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
package enum TelnetVerb: UInt8, Hashable, Sendable, CaseIterable {
    /// "I want to use it", or "yes, I use it".
    case will = 251
    /// "I don't use it", or "I stop using it".
    case wont = 252
    /// "Please use it", or "yes, use it".
    case `do` = 253
    /// "Don't use it", or "stop using it".
    case dont = 254
}
