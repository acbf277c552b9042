/// A single-byte encoding with ASCII in its lower half.
struct CodePage: Sendable {
    private let scalars: [Unicode.Scalar]
    private let bytes: [UInt32: UInt8]

    /// - Parameter upperHalf: the characters 80 to FF, with U+FFFD for undefined bytes. If it is too short, the last
    ///   bytes are undefined.
    init(_ upperHalf: String) {
        scalars = Array(upperHalf.unicodeScalars)
        let pairs = zip(scalars.map(\.value), UInt8(0x80)...0xFF).filter { $0.0 != 0xFFFD }
        bytes = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    func scalar(of byte: UInt8) -> Unicode.Scalar {
        if byte < 0x80 { return Unicode.Scalar(byte) }
        let index = Int(byte) - 0x80
        return index < scalars.count ? scalars[index] : "\u{FFFD}"
    }

    /// For a scalar above ASCII.
    func byte(for scalar: UInt32) -> UInt8? { bytes[scalar] }

    /// The code page of a single-byte encoding; an empty page for other encodings.
    static func of(_ encoding: TextEncoding) -> CodePage { pages[encoding] ?? none }

    private static let none = CodePage("")

    private static let pages: [TextEncoding: CodePage] = [
        .windows1252: windows1252, .cp437: cp437, .latin2: latin2, .latin9: latin9, .windows1251: windows1251,
        .koi8r: koi8r, .koi8u: koi8u, .ibm866: ibm866, .latin3: latin3, .latin4: latin4, .iso8859p5: iso8859p5,
        .iso8859p6: iso8859p6, .iso8859p7: iso8859p7, .iso8859p8: iso8859p8, .iso8859p10: iso8859p10,
        .iso8859p13: iso8859p13, .iso8859p14: iso8859p14, .iso8859p16: iso8859p16, .windows874: windows874,
        .windows1250: windows1250, .windows1253: windows1253, .windows1254: windows1254, .windows1255: windows1255,
        .windows1256: windows1256, .windows1257: windows1257, .windows1258: windows1258, .macintosh: macintosh,
        .macCyrillic: macCyrillic,
    ]
}

/// The upper halves of the code pages, 80 to FF, 32 characters a line.
extension CodePage {
    /// The C1 controls 80 to 9F, for the range in which ISO 8859 has no characters.
    static let c1Controls = String(String.UnicodeScalarView((UInt8(0x80)...0x9F).map { Unicode.Scalar($0) }))

    /// windows-1252, with C1 controls for its undefined bytes.
    static let windows1252 = CodePage(
        """
        €\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8D}Ž\u{8F}\u{90}‘’“”•–—˜™š›œ\u{9D}žŸ\
        \u{A0}¡¢£¤¥¦§¨©ª«¬\u{AD}®¯°±²³´µ¶·¸¹º»¼½¾¿\
        ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß\
        àáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ
        """)

    /// IBM PC code page 437.
    static let cp437 = CodePage(
        """
        ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒ\
        áíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
        └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀\
        αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}
        """)

    /// ISO 8859-2.
    static let latin2 = CodePage(
        """
        \(c1Controls)\
        \u{A0}Ą˘Ł¤ĽŚ§¨ŠŞŤŹ\u{AD}ŽŻ°ą˛ł´ľśˇ¸šşťź˝žż\
        ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢß\
        ŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙
        """)

    /// ISO 8859-15.
    static let latin9 = CodePage(
        """
        \(c1Controls)\
        \u{A0}¡¢£€¥Š§š©ª«¬\u{AD}®¯°±²³Žµ¶·ž¹º»ŒœŸ¿\
        ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß\
        àáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ
        """)

    /// windows-1251, with a C1 control for its undefined byte.
    static let windows1251 = CodePage(
        """
        ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\u{98}™љ›њќћџ\
        \u{A0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{AD}®Ї°±Ііґµ¶·ё№є»јЅѕї\
        АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ\
        абвгдежзийклмнопрстуфхцчшщъыьэюя
        """)

    /// KOI8-R (RFC 1489).
    static let koi8r = CodePage(
        """
        ─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u{A0}⌡°²·÷\
        ═║╒ё╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡Ё╢╣╤╥╦╧╨╩╪╫╬©\
        юабцдефгхийклмнопярстужвьызшэщчъ\
        ЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ
        """)
}
