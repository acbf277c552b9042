import WireText

/// The encoding of a target's text. Each has ASCII in its lower half.
///
/// The list is that of the WHATWG Encoding Standard, with its labels, plus encodings that MUDs have used. It differs in
/// two ways: `latin1` and `ascii` mean exactly those encodings, not windows-1252; and encodings that aren't supersets
/// of ASCII (UTF-16, ISO-2022-JP) are missing, because telnet can't carry them together with ANSI sequences.
package enum TextEncoding: String, Codable, Hashable, Sendable, CaseIterable {
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
        guard let found = Self.byName[ByteText(ASCIIByte.withUppercasedLetters(name))] else { return nil }
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

extension TextEncoding {
    /// If two lists contain the same name, the first list wins. Upper case; the first name is ``charsetName``.
    var names: [String] { (Self.labels[self] ?? "").splitAtBytes { $0 == 0x20 }.map(String.init) }

    /// Built once: a target may ask for 64 names at a time.
    static let byName = Dictionary(
        allCases.flatMap { encoding in encoding.names.map { (ByteText($0), encoding) } },
        uniquingKeysWith: { first, _ in first })

    private static let labels: [TextEncoding: String] = [
        .utf8: "UTF-8 UTF8 UNICODE-1-1-UTF-8 UNICODE11UTF8 UNICODE20UTF8 X-UNICODE20UTF8",
        .latin1: """
        ISO-8859-1 ISO8859-1 ISO_8859-1 LATIN1 LATIN-1 L1 ISO88591 CP819 IBM819 ISO-IR-100 CSISOLATIN1 ISO_8859-1:1987
        """,
        .ascii: "US-ASCII ASCII ANSI_X3.4-1968 ISO646-US",
        .windows1252: "WINDOWS-1252 WINDOWS1252 CP1252 X-CP1252",
        .cp437: "IBM437 CP437 437",
        .latin2: "ISO-8859-2 ISO8859-2 ISO_8859-2 LATIN2 LATIN-2 L2 ISO88592 ISO-IR-101 CSISOLATIN2 ISO_8859-2:1987",
        .latin9: "ISO-8859-15 ISO8859-15 ISO_8859-15 LATIN9 LATIN-9 L9 ISO885915 CSISOLATIN9",
        .windows1251: "WINDOWS-1251 WINDOWS1251 CP1251 X-CP1251",
        .koi8r: "KOI8-R KOI8R KOI KOI8 KOI8_R CSKOI8R",
        .koi8u: "KOI8-U KOI8U KOI8-RU",
        .ibm866: "IBM866 CP866 866 CSIBM866",
        .latin3: "ISO-8859-3 ISO8859-3 ISO_8859-3 LATIN3 L3 ISO88593 ISO-IR-109 CSISOLATIN3 ISO_8859-3:1988",
        .latin4: "ISO-8859-4 ISO8859-4 ISO_8859-4 LATIN4 L4 ISO88594 ISO-IR-110 CSISOLATIN4 ISO_8859-4:1988",
        .iso8859p5: """
        ISO-8859-5 ISO8859-5 ISO_8859-5 ISO88595 CYRILLIC ISO-IR-144 CSISOLATINCYRILLIC ISO_8859-5:1988
        """,
        .iso8859p6: """
        ISO-8859-6 ISO8859-6 ISO_8859-6 ISO88596 ARABIC ASMO-708 ECMA-114 ISO-IR-127 CSISOLATINARABIC CSISO88596E \
        CSISO88596I ISO-8859-6-E ISO-8859-6-I ISO_8859-6:1987
        """,
        .iso8859p7: """
        ISO-8859-7 ISO8859-7 ISO_8859-7 ISO88597 GREEK GREEK8 ECMA-118 ELOT_928 ISO-IR-126 CSISOLATINGREEK SUN_EU_GREEK \
        ISO_8859-7:1987
        """,
        .iso8859p8: """
        ISO-8859-8 ISO8859-8 ISO_8859-8 ISO88598 HEBREW VISUAL ISO-8859-8-E ISO-8859-8-I LOGICAL CSISO88598E \
        CSISO88598I CSISOLATINHEBREW ISO-IR-138 ISO_8859-8:1988
        """,
        .iso8859p10: "ISO-8859-10 ISO8859-10 ISO885910 LATIN6 L6 ISO-IR-157 CSISOLATIN6",
        .iso8859p13: "ISO-8859-13 ISO8859-13 ISO885913",
        .iso8859p14: "ISO-8859-14 ISO8859-14 ISO885914",
        .iso8859p16: "ISO-8859-16 ISO8859-16",
        .windows874: "WINDOWS-874 WINDOWS874 DOS-874 TIS-620 ISO-8859-11 ISO8859-11 ISO885911",
        .windows1250: "WINDOWS-1250 WINDOWS1250 CP1250 X-CP1250",
        .windows1253: "WINDOWS-1253 WINDOWS1253 CP1253 X-CP1253",
        .windows1254: """
        WINDOWS-1254 WINDOWS1254 CP1254 X-CP1254 ISO-8859-9 ISO8859-9 ISO88599 ISO_8859-9 LATIN5 L5 ISO-IR-148 \
        CSISOLATIN5 ISO_8859-9:1989
        """,
        .windows1255: "WINDOWS-1255 WINDOWS1255 CP1255 X-CP1255",
        .windows1256: "WINDOWS-1256 WINDOWS1256 CP1256 X-CP1256",
        .windows1257: "WINDOWS-1257 WINDOWS1257 CP1257 X-CP1257",
        .windows1258: "WINDOWS-1258 WINDOWS1258 CP1258 X-CP1258",
        .macintosh: "MACINTOSH MAC X-MAC-ROMAN CSMACINTOSH",
        .macCyrillic: "X-MAC-CYRILLIC MACCYRILLIC X-MAC-UKRAINIAN",
        .gbk: "GBK GB2312 GB_2312 GB_2312-80 CHINESE ISO-IR-58 CSGB2312 CSISO58GB231280 X-GBK CP936 EUC-CN",
        .gb18030: "GB18030",
        .big5: "BIG5 BIG5-HKSCS CN-BIG5 CSBIG5 X-X-BIG5 CP950",
        .euckr: """
        EUC-KR EUCKR KOREAN KS_C_5601-1987 KS_C_5601-1989 KSC5601 KSC_5601 CSEUCKR CSKSC56011987 ISO-IR-149 WINDOWS-949 \
        CP949 UHC
        """,
        .shiftjis: "SHIFT_JIS SHIFT-JIS SHIFTJIS SJIS X-SJIS MS_KANJI MS932 CSSHIFTJIS WINDOWS-31J CP932",
        .eucjp: "EUC-JP EUCJP X-EUC-JP CSEUCPKDFMTJAPANESE",
    ]
}
