import WireText

/// Parses the request line (RFC 9112 §3) and the empty lines before it, byte by byte, so it can stop and continue
/// anywhere.
///
/// ```
/// method SP request-target SP HTTP-version CRLF
/// ```
struct RequestLineScanner {
    private enum State {
        case start
        case emptyLine
        case method
        case target
        /// The part of the target after the question mark.
        case query
        case version
        case lineFeed
    }

    private static let versionBytes = 8

    private var state = State.start
    private var emptyLines = 0
    private var start = 0
    private(set) var methodEnd = 0
    private(set) var targetEnd = 0

    /// True from the first byte of the request line itself.
    var hasBegun: Bool {
        switch state {
        case .start, .emptyLine: false
        default: true
        }
    }

    var method: Range<Int> { start..<methodEnd }
    var target: Range<Int> { methodEnd + 1..<targetEnd }
    /// The last byte of the version, which distinguishes 1.0 from 1.1.
    var minorVersion: Int { targetEnd + Self.versionBytes }

    /// - Parameters:
    ///   - bytes: the whole request so far.
    ///   - position: where to continue; afterwards the first unread byte.
    /// - Returns: whether the line is complete.
    mutating func scan(_ bytes: Span<UInt8>, at position: inout Int, _ limits: RequestLimits) throws(RequestFault)
        -> Bool
    {
        while position < bytes.count {
            switch state {
            case .start: try begin(bytes[position], at: &position, limits)
            case .emptyLine: try endEmptyLine(bytes[position], at: &position)
            case .method: try scanMethod(bytes, at: &position, limits)
            case .target: try scanTarget(bytes, of: .target, at: &position, limits)
            case .query: try scanTarget(bytes, of: .query, at: &position, limits)
            case .version: try scanVersion(bytes[position], at: &position, limits)
            case .lineFeed:
                guard bytes[position] == Byte.lineFeed else { throw .bareCR }
                position += 1
                try checkVersion(bytes)
                return true
            }
        }
        return false
    }

    /// RFC 9112 §2.2: at least one empty line before the request line should be ignored.
    private mutating func begin(_ byte: UInt8, at position: inout Int, _ limits: RequestLimits) throws(RequestFault) {
        guard byte == Byte.carriageReturn else {
            start = position
            return state = .method
        }
        guard emptyLines < limits.maximumLeadingEmptyLines else { throw .tooManyEmptyLines }
        emptyLines += 1
        position += 1
        state = .emptyLine
    }

    private mutating func endEmptyLine(_ byte: UInt8, at position: inout Int) throws(RequestFault) {
        guard byte == Byte.lineFeed else { throw .bareCR }
        position += 1
        state = .start
    }

    /// RFC 9110 §9.1: a token.
    private mutating func scanMethod(_ bytes: Span<UInt8>, at position: inout Int, _ limits: RequestLimits)
        throws(RequestFault)
    {
        let tokens = ByteSet.token
        let limit = start + limits.maximumMethodBytes
        while position < bytes.count, tokens.contains(bytes[position]) {
            guard position < limit else { throw .methodTooLong }
            position += 1
        }
        guard position < bytes.count else { return }
        try checkSeparator(bytes[position], isFirst: position == start, orThrow: .methodByte)
        methodEnd = position
        position += 1
        state = .target
    }

    /// - Parameter set: the bytes allowed in the current part of the target.
    private mutating func scanTarget(
        _ bytes: Span<UInt8>, of set: ByteSet, at position: inout Int, _ limits: RequestLimits
    ) throws(RequestFault) {
        let limit = start + limits.maximumRequestLineBytes
        while position < bytes.count, position < limit, set.contains(bytes[position]) { position += 1 }
        guard position < bytes.count else { return }
        guard position < limit else { throw .requestLineTooLong }
        guard state == .query || bytes[position] != UInt8(ascii: "?") else {
            position += 1
            return state = .query
        }
        try checkSeparator(bytes[position], isFirst: position == methodEnd + 1, orThrow: .targetByte)
        targetEnd = position
        position += 1
        state = .version
    }

    /// RFC 9112 §3: the separator is one space. Other white space is refused, although §3 would allow it.
    /// - Parameter isFirst: the part before the separator is empty.
    private func checkSeparator(_ byte: UInt8, isFirst: Bool, orThrow fault: RequestFault) throws(RequestFault) {
        switch byte {
        case Byte.space where !isFirst: return
        case Byte.space, Byte.tab, Byte.carriageReturn: throw .requestLineMalformed
        case Byte.lineFeed: throw .bareLF
        default: throw fault
        }
    }

    /// RFC 9112 §2.3: `HTTP/` in upper case, a digit, a dot, a digit.
    private mutating func scanVersion(_ byte: UInt8, at position: inout Int, _ limits: RequestLimits)
        throws(RequestFault)
    {
        guard byte != Byte.lineFeed else { throw .bareLF }
        let offset = position - targetEnd - 1
        if offset == Self.versionBytes {
            guard byte == Byte.carriageReturn else { throw .requestLineMalformed }
            state = .lineFeed
        } else {
            guard position < start + limits.maximumRequestLineBytes else { throw .requestLineTooLong }
            guard Self.isVersionByte(byte, at: offset) else { throw Self.fault(of: byte, at: offset) }
        }
        position += 1
    }

    private static func isVersionByte(_ byte: UInt8, at offset: Int) -> Bool {
        switch offset {
        case 0: byte == UInt8(ascii: "H")
        case 1, 2: byte == UInt8(ascii: "T")
        case 3: byte == UInt8(ascii: "P")
        case 4: byte == UInt8(ascii: "/")
        case 6: byte == UInt8(ascii: ".")
        default: ASCIIByte.isDigit(byte)
        }
    }

    private static func fault(of byte: UInt8, at offset: Int) -> RequestFault {
        let isMissing = offset == 0 && (byte == Byte.carriageReturn || ASCIIByte.isBlank(byte))
        return isMissing ? .requestLineMalformed : .versionMalformed
    }

    /// RFC 9110 §15.6.6. Higher minor versions of HTTP/1 don't exist. §2.5 would treat them as 1.1; they are refused
    /// here.
    private func checkVersion(_ bytes: Span<UInt8>) throws(RequestFault) {
        guard bytes[minorVersion - 2] == UInt8(ascii: "1"), bytes[minorVersion] <= UInt8(ascii: "1") else {
            throw .versionNotSupported
        }
    }
}
