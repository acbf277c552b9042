import WireText

/// The position of a field in the bytes of its header.
struct FieldRange: Hashable, Sendable {
    private let nameStart: UInt32
    private let nameEnd: UInt32
    private let valueStart: UInt32
    private let valueEnd: UInt32

    /// All positions are below four times ``RequestLimits/ceiling``.
    init(name: Range<Int>, value: Range<Int>) {
        nameStart = UInt32(truncatingIfNeeded: name.lowerBound)
        nameEnd = UInt32(truncatingIfNeeded: name.upperBound)
        valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
        valueEnd = UInt32(truncatingIfNeeded: value.upperBound)
    }

    var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
    var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
}

/// Parses field lines up to the empty line after them (RFC 9112 §5), byte by byte, so it can stop and continue
/// anywhere. Used for the header and for trailers.
///
/// ```
/// field-name ":" OWS field-value OWS CRLF
/// ```
struct FieldSectionScanner {
    private enum State {
        case lineStart
        case name
        case value
        case lineFeed
        case lastLineFeed
    }

    private let maximumFields: Int
    private let maximumFieldBytes: Int
    private let maximumBytes: Int
    private let tooLarge: RequestFault
    private var state = State.lineStart
    /// The start of the first line.
    private let start: Int
    private var lineStart: Int
    private var nameEnd = 0
    private(set) var fields: [FieldRange] = []

    /// For a header that begins at `start`.
    init(header limits: RequestLimits, startingAt start: Int) {
        self.init(limits, limits.maximumHeaderBytes, orThrow: .headerTooLarge, startingAt: start)
        // More than most clients send, so the array rarely grows.
        fields.reserveCapacity(min(24, limits.maximumFields))
    }

    init(trailers limits: RequestLimits) {
        self.init(limits, limits.maximumTrailerBytes, orThrow: .trailersTooLarge, startingAt: 0)
    }

    private init(
        _ limits: RequestLimits, _ maximumBytes: Int, orThrow tooLarge: RequestFault, startingAt start: Int
    ) {
        maximumFields = limits.maximumFields
        maximumFieldBytes = limits.maximumFieldBytes
        self.maximumBytes = maximumBytes
        self.tooLarge = tooLarge
        self.start = start
        lineStart = start
    }

    /// The first position that no byte of this line may have, except its CR. The CRLF counts toward the section, not
    /// the line.
    private var lineEndLimit: Int { min(lineStart + maximumFieldBytes, start + maximumBytes - 2) }

    /// - Parameters:
    ///   - bytes: the whole header or trailer so far.
    ///   - position: where to continue; afterwards the first unread byte.
    /// - Returns: whether the section is complete.
    mutating func scan(_ bytes: Span<UInt8>, at position: inout Int) throws(RequestFault) -> Bool {
        while position < bytes.count {
            switch state {
            case .lineStart: try beginLine(bytes[position], at: &position)
            case .name: try scanName(bytes, at: &position)
            case .value: try scanValue(bytes, at: &position)
            case .lineFeed:
                guard bytes[position] == Byte.lineFeed else { throw .bareCR }
                position += 1
                state = .lineStart
            case .lastLineFeed:
                guard bytes[position] == Byte.lineFeed else { throw .bareCR }
                position += 1
                return true
            }
        }
        return false
    }

    private mutating func beginLine(_ byte: UInt8, at position: inout Int) throws(RequestFault) {
        switch byte {
        case Byte.carriageReturn:
            position += 1
            state = .lastLineFeed
        case Byte.lineFeed: throw .bareLF
        // RFC 9112 §5.2 for a folded line, §2.2 for white space before the first field.
        case Byte.space, Byte.tab: throw .foldedLine
        case Byte.colon: throw .fieldNameEmpty
        default:
            guard fields.count < maximumFields else { throw .tooManyFields }
            lineStart = position
            state = .name
        }
    }

    /// RFC 9110 §5.1: a token.
    private mutating func scanName(_ bytes: Span<UInt8>, at position: inout Int) throws(RequestFault) {
        let tokens = ByteSet.token
        let limit = lineEndLimit
        while position < bytes.count, position < limit, tokens.contains(bytes[position]) { position += 1 }
        guard position < bytes.count else { return }
        guard position < limit else { throw tooLong(at: position) }
        switch bytes[position] {
        case Byte.colon:
            nameEnd = position
            position += 1
            state = .value
        // RFC 9112 §5.1: no white space is allowed between the name and the colon.
        case Byte.space, Byte.tab: throw .spaceBeforeColon
        case Byte.carriageReturn: throw .colonMissing
        case Byte.lineFeed: throw .bareLF
        default: throw .fieldNameByte
        }
    }

    /// RFC 9110 §5.5.
    private mutating func scanValue(_ bytes: Span<UInt8>, at position: inout Int) throws(RequestFault) {
        let limit = lineEndLimit
        while position < bytes.count, position < limit, Byte.isFieldContent(bytes[position]) { position += 1 }
        guard position < bytes.count else { return }
        guard bytes[position] == Byte.carriageReturn, position <= limit else {
            guard position < limit else { throw tooLong(at: position) }
            throw bytes[position] == Byte.lineFeed ? .bareLF : .controlByte
        }
        fields.append(
            FieldRange(name: lineStart..<nameEnd, value: Self.trimmed(bytes, nameEnd + 1..<position)))
        position += 1
        state = .lineFeed
    }

    private func tooLong(at position: Int) -> RequestFault {
        position >= lineStart + maximumFieldBytes ? .fieldTooLong : tooLarge
    }

    /// The range without surrounding white space.
    private static func trimmed(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end, ASCIIByte.isBlank(bytes[start]) { start += 1 }
        while end > start, ASCIIByte.isBlank(bytes[end - 1]) { end -= 1 }
        return start..<end
    }
}
