/// An encoding whose characters have one to four bytes. It reads and writes one character at a time and keeps no state,
/// so the result doesn't depend on how the text is split. Decoding resumes after malformed text as in the WHATWG
/// Encoding Standard: an ASCII byte is never swallowed.
enum MultiByteCodec: Sendable {
    case gb18030(DoubleByteTable, GB18030Ranges)
    /// Reads everything that `gb18030` reads, and writes at most two bytes.
    case gbk(DoubleByteTable, GB18030Ranges)
    case big5(DoubleByteTable)
    case euckr(DoubleByteTable)
    case shiftjis(DoubleByteTable)
    case eucjp(DoubleByteTable, jis0212: DoubleByteTable)

    /// The longest character in bytes.
    static let maximumLength = 4

    /// nil if the encoding isn't one of these, or its tables are missing.
    init?(_ encoding: TextEncoding, tables: (any CharacterTables)?) {
        guard let tables else { return nil }
        let found = encoding.requiredSets.compactMap { tables.table($0) }
        guard found.count == encoding.requiredSets.count, let first = found.first, let last = found.last else {
            return nil
        }
        switch encoding {
        case .gb18030, .gbk:
            guard let rest = first.rest else { return nil }
            self = encoding == .gbk ? .gbk(first, rest) : .gb18030(first, rest)
        case .big5: self = .big5(first)
        case .euckr: self = .euckr(first)
        case .shiftjis: self = .shiftjis(first)
        case .eucjp: self = .eucjp(first, jis0212: last)
        default: return nil
        }
    }

    enum Step: Hashable {
        case scalar(UInt32, length: Int)
        /// Four pairs of Big5 encode a letter with a combining mark.
        case marked(UInt32, mark: UInt32, length: Int)
        /// The bytes end inside a character that may still be completed.
        case truncated
        /// Invalid bytes; the next byte may begin a character.
        case malformed(length: Int)
    }

    /// Reads the character at `start`, which must be an index of `bytes`.
    func step(in bytes: Span<UInt8>, at start: Int) -> Step {
        let lead = bytes[start]
        if lead < 0x80 { return .scalar(UInt32(lead), length: 1) }
        let rest = start + 1 < bytes.count ? bytes.extracting((start + 1)..<min(bytes.count, start + 4)) : nil
        switch self {
        case .gb18030(let table, let ranges), .gbk(let table, let ranges):
            return Self.gb18030(lead, rest, table, ranges)
        case .big5(let table): return Self.big5(lead, rest, table)
        case .euckr(let table): return Self.pair(lead, rest, table)
        case .shiftjis(let table): return Self.shiftjis(lead, rest, table)
        case .eucjp(let table, let jis0212): return Self.eucjp(lead, rest, table, jis0212)
        }
    }

    /// Appends a scalar above ASCII.
    ///
    /// - Returns: false, and nothing is appended, if the encoding has no such character.
    func append(_ scalar: UInt32, to output: inout [UInt8]) -> Bool {
        guard let bytes = bytes(of: scalar) else { return false }
        output += bytes
        return true
    }
}

// MARK: Reading

extension MultiByteCodec {
    /// A lead and a trail that must be a pair of the table.
    private static func pair(_ lead: UInt8, _ rest: Span<UInt8>?, _ table: DoubleByteTable) -> Step {
        guard DoubleByteTable.leads.contains(lead) else { return .malformed(length: 1) }
        guard let rest else { return .truncated }
        if let scalar = table.scalar(lead, rest[0]) { return .scalar(scalar, length: 2) }
        return .malformed(length: rest[0] < 0x80 ? 1 : 2)
    }

    private static func gb18030(
        _ lead: UInt8, _ rest: Span<UInt8>?, _ table: DoubleByteTable, _ ranges: GB18030Ranges
    ) -> Step {
        if lead == 0x80 { return .scalar(0x20AC, length: 1) }
        guard let rest, DoubleByteTable.leads.contains(lead), digits.contains(rest[0]) else {
            return pair(lead, rest, table)
        }
        guard rest.count > 1 else { return .truncated }
        guard DoubleByteTable.leads.contains(rest[1]) else { return .malformed(length: 1) }
        guard rest.count > 2 else { return .truncated }
        guard digits.contains(rest[2]) else { return .malformed(length: 1) }
        let pointer =
            ((Int(lead - 0x81) * 10 + Int(rest[0] - 0x30)) * 126 + Int(rest[1] - 0x81)) * 10 + Int(rest[2] - 0x30)
        return ranges.scalar(at: pointer).map { .scalar($0, length: 4) } ?? .malformed(length: 4)
    }

    private static let digits: ClosedRange<UInt8> = 0x30...0x39

    private static func big5(_ lead: UInt8, _ rest: Span<UInt8>?, _ table: DoubleByteTable) -> Step {
        if lead == 0x88, let trail = rest?[0], let (letter, mark) = markedLetters[trail] {
            return .marked(letter, mark: mark, length: 2)
        }
        return pair(lead, rest, table)
    }

    /// By the trail after lead 88.
    private static let markedLetters: [UInt8: (UInt32, UInt32)] = [
        0x62: (0xCA, 0x304), 0x64: (0xCA, 0x30C), 0xA3: (0xEA, 0x304), 0xA5: (0xEA, 0x30C),
    ]

    private static func shiftjis(_ lead: UInt8, _ rest: Span<UInt8>?, _ table: DoubleByteTable) -> Step {
        switch lead {
        case 0x80: .scalar(0x80, length: 1)
        case katakana: .scalar(UInt32(lead) + firstKatakana, length: 1)
        case 0xA0, 0xFD...0xFF: .malformed(length: 1)
        default: pair(lead, rest, table)
        }
    }

    /// Half-width katakana, from JIS X 0201.
    private static let katakana: ClosedRange<UInt8> = 0xA1...0xDF
    private static let firstKatakana: UInt32 = 0xFF61 - 0xA1

    private static func eucjp(
        _ lead: UInt8, _ rest: Span<UInt8>?, _ table: DoubleByteTable, _ jis0212: DoubleByteTable
    ) -> Step {
        guard lead == 0x8E || lead == 0x8F else { return pair(lead, rest, table) }
        guard let rest else { return .truncated }
        if lead == 0x8E, katakana.contains(rest[0]) { return .scalar(UInt32(rest[0]) + firstKatakana, length: 2) }
        guard lead == 0x8F, (0xA1...0xFE).contains(rest[0]) else { return .malformed(length: rest[0] < 0x80 ? 1 : 2) }
        guard rest.count > 1 else { return .truncated }
        if let scalar = jis0212.scalar(rest[0], rest[1]) { return .scalar(scalar, length: 3) }
        return .malformed(length: rest[1] < 0x80 ? 2 : 3)
    }
}

// MARK: Writing

extension MultiByteCodec {
    private func bytes(of scalar: UInt32) -> [UInt8]? {
        switch self {
        case .gb18030(let table, let ranges):
            Self.pair(scalar, table) ?? ranges.pointer(for: scalar).map(Self.fourBytes)
        case .gbk(let table, _): scalar == 0x20AC ? [0x80] : Self.pair(scalar, table)
        case .big5(let table), .euckr(let table): Self.pair(scalar, table)
        case .shiftjis(let table): Self.shiftjis(scalar, table)
        case .eucjp(let table, _): Self.eucjp(scalar, table)
        }
    }

    private static func pair(_ scalar: UInt32, _ table: DoubleByteTable) -> [UInt8]? {
        table.pair(for: scalar).map { [$0.lead, $0.trail] }
    }

    private static func fourBytes(_ pointer: Int) -> [UInt8] {
        [
            UInt8(0x81 + pointer / 12_600), UInt8(0x30 + pointer / 1_260 % 10), UInt8(0x81 + pointer / 10 % 126),
            UInt8(0x30 + pointer % 10),
        ]
    }

    private static func shiftjis(_ scalar: UInt32, _ table: DoubleByteTable) -> [UInt8]? {
        switch scalar {
        case 0x80: [0x80]
        case 0xA5: [0x5C]
        case 0x203E: [0x7E]
        case 0xFF61...0xFF9F: [UInt8(scalar - firstKatakana)]
        default: pair(scalar == 0x2212 ? 0xFF0D : scalar, table)
        }
    }

    /// JIS X 0212 is only read: EUC-JP text in practice doesn't use it.
    private static func eucjp(_ scalar: UInt32, _ table: DoubleByteTable) -> [UInt8]? {
        switch scalar {
        case 0xA5: [0x5C]
        case 0x203E: [0x7E]
        case 0xFF61...0xFF9F: [0x8E, UInt8(scalar - firstKatakana)]
        default: pair(scalar == 0x2212 ? 0xFF0D : scalar, table)
        }
    }
}
