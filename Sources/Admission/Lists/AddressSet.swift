import WireText

/// A set of address ranges with look-up by binary search.
struct AddressSet: Sendable, Equatable {
    private let ipv4: [ClosedRange<UInt128>]
    private let ipv6: [ClosedRange<UInt128>]

    init(_ ranges: [AddressRange]) {
        ipv4 = Self.disjoint(ranges.filter(\.isIPv4))
        ipv6 = Self.disjoint(ranges.filter { !$0.isIPv4 })
    }

    func contains(_ address: IPAddress) -> Bool {
        let bytes = address.bytes
        let ranges = bytes.count == 4 ? ipv4 : ipv6
        let number = UInt128(bigEndian: bytes)
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(number)
    }

    /// Sorted. If two CIDR ranges overlap, one contains the other; the smaller one is dropped.
    private static func disjoint(_ ranges: [AddressRange]) -> [ClosedRange<UInt128>] {
        let sorted = ranges.map(\.bounds).sorted {
            ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound)
        }
        return sorted.reduce(into: []) { kept, range in
            if let last = kept.last, last.upperBound >= range.upperBound { return }
            kept.append(range)
        }
    }
}

extension AddressRange {
    var isIPv4: Bool { network.count == 4 }

    /// The first and the last address, as numbers of the family's width.
    var bounds: ClosedRange<UInt128> {
        let first = UInt128(bigEndian: network)
        let free = UInt128(8 * network.count - bits)
        return first...(first | ((1 << free) &- 1))
    }
}

extension UInt128 {
    fileprivate init(bigEndian bytes: [UInt8]) { self = bytes.reduce(0) { $0 << 8 | UInt128($1) } }
}
