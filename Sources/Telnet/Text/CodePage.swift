/// A single-byte encoding with ASCII in its lower half.
struct CodePage: Sendable {
    private let scalars: [Unicode.Scalar]
    private let bytes: [UInt32: UInt8]

    /// - Parameter upperHalf: the characters 80 to FF, with U+FFFD for undefined bytes. If it is too short, the last bytes are
    ///   undefined.
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
