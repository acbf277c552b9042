/// The next event in a connection's input.
package enum RequestEvent: Hashable, Sendable {
    /// All input is consumed, and nothing is complete.
    case needsMore
    /// The header is complete. The parser stops after it, so that the caller can decide: continue with the body, send
    /// `100 Continue` first, refuse, or upgrade and stop using the parser.
    case head(RequestHead)
    /// A piece of the body, as positions in the input. All pieces together are within
    /// ``RequestLimits/maximumBodyBytes``.
    case body(Range<Int>)
    /// The request is complete. The following bytes belong to the next one; see ``RequestParser/reset()``.
    case end
    case malformed(RequestFault)
}

package struct RequestProgress: Hashable, Sendable {
    package let event: RequestEvent
    /// The number of input bytes consumed. The rest must be passed again with the next input.
    package let consumed: Int
}

/// A strict incremental parser of HTTP/1.1 requests (RFC 9112). One value per connection.
///
/// The result doesn't depend on how the input is split. Between requests the parser holds no memory.
package struct RequestParser: Sendable {
    private enum Phase {
        case requestLine
        case fields
        case fixedBody(remaining: Int)
        case chunkedBody
        case complete
        case malformed(RequestFault)
    }

    private let limits: RequestLimits
    private var phase = Phase.requestLine
    private var line = RequestLineScanner()
    private var fields: FieldSectionScanner?
    private var chunks: ChunkScanner?
    /// The header bytes until the header is complete.
    private var bytes: [UInt8] = []
    private var position = 0
    /// Whether the method is HEAD, as far as it has arrived. Also set for malformed requests: their responses have no
    /// content either (RFC 9110 §9.3.2).
    package private(set) var isHead = false

    package init(limits: RequestLimits = RequestLimits()) { self.limits = limits }

    /// Whether a byte of the request line has arrived. An empty line before it doesn't count.
    package var hasBegun: Bool { line.hasBegun }

    /// Prepares the parser for the next request of a connection. After a malformed request there is no next one: the
    /// parser doesn't change.
    package mutating func reset() {
        if case .malformed = phase { return }
        self = RequestParser(limits: limits)
    }

    /// - Parameter input: the connection's input from the first unconsumed byte. May be empty.
    package mutating func parse(_ input: Span<UInt8>) -> RequestProgress {
        do throws(RequestFault) {
            switch phase {
            case .requestLine, .fields: return try parseHead(input)
            case .fixedBody(let remaining): return takeBody(input, remaining)
            case .chunkedBody: return try parseChunks(input)
            case .complete: return RequestProgress(event: .end, consumed: 0)
            case .malformed(let fault): throw fault
            }
        } catch {
            phase = .malformed(error)
            bytes = []
            fields = nil
            chunks = nil
            return RequestProgress(event: .malformed(error), consumed: 0)
        }
    }

    // MARK: Header

    private mutating func parseHead(_ input: Span<UInt8>) throws(RequestFault) -> RequestProgress {
        let before = bytes.count
        // If a body comes with the header, at most as many bytes are copied as a header may have.
        let piece = input.extracting(first: max(maximumHeadBytes - before, 0))
        bytes.append(copying: piece)
        guard try scanHead() else {
            guard piece.count == input.count else { throw .headerTooLarge }
            return RequestProgress(event: .needsMore, consumed: input.count)
        }
        bytes.removeSubrange(position...)
        let head = try takeHead()
        return RequestProgress(event: .head(head), consumed: position - before)
    }

    /// The sum of the limits with all CRLFs, plus one excess byte.
    private var maximumHeadBytes: Int {
        2 * limits.maximumLeadingEmptyLines + limits.maximumRequestLineBytes + limits.maximumHeaderBytes + 5
    }

    private mutating func scanHead() throws(RequestFault) -> Bool {
        // A second reference, because the scanners change while they read the bytes.
        let bytes = bytes
        if case .requestLine = phase {
            defer { isHead = RequestTarget.isHead(bytes.span, line) }
            guard try line.scan(bytes.span, at: &position, limits) else { return false }
            fields = FieldSectionScanner(header: limits, startingAt: position)
            phase = .fields
        }
        return try fields?.scan(bytes.span, at: &position) ?? false
    }

    private mutating func takeHead() throws(RequestFault) -> RequestHead {
        let head = try RequestHead(bytes, line, fields?.fields ?? [], limits)
        bytes = []
        fields = nil
        switch head.framing {
        case .none: phase = .complete
        case .length(let length): phase = .fixedBody(remaining: length)
        case .chunked:
            phase = .chunkedBody
            chunks = ChunkScanner(limits)
        }
        return head
    }

    // MARK: Body

    private mutating func takeBody(_ input: Span<UInt8>, _ remaining: Int) -> RequestProgress {
        guard remaining > 0 else {
            phase = .complete
            return RequestProgress(event: .end, consumed: 0)
        }
        guard !input.isEmpty else { return RequestProgress(event: .needsMore, consumed: 0) }
        let count = min(remaining, input.count)
        phase = .fixedBody(remaining: remaining - count)
        return RequestProgress(event: .body(0..<count), consumed: count)
    }

    private mutating func parseChunks(_ input: Span<UInt8>) throws(RequestFault) -> RequestProgress {
        var consumed = 0
        switch try chunks?.scan(input, at: &consumed) {
        case .data(let piece): return RequestProgress(event: .body(piece), consumed: consumed)
        case .needsMore: return RequestProgress(event: .needsMore, consumed: consumed)
        case .end, nil:
            phase = .complete
            chunks = nil
            return RequestProgress(event: .end, consumed: consumed)
        }
    }
}
