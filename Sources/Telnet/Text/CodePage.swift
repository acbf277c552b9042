/// An encoding of one byte a character, with ASCII in its lower half.
struct CodePage: Sendable {
    private let scalars: [Unicode.Scalar]
    private let bytes: [UInt32: UInt8]

    /// - Parameter upperHalf: the characters 80 to FF. One too few leaves the last ones unknown.
    init(_ upperHalf: String) {
        scalars = Array(upperHalf.unicodeScalars)
        bytes = Dictionary(
            zip(scalars.map(\.value), UInt8(0x80)...0xFF), uniquingKeysWith: { first, _ in first })
    }

    func scalar(of byte: UInt8) -> Unicode.Scalar {
        if byte < 0x80 { return Unicode.Scalar(byte) }
        let index = Int(byte) - 0x80
        return index < scalars.count ? scalars[index] : "\u{FFFD}"
    }

    /// For a scalar above ASCII.
    func byte(for scalar: UInt32) -> UInt8? { bytes[scalar] }

    /// The page of an encoding that is described by one.
    static func of(_ encoding: TextEncoding) -> CodePage {
        switch encoding {
        case .utf8, .latin1, .ascii, .windows1252: windows1252
        case .cp437: cp437
        case .latin2: latin2
        case .latin9: latin9
        case .windows1251: windows1251
        case .koi8r: koi8r
        }
    }
}
