extension [UInt8] {
    /// Grows the capacity at least twofold, so that many small pieces don't each cause a copy.
    mutating func append(copying span: Span<UInt8>) {
        if capacity < count + span.count { reserveCapacity(Swift.max(2 * capacity, count + span.count)) }
        append(addingCapacity: span.count) { output in
            for index in span.indices { output.append(span[index]) }
        }
    }

    /// - Parameters:
    ///   - number: not negative.
    ///   - radix: up to 16; digits above nine are lower case.
    mutating func append(number: Int, radix: Int) {
        let start = count
        var rest = number.magnitude
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: radix.magnitude)
            append(UInt8(truncatingIfNeeded: digit) + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
            rest = quotient
        } while rest > 0
        self[start...].reverse()
    }
}
