/// What a client says of itself to a target. Clients choose it freely, so it is cut down to what no target stumbles over: graphic
/// ASCII, a space made a hyphen.
struct ClientIdentity: Equatable {
    /// For a name, a version or a terminal's type (RFC 1091 has 40 characters).
    static let maximumBytes = 40

    private(set) var name: String
    private(set) var version: String
    private(set) var terminalType: String

    init(_ settings: TelnetClientSettings) {
        name = Self.plain(settings.clientName)
        version = Self.plain(settings.clientVersion)
        terminalType = Self.plain(settings.terminalType)
    }

    /// Changes what is given; the rest stays.
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
