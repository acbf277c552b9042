import WireText

/// A set of ASCII bytes. Copy it into a local constant before a loop: each use of a static property checks that it is
/// initialised.
struct ByteSet: Sendable {
    private let low: UInt64
    private let high: UInt64

    /// The members of `text` (ASCII), and all letters and digits.
    private init(alphanumericsAnd text: StaticString) {
        var low: UInt64 = 0
        var high: UInt64 = 0
        func insert(_ byte: UInt8) {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
        }
        "\(text)".utf8.forEach(insert)
        (UInt8(ascii: "0")...UInt8(ascii: "9")).forEach(insert)
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).forEach(insert)
        (UInt8(ascii: "a")...UInt8(ascii: "z")).forEach(insert)
        self.low = low
        self.high = high
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let bits = byte < 64 ? low : high
        return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
    }

    /// `tchar` (RFC 9110 §5.6.2).
    static let token = ByteSet(alphanumericsAnd: "!#$%&'*+-.^_`|~")
    /// `unreserved`, `sub-delims` and the percent sign (RFC 3986 §2, §3.2.2).
    static let registeredName = ByteSet(alphanumericsAnd: "-._~!$&'()*+,;=%")
    /// `pchar`, the slash and the percent sign (RFC 3986 §3.3).
    static let path = ByteSet(alphanumericsAnd: "-._~!$&'()*+,;=%:@/")
    /// All visible ASCII except `"`, `#`, `<` and `>`. These are the bytes that the query percent-encode set of the URL
    /// Standard (§1.3) leaves unescaped, so browsers send them. RFC 3986 §3.4 allows fewer.
    static let query = ByteSet(alphanumericsAnd: "!$%&'()*+,-./:;=?@[\\]^_`{|}~")
    /// The bytes allowed in any form of a request target before its query, including the brackets of an IPv6 address.
    static let target = ByteSet(alphanumericsAnd: "-._~!$&'()*+,;=%:@/[]")
}

/// Bytes with a special meaning.
enum Byte {
    static let tab = UInt8(ascii: "\t")
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")

    /// `field-vchar`, SP and HTAB (RFC 9110 §5.5): visible ASCII, bytes from 0x80, and white space.
    @inline(__always)
    static func isFieldContent(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7F : byte == tab }
}

extension Span<UInt8> {
    /// - Parameter name: in lower case.
    func equalsIgnoringCase(_ name: String) -> Bool {
        let name = name.utf8Span.span
        guard name.count == count else { return false }
        for index in indices where ASCIIByte.lowercased(self[index]) != name[index] { return false }
        return true
    }

    /// Whether each percent sign begins an escape of two hexadecimal digits (RFC 3986 §2.1) and all other bytes are in
    /// `set`.
    func isEscapedText(of set: ByteSet) -> Bool {
        var index = 0
        while index < count {
            guard set.contains(self[index]) else { return false }
            if self[index] == UInt8(ascii: "%") {
                guard index + 2 < count, Hexadecimal.value(of: self[index + 1]) != nil,
                    Hexadecimal.value(of: self[index + 2]) != nil
                else { return false }
                index += 2
            }
            index += 1
        }
        return true
    }
}

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
