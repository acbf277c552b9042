/// Reads a chunked body (RFC 9112 §7.1), one byte after the other: it can stop anywhere and go on.
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
    /// What the body may still have.
    private var allowance: Int
    /// What is left of a chunk.
    private var remaining = 0
    private var trailers: FieldSectionScanner
    private var trailerBytes: [UInt8] = []

    init(_ limits: RequestLimits) {
        self.limits = limits
        allowance = limits.maximumBodyBytes
        trailers = FieldSectionScanner(trailers: limits)
    }

    /// - Parameter position: where to go on in `input`; afterwards the first byte that isn't read yet.
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
        if let digit = Byte.hexadecimal(byte) {
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

    /// RFC 9112 §7.1.1: white space may stand before the semicolon of an extension, and nowhere else.
    private mutating func takeSpace(_ byte: UInt8) throws(RequestFault) {
        switch byte {
        case UInt8(ascii: ";"): state = .extensions
        case Byte.space, Byte.tab: break
        case Byte.lineFeed: throw .bareLF
        default: throw .chunkSizeMalformed
        }
        try countExtensionByte()
    }

    /// RFC 9112 §7.1.1: extensions that aren't known are ignored. All are; they can't hide an end of line.
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

    /// RFC 9112 §7.1.2: trailer fields may be discarded. They are, and must be well-formed nevertheless.
    ///
    /// - Returns: whether the section is complete.
    private mutating func takeTrailers(_ input: Span<UInt8>, at position: inout Int) throws(RequestFault) -> Bool {
        let before = trailerBytes.count
        // The section's limit, the empty line, and one byte that is too many.
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
