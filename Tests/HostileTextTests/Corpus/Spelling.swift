/// How a carrier writes a text.
enum Spelling: String, Sendable, Hashable {
    /// As it is.
    case plain
    /// Inside a string of JSON: escaped only where it must be.
    case json
    /// The same, each UTF-16 unit as `\uXXXX`.
    case jsonEscapes
    /// In a header field: without control characters, which end it or are refused first.
    case field
    /// In a query or a path: each byte as `%XX`.
    case percent

    /// Whether the text differs from others in this spelling: escapes make all bytes equal to a reader, except for what
    /// they stand for.
    func suits(_ text: HostileText) -> Bool { self != .jsonEscapes || HostileText.unicode.contains(text) }

    func spelled(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .plain: bytes
        case .json: bytes.flatMap(Self.inJSON)
        case .jsonEscapes: String(decoding: bytes, as: UTF8.self).utf16.flatMap(Self.escaped)
        case .field: bytes.filter { $0 >= 0x20 && $0 != 0x7F }
        case .percent: bytes.flatMap { [UInt8(ascii: "%"), Self.digit($0 >> 4), Self.digit($0 & 15)] }
        }
    }

    private static func inJSON(_ byte: UInt8) -> [UInt8] {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
        case 0..<0x20: escaped(UInt16(byte))
        default: [byte]
        }
    }

    private static func escaped(_ unit: UInt16) -> [UInt8] {
        Array("\\u".utf8) + [12, 8, 4, 0].map { digit(UInt8(truncatingIfNeeded: unit >> $0) & 15) }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
