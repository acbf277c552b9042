/// What the next bytes of a connection were.
package enum RequestEvent: Hashable, Sendable {
    /// All input is consumed and nothing is complete.
    case needsMore
    /// The header is complete. The parser stops behind it, so that the caller can decide: go on with the body, answer `100 Continue` first,
    /// refuse, or upgrade and never ask the parser again.
    case head(RequestHead)
    /// A piece of the body, as positions in the input. Together they are within ``RequestLimits/maximumBodyBytes``.
    case body(Range<Int>)
    /// The request is complete. What follows belongs to the next one; see ``RequestParser/reset()``.
    case end
    case malformed(RequestFault)
}

package struct RequestProgress: Hashable, Sendable {
    package let event: RequestEvent
    /// How many bytes of the input have been read. The others must be handed in again, next time.
    package let consumed: Int
}

/// A strict incremental parser of HTTP/1.1 requests (RFC 9112). A value of one connection.
///
/// The result doesn't depend on how the input is split. Between requests it holds no memory.
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
    /// The header until it is complete.
    private var bytes: [UInt8] = []
    private var position = 0
    /// Whether the request's method is HEAD, as far as it has arrived. Known for malformed requests, too: their responses have no content
    /// either (RFC 9110 §9.3.2).
    package private(set) var isHead = false

    package init(limits: RequestLimits = RequestLimits()) { self.limits = limits }

    /// Whether a byte of the request line has arrived. An empty line before it doesn't count.
    package var hasBegun: Bool { line.hasBegun }

    /// Makes the parser ready for the next request of a connection. A malformed request has no next one: the parser stays as it is.
    package mutating func reset() {
        if case .malformed = phase { return }
        self = RequestParser(limits: limits)
    }

    /// - Parameter input: what the connection brought, from the first byte that isn't consumed. May be empty.
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
        // Of a body that comes with its header no more is copied than a header may have.
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

    /// The limits' sum with all CRLFs, and one byte that is too many.
    private var maximumHeadBytes: Int {
        2 * limits.maximumLeadingEmptyLines + limits.maximumRequestLineBytes + limits.maximumHeaderBytes + 5
    }

    private mutating func scanHead() throws(RequestFault) -> Bool {
        // A second reference, for as long as the scanners change beside it.
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
