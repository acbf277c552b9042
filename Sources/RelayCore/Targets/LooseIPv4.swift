import WireText

/// IPv4 addresses as `inet_aton`, and so some resolvers, read them: one to four numbers, decimal, octal (`0…`) or hexadecimal
/// (`0x…`), where the last number fills the remaining bytes. The algorithm is the IPv4 parser of the URL Standard.
enum LooseIPv4 {
    /// Whether a host with this last label can only be an address: the label has only digits, or is a hexadecimal number.
    static func isNumeric(_ label: ArraySlice<UInt8>) -> Bool {
        let (digits, base) = isHexadecimal(label) ? (label.dropFirst(2), UInt64(16)) : (label, 10)
        return !label.isEmpty && digits.allSatisfy { digit($0, base: base) != nil }
    }

    static func address(_ labels: [ArraySlice<UInt8>]) -> IPAddress? {
        guard (1...4).contains(labels.count) else { return nil }
        let numbers = labels.compactMap(number)
        guard numbers.count == labels.count, let last = numbers.last, numbers.dropLast().allSatisfy({ $0 <= 0xff })
        else {
            return nil
        }
        let bytesLeft = 5 - numbers.count
        guard last >> UInt64(8 * bytesLeft) == 0 else { return nil }
        let tail = (0..<bytesLeft).reversed().map { UInt8(truncatingIfNeeded: last >> UInt64(8 * $0)) }
        return IPAddress(bytes: numbers.dropLast().map { UInt8(truncatingIfNeeded: $0) } + tail)
    }

    private static func isHexadecimal(_ label: ArraySlice<UInt8>) -> Bool {
        label.count >= 2 && label.first == UInt8(ascii: "0")
            && label.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
    }

    /// `0x` alone is 0. `nil` also for a number over 32 bits; any count of leading zeros is accepted.
    private static func number(_ label: ArraySlice<UInt8>) -> UInt64? {
        guard let first = label.first else { return nil }
        let base: UInt64
        let digits: ArraySlice<UInt8>
        if isHexadecimal(label) {
            (base, digits) = (16, label.dropFirst(2))
        } else if first == UInt8(ascii: "0"), label.count > 1 {
            (base, digits) = (8, label.dropFirst())
        } else {
            (base, digits) = (10, label)
        }
        var number: UInt64 = 0
        for byte in digits {
            guard let value = digit(byte, base: base) else { return nil }
            number = number * base + value
            guard number <= UInt64(UInt32.max) else { return nil }
        }
        return number
    }

    private static func digit(_ byte: UInt8, base: UInt64) -> UInt64? {
        let value = Hexadecimal.value(of: byte).map(UInt64.init)
        return value.flatMap { $0 < base ? $0 : nil }
    }
}
