/// How a target writes text. Every one of them has ASCII in its lower half.
package enum TextEncoding: String, Hashable, Sendable, CaseIterable {
    /// UTF-8; bytes that aren't valid UTF-8 are read as Latin-1.
    case utf8
    case latin1
    /// Bytes above 127 are unknown characters.
    case ascii
    case windows1252
    case cp437
    case latin2
    case latin9
    case windows1251
    case koi8r

    /// The name that IANA prefers for MIME: what is told as CHARSET.
    package var charsetName: String { names[0] }

    /// By one of its names, in upper or lower case: IANA's, common ones, and the case's own.
    package init?(name: some StringProtocol) {
        let wanted = name.uppercased()
        guard let found = Self.allCases.first(where: { $0.names.contains(wanted) }) else { return nil }
        self = found
    }

    private var names: [String] {
        switch self {
        case .utf8: ["UTF-8", "UTF8"]
        case .latin1: ["ISO-8859-1", "ISO8859-1", "ISO_8859-1", "LATIN1", "LATIN-1", "L1"]
        case .ascii: ["US-ASCII", "ASCII", "ANSI_X3.4-1968", "ISO646-US"]
        case .windows1252: ["WINDOWS-1252", "WINDOWS1252", "CP1252"]
        case .cp437: ["IBM437", "CP437", "437"]
        case .latin2: ["ISO-8859-2", "ISO8859-2", "ISO_8859-2", "LATIN2", "LATIN-2", "L2"]
        case .latin9: ["ISO-8859-15", "ISO8859-15", "ISO_8859-15", "LATIN9", "LATIN-9"]
        case .windows1251: ["WINDOWS-1251", "WINDOWS1251", "CP1251"]
        case .koi8r: ["KOI8-R", "KOI8R"]
        }
    }
}
