/// A set of two-byte characters. `Telnet` contains no tables; its user provides them as ``CharacterTables``.
package enum DoubleByteSet: Hashable, Sendable, CaseIterable {
    /// The two-byte part of GB 18030, which is also GBK.
    case gb18030
    /// Big5 with the characters of Hong Kong.
    case big5
    /// EUC-KR with the syllables that windows-949 adds.
    case windows949
    /// Shift_JIS with the characters that windows-31J adds.
    case windows31J
    /// JIS X 0208 as EUC-JP writes it.
    case jis0208
    /// JIS X 0212 as EUC-JP writes it, after the prefix 8F.
    case jis0212
}

/// Provides the tables.
package protocol CharacterTables: Sendable {
    /// - Returns: nil if this machine has no such table.
    func table(_ set: DoubleByteSet) -> DoubleByteTable?
}

extension CharacterTables {
    /// Whether text in this encoding can be read and written.
    package func have(_ encoding: TextEncoding) -> Bool { encoding.requiredSets.allSatisfy { table($0) != nil } }
}

/// The two-byte characters (lead and trail) in both directions. Copies share the memory.
package struct DoubleByteTable: Sendable {
    package static let leads: ClosedRange<UInt8> = 0x81...0xFE
    package static let trails: ClosedRange<UInt8> = 0x40...0xFE

    /// Indexed by lead and trail; 0: undefined.
    private let scalars: [UInt32]
    /// Indexed by scalar of the basic plane; 0: none.
    private let pairs: [UInt16]
    /// The pairs of scalars in the other planes.
    private let farPairs: [UInt32: UInt16]
    /// GB 18030 only: the characters without a pair.
    let rest: GB18030Ranges?

    /// - Parameters:
    ///   - scalar: the scalar of a pair; nil or 0: none.
    ///   - isWritten: whether a pair may be written. If several pairs mean the same scalar, the first or the last of
    ///     them is written.
    ///   - prefersLast: whether the last pair of this scalar is written.
    ///   - isFilledByFourBytes: characters without a pair have four bytes (GB 18030).
    package init(
        scalar: (UInt8, UInt8) -> UInt32?, isWritten: (UInt8, UInt8) -> Bool = { _, _ in true },
        prefersLast: (UInt32) -> Bool = { _ in false }, isFilledByFourBytes: Bool = false
    ) {
        var scalars: [UInt32] = []
        scalars.reserveCapacity(Self.leads.count * Self.trails.count)
        var pairs = [UInt16](repeating: 0, count: 0x1_0000)
        var farPairs: [UInt32: UInt16] = [:]
        for lead in Self.leads {
            for trail in Self.trails {
                let value = scalar(lead, trail) ?? 0
                scalars.append(value)
                guard value != 0, isWritten(lead, trail) else { continue }
                let known = value < 0x1_0000 ? pairs[Int(value)] : farPairs[value] ?? 0
                guard known == 0 || prefersLast(value) else { continue }
                let pair = UInt16(lead) << 8 | UInt16(trail)
                if value < 0x1_0000 { pairs[Int(value)] = pair } else { farPairs[value] = pair }
            }
        }
        (self.scalars, self.pairs, self.farPairs) = (scalars, pairs, farPairs)
        rest = isFilledByFourBytes ? GB18030Ranges { pairs[Int($0)] != 0 } : nil
    }

    package func scalar(_ lead: UInt8, _ trail: UInt8) -> UInt32? {
        guard Self.leads.contains(lead), Self.trails.contains(trail) else { return nil }
        let value = scalars[Int(lead - Self.leads.lowerBound) * Self.trails.count + Int(trail - Self.trails.lowerBound)]
        return value == 0 ? nil : value
    }

    package func pair(for scalar: UInt32) -> (lead: UInt8, trail: UInt8)? {
        let pair = scalar < 0x1_0000 ? pairs[Int(scalar)] : farPairs[scalar] ?? 0
        return pair == 0 ? nil : (UInt8(pair >> 8), UInt8(pair & 0xFF))
    }

    /// The number of characters.
    package var count: Int { scalars.count { $0 != 0 } }
}
