/// The name, version and terminal type that a client announces to a target. Clients choose them freely, so they are reduced to what
/// every target can handle: graphic ASCII, with spaces replaced by hyphens.
struct ClientIdentity: Equatable {
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
