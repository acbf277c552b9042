import WireText

/// Parses a chunked body (RFC 9112 §7.1) byte by byte, so it can stop and continue anywhere.
///
/// ```
/// chunk-size [ chunk-ext ] CRLF  chunk-data CRLF  …  "0" [ chunk-ext ] CRLF  trailer-section CRLF
/// ```
struct ChunkScanner {
    enum Found: Equatable {
        case needsMore
        /// Positions in the input.
        case data(Range<Int>)
        case end
    }

    private enum State {
        case sizeStart
        case size
        case spaceBeforeExtension
        case extensions
        case lineFeed
        case data
        case dataCR
        case dataLF
        case trailers
    }

    private let limits: RequestLimits
    private var state = State.sizeStart
    private var size = 0
    private var lineBytes = 0
    private var extensionBytes = 0
    /// Bytes that the body may still contain.
    private var allowance: Int
    /// Bytes left in the current chunk.
    private var remaining = 0
    private var trailers: FieldSectionScanner
    private var trailerBytes: [UInt8] = []

    init(_ limits: RequestLimits) {
        self.limits = limits
        allowance = limits.maximumBodyBytes
        trailers = FieldSectionScanner(trailers: limits)
    }

    /// - Parameter position: where to continue in `input`; afterwards the first unread byte.
    mutating func scan(_ input: Span<UInt8>, at position: inout Int) throws(RequestFault) -> Found {
        while position < input.count {
            switch state {
            case .data: return .data(takeData(input, at: &position))
            case .trailers: return try takeTrailers(input, at: &position) ? .end : .needsMore
            default:
                try take(input[position])
                position += 1
            }
        }
        return .needsMore
    }

    private mutating func takeData(_ input: Span<UInt8>, at position: inout Int) -> Range<Int> {
        let piece = position..<position + min(remaining, input.count - position)
        position = piece.upperBound
        remaining -= piece.count
        if remaining == 0 { state = .dataCR }
        return piece
    }

    private mutating func take(_ byte: UInt8) throws(RequestFault) {
        switch state {
        case .sizeStart, .size: try takeSize(byte)
        case .spaceBeforeExtension: try takeSpace(byte)
        case .extensions: try takeExtension(byte)
        case .lineFeed:
            guard byte == Byte.lineFeed else { throw .bareCR }
            try endLine()
        case .dataCR:
            guard byte == Byte.carriageReturn else { throw .chunkEndMissing }
            state = .dataLF
        case .dataLF:
            guard byte == Byte.lineFeed else { throw .chunkEndMissing }
            state = .sizeStart
        case .data, .trailers: break
        }
    }

    /// `1*HEXDIG`, then an extension or the end of the line.
    private mutating func takeSize(_ byte: UInt8) throws(RequestFault) {
        if let digit = Hexadecimal.value(of: byte) {
            try countLineByte()
            guard size >> (Int.bitWidth - 5) == 0 else { throw .chunkSizeOverflow }
            size = size << 4 | Int(digit)
            state = .size
        } else if byte == Byte.lineFeed {
            throw .bareLF
        } else {
            guard state == .size else { throw .chunkSizeMalformed }
            guard size <= allowance else { throw .bodyTooLarge }
            switch byte {
            case Byte.carriageReturn: state = .lineFeed
            case UInt8(ascii: ";"), Byte.space, Byte.tab:
                try countExtensionByte()
                state = byte == UInt8(ascii: ";") ? .extensions : .spaceBeforeExtension
            default: throw .chunkSizeMalformed
            }
        }
    }

    /// RFC 9112 §7.1.1: white space is allowed before the semicolon of an extension, and nowhere else.
    private mutating func takeSpace(_ byte: UInt8) throws(RequestFault) {
        switch byte {
        case UInt8(ascii: ";"): state = .extensions
        case Byte.space, Byte.tab: break
        case Byte.lineFeed: throw .bareLF
        default: throw .chunkSizeMalformed
        }
        try countExtensionByte()
    }

    /// RFC 9112 §7.1.1: unknown extensions are ignored. All are unknown here. They can't hide a line end.
    private mutating func takeExtension(_ byte: UInt8) throws(RequestFault) {
        switch byte {
        case Byte.carriageReturn: state = .lineFeed
        case Byte.lineFeed: throw .bareLF
        default:
            guard Byte.isFieldContent(byte) else { throw .controlByte }
            try countExtensionByte()
        }
    }

    private mutating func countLineByte() throws(RequestFault) {
        lineBytes += 1
        guard lineBytes <= limits.maximumChunkLineBytes else { throw .chunkLineTooLong }
    }

    private mutating func countExtensionByte() throws(RequestFault) {
        try countLineByte()
        extensionBytes += 1
        guard extensionBytes <= limits.maximumChunkExtensionBytes else { throw .chunkExtensionsTooLong }
    }

    private mutating func endLine() throws(RequestFault) {
        state = size == 0 ? .trailers : .data
        remaining = size
        allowance -= size
        size = 0
        lineBytes = 0
    }

    /// RFC 9112 §7.1.2: trailer fields may be discarded. They are, but they must be well-formed.
    ///
    /// - Returns: whether the section is complete.
    private mutating func takeTrailers(_ input: Span<UInt8>, at position: inout Int) throws(RequestFault) -> Bool {
        let before = trailerBytes.count
        // The section's limit, the empty line, and one excess byte.
        let room = limits.maximumTrailerBytes + 3 - before
        let piece = input.extracting(position...).extracting(first: max(room, 0))
        trailerBytes.append(copying: piece)
        var scanned = before
        let collected = trailerBytes
        let isComplete = try trailers.scan(collected.span, at: &scanned)
        guard isComplete || piece.count == input.count - position else { throw .trailersTooLarge }
        position += scanned - before
        if isComplete { trailerBytes = [] }
        return isComplete
    }
}
