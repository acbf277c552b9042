import WireText

/// TERMINAL-TYPE (RFC 1091) as the Mud Terminal Type Standard uses it: each SEND is answered with the next of three
/// names, and then the last name is repeated.
struct TerminalType: Codable {
    private var answered = 0

    private static let `is`: UInt8 = 0
    private static let send: UInt8 = 1

    /// - Returns: the payload of the answer; nil if `payload` isn't a SEND.
    mutating func answer(to payload: [UInt8], _ identity: ClientIdentity, mtts: MTTS) -> [UInt8]? {
        guard payload == [Self.send] else { return nil }
        let names =
            [identity.name, identity.terminalType].map(ASCIIByte.withUppercasedLetters) + ["MTTS \(mtts.rawValue)"]
        let name = names[min(answered, names.count - 1)]
        answered = min(answered + 1, names.count)
        return [Self.is] + name.utf8
    }

    /// Called when the option has ended: the next SEND gets the first name.
    mutating func restart() { answered = 0 }
}

/// The capabilities that a client announces by the Mud Terminal Type Standard.
struct MTTS: OptionSet {
    let rawValue: Int

    static let ansi = MTTS(rawValue: 1)
    static let vt100 = MTTS(rawValue: 2)
    static let utf8 = MTTS(rawValue: 4)
    static let colours256 = MTTS(rawValue: 8)
    /// Players come through a gateway.
    static let proxy = MTTS(rawValue: 128)
    static let trueColour = MTTS(rawValue: 256)
    /// The client supports the variables of the Mud New-Environment Standard.
    static let mnes = MTTS(rawValue: 512)
    static let ssl = MTTS(rawValue: 2048)

    static func client(encoding: TextEncoding, isSecure: Bool) -> MTTS {
        var bits: MTTS = [.ansi, .vt100, .colours256, .proxy, .trueColour, .mnes]
        if encoding == .utf8 { bits.insert(.utf8) }
        if isSecure { bits.insert(.ssl) }
        return bits
    }
}

/// NAWS, negotiate about window size (RFC 1073): sent when the option comes into force and whenever the size changes
/// after that.
struct WindowSize: Codable {
    private var columns: UInt16
    private var rows: UInt16
    /// A size must be sent. Several changes between two calls of ``take()`` count as one.
    private(set) var isDue = false

    init(columns: UInt16, rows: UInt16) {
        self.columns = columns
        self.rows = rows
    }

    mutating func begin() { isDue = true }

    mutating func end() { isDue = false }

    mutating func resize(columns: UInt16, rows: UInt16, isInForce: Bool) {
        if isInForce, columns != self.columns || rows != self.rows { isDue = true }
        self.columns = columns
        self.rows = rows
    }

    /// The payload if it is due: two 16-bit numbers, high byte first.
    mutating func take() -> [UInt8]? {
        guard isDue else { return nil }
        isDue = false
        return [columns, rows].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
}
