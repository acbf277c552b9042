import Glibc
import Synchronization
package import Telnet

/// Tables of the East Asian character sets, read from glibc's iconv. Any thread.
///
/// iconv never processes a target's text. It is queried once for each possible pair of bytes, when a set is first
/// needed (some milliseconds). From then on the codecs of `Telnet` use the tables. A peer's input therefore goes only
/// through memory-safe code that handles any split, and malformed input is treated as the WHATWG Encoding Standard
/// requires, not as iconv treats it.
package final class IconvTables: CharacterTables {
    package static let shared = IconvTables()

    /// The tables read so far; nil for sets that this system doesn't have.
    private let known = Mutex<[DoubleByteSet: DoubleByteTable?]>([:])

    private init() {}

    package func table(_ set: DoubleByteSet) -> DoubleByteTable? {
        known.withLock { known in
            if let table = known[set] { return table }
            let table = Self.read(set)
            known[set] = .some(table)
            return table
        }
    }

    private static func read(_ set: DoubleByteSet) -> DoubleByteTable? {
        let sources = set.iconvNames.compactMap(IconvSource.init)
        guard sources.count == set.iconvNames.count else { return nil }
        let table = DoubleByteTable(
            scalar: { lead, trail in
                guard let place = set.place(of: lead, trail) else { return nil }
                return place.scalar ?? sources[place.source].scalar(of: place.bytes).flatMap { $0 >= 0x80 ? $0 : nil }
            },
            isWritten: set.writes, prefersLast: set.prefersLast, isFilledByFourBytes: set == .gb18030)
        // A table that is too small means that the system's conversion is broken: the set then counts as missing.
        return table.count > Self.fewestCharacters ? table : nil
    }

    /// The smallest set, JIS X 0212, has 6,067 characters.
    private static let fewestCharacters = 6_000
}

/// One open conversion to UTF-32. Thread-confined: used only by the call that created it.
private final class IconvSource {
    private let descriptor: iconv_t
    /// `(size_t)-1`
    private static let failed = Int(bitPattern: UInt.max)

    /// nil if the system has no such conversion.
    init?(_ name: String) {
        let opened = iconv_open("UTF-32LE", name)
        // iconv_open fails with (iconv_t)-1.
        guard let opened, Int(bitPattern: opened) != -1 else { return nil }
        descriptor = opened
    }

    deinit { iconv_close(descriptor) }

    /// The scalar for these bytes; nil if they represent no scalar, several, or part of one.
    func scalar(of bytes: [UInt8]) -> UInt32? {
        var input = bytes.map { CChar(bitPattern: $0) }
        var output = [UInt32](repeating: 0, count: 4)
        let written: Int? = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBytes { output in
                var from = input.baseAddress
                var left = input.count
                var to = output.baseAddress?.assumingMemoryBound(to: CChar.self)
                var room = output.count
                // Resets the conversion state; the second call below flushes buffered output.
                iconv(descriptor, nil, nil, nil, nil)
                guard iconv(descriptor, &from, &left, &to, &room) != Self.failed, left == 0 else {
                    return nil
                }
                guard iconv(descriptor, nil, nil, &to, &room) != Self.failed else { return nil }
                return output.count - room
            }
        }
        guard written == MemoryLayout<UInt32>.size else { return nil }
        return UInt32(littleEndian: output[0])
    }
}

/// Where to look up a pair of a set.
private struct SourcePlace {
    /// The index in the set's ``DoubleByteSet/iconvNames``.
    var source = 0
    var bytes: [UInt8] = []
    /// Set if no conversion is needed.
    var scalar: UInt32?
}

extension DoubleByteSet {
    /// glibc's names. The second, if any, is for pairs that the first converts differently from the WHATWG Encoding
    /// Standard.
    fileprivate var iconvNames: [String] {
        switch self {
        case .gb18030: ["GB18030"]
        case .big5: ["BIG5-HKSCS", "CP950"]
        case .windows949: ["UHC"]
        case .windows31J, .jis0208: ["CP932"]
        case .jis0212: ["EUC-JP"]
        }
    }

    /// Pairs of GB 18030 for which glibc has private-use characters: the first in every version, the others since the
    /// edition of 2022 (glibc 2.41 has them, 2.36 doesn't). The WHATWG Encoding Standard has these scalars.
    private static let standardScalars: [UInt16: UInt32] = [
        0xA3A0: 0x3000, 0xFE51: 0x2_0087, 0xFE52: 0x2_0089, 0xFE53: 0x2_00CC, 0xFE6C: 0x2_15D7, 0xFE76: 0x2_298F,
        0xFE91: 0x2_41FE,
    ]

    /// nil if the encoding has no such pair. The two bytes are then two characters, or part of a longer one.
    fileprivate func place(of lead: UInt8, _ trail: UInt8) -> SourcePlace? {
        guard trail != 0x7F else { return nil }
        switch self {
        case .gb18030:
            return SourcePlace(
                bytes: [lead, trail], scalar: Self.standardScalars[UInt16(lead) << 8 | UInt16(trail)])
        case .big5:
            guard trail <= 0x7E || trail >= 0xA1 else { return nil }
            return SourcePlace(source: (0xA1...0xA3).contains(lead) ? 1 : 0, bytes: [lead, trail])
        case .windows949: return trail >= 0x41 ? SourcePlace(bytes: [lead, trail]) : nil
        case .windows31J:
            guard !(0xA0...0xDF).contains(lead), lead <= 0xFC, trail <= 0xFC else { return nil }
            return SourcePlace(bytes: [lead, trail])
        case .jis0208:
            guard lead >= 0xA1, trail >= 0xA1 else { return nil }
            return SourcePlace(bytes: Self.shifted(row: lead - 0xA1, cell: trail - 0xA1))
        case .jis0212:
            guard lead >= 0xA1, trail >= 0xA1 else { return nil }
            return SourcePlace(bytes: [0x8F, lead, trail])
        }
    }

    /// Converts a row and cell of JIS X 0208, both from 0, to Shift_JIS: two rows for each lead byte.
    private static func shifted(row: UInt8, cell: UInt8) -> [UInt8] {
        let lead = row / 2 + (row < 62 ? 0x81 : 0xC1)
        let place = cell + (row % 2 == 0 ? 0 : 94)
        return [lead, place + (place < 63 ? 0x40 : 0x41)]
    }

    /// Follows the WHATWG Encoding Standard where several pairs have the same character: it excludes the Hong Kong
    /// characters and NEC's selection of IBM extensions.
    fileprivate var writes: (UInt8, UInt8) -> Bool {
        switch self {
        case .big5: { lead, _ in lead >= 0xA1 }
        case .windows31J: { lead, _ in !(0xED...0xEE).contains(lead) }
        default: { _, _ in true }
        }
    }

    fileprivate var prefersLast: (UInt32) -> Bool {
        self == .big5 ? { [0x2550, 0x255E, 0x2561, 0x256A, 0x5341, 0x5345].contains($0) } : { _ in false }
    }
}
