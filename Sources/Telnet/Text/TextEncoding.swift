/// The encoding of a target's text. Each has ASCII in its lower half.
///
/// The list is that of the WHATWG Encoding Standard, with its labels, plus encodings that MUDs have used. It differs in two ways:
/// `latin1` and `ascii` mean exactly those encodings, not windows-1252; and encodings that aren't supersets of ASCII (UTF-16,
/// ISO-2022-JP) are missing, because telnet can't carry them together with ANSI sequences.
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
    case koi8u
    case ibm866
    case latin3
    case latin4
    case iso8859p5 = "iso8859-5"
    case iso8859p6 = "iso8859-6"
    case iso8859p7 = "iso8859-7"
    case iso8859p8 = "iso8859-8"
    case iso8859p10 = "iso8859-10"
    case iso8859p13 = "iso8859-13"
    case iso8859p14 = "iso8859-14"
    case iso8859p16 = "iso8859-16"
    case windows874
    case windows1250
    case windows1253
    case windows1254
    case windows1255
    case windows1256
    case windows1257
    case windows1258
    case macintosh
    case macCyrillic = "maccyrillic"
    /// Read as GB 18030.
    case gbk
    case gb18030
    /// With the characters of Hong Kong.
    case big5
    /// With those of windows-949.
    case euckr
    /// With those of windows-31J.
    case shiftjis
    case eucjp

    /// The preferred MIME name from IANA, sent in CHARSET.
    package var charsetName: String { names[0] }

    /// Finds an encoding by name, ignoring case: IANA's names, WHATWG's labels, common names, and the case's own name.
    package init?(name: some StringProtocol) {
        guard let found = Self.byName[name.uppercased()] else { return nil }
        self = found
    }

    /// The tables needed to read it.
    package var requiredSets: [DoubleByteSet] {
        switch self {
        case .gbk, .gb18030: [.gb18030]
        case .big5: [.big5]
        case .euckr: [.windows949]
        case .shiftjis: [.windows31J]
        case .eucjp: [.jis0208, .jis0212]
        default: []
        }
    }
}
