import Telnet

/// What a client has said of itself, in its messages or in the query of its upgrade. nil: not said.
package struct ClientDescription: Hashable, Sendable {
    /// Longest name, version and terminal type, in bytes; what is longer counts as not said.
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

    /// Names that aren't graphic ASCII of a bounded length count as not said: telnet has no place for others.
    package init(name: String?, version: String? = nil, terminalType: String? = nil) {
        self.name = name.flatMap(Self.term)
        self.version = version.flatMap(Self.term)
        self.terminalType = terminalType.flatMap(Self.term)
    }

    /// The parameters `cols`, `rows`, `client` and `ttype` of a query, as far as they make sense.
    ///
    /// - Parameter query: what stands behind the `?` of the target, still percent-encoded.
    package init(query: String) {
        for parameter in query.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2, let value = Self.percentDecoded(parts[1]) else { continue }
            switch String(decoding: parts[0], as: UTF8.self) {
            case "cols": columns = Self.size(value)
            case "rows": rows = Self.size(value)
            case "client": name = Self.term(value)
            case "ttype": terminalType = Self.term(value)
            default: break
            }
        }
    }

    /// What `newer` says takes the place of what was said before.
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
        // A version belongs to the name that it was said with.
        settings.clientVersion = version ?? (name == nil ? settings.clientVersion : "")
        settings.clientName = name ?? settings.clientName
        settings.terminalType = terminalType ?? settings.terminalType
    }

    private static func size(_ text: String) -> UInt16? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return UInt16(text).flatMap { $0 > 0 ? $0 : nil }
    }

    private static func term(_ text: String) -> String? {
        let isSane = text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.utf8.contains { $0 > 0x20 }
        return isSane && text.utf8.count <= maximumTermBytes ? text : nil
    }

    private static func percentDecoded(_ text: some Sequence<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(JSONEscape.hexadecimalDigit),
                    let low = iterator.next().flatMap(JSONEscape.hexadecimalDigit)
                else { return nil }
                bytes.append(UInt8(high << 4 | low))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
