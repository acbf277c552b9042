import Testing
import WebSocketWire

/// A reader's events, independent of how the input was split.
enum Trace: Equatable {
    case message([UInt8], isText: Bool, isCompressed: Bool = false)
    /// Pieces of an incomplete message.
    case unfinished([UInt8], isText: Bool, isCompressed: Bool = false)
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
    case fault(FrameFault)

    static func text(_ text: String) -> Trace { .message(Array(text.utf8), isText: true) }
}

/// Reads `input` in the given pieces. A control frame between two pieces of a message is listed before the message.
func read(
    _ pieces: [[UInt8]], role: FrameReader.Role = .server, limits: MessageLimits = MessageLimits(),
    allowsCompression: Bool = false, _ location: SourceLocation = #_sourceLocation
) -> [Trace] {
    var reader = FrameReader(role: role, limits: limits, allowsCompression: allowsCompression)
    var trace: [Trace] = []
    var open: (piece: DataPiece, bytes: [UInt8])?
    for piece in pieces {
        var bytes = piece
        var position = 0
        while true {
            var span = bytes.mutableSpan
            guard let event = reader.next(in: &span, from: &position) else { break }
            switch event {
            case .data(let piece):
                #expect(piece.isFirst == (open == nil), sourceLocation: location)
                #expect(!piece.range.isEmpty || piece.isLast, sourceLocation: location)
                let all = (open?.bytes ?? []) + bytes[piece.range]
                open = piece.isLast ? nil : (piece, all)
                if piece.isLast { trace.append(.message(all, isText: piece.isText, isCompressed: piece.isCompressed)) }
            case .ping(let payload): trace.append(.ping(payload.bytes))
            case .pong(let payload): trace.append(.pong(payload.bytes))
            case .close(let close): trace.append(.close(close.code?.rawValue, close.reason))
            case .fault(let fault): trace.append(.fault(fault))
            }
        }
        #expect(position == bytes.count, "all of the input is read", sourceLocation: location)
    }
    if let open {
        let rest = Trace.unfinished(open.bytes, isText: open.piece.isText, isCompressed: open.piece.isCompressed)
        if case .fault = trace.last { trace.insert(rest, at: trace.count - 1) } else { trace.append(rest) }
    }
    return trace
}

/// Reads `input` whole, byte by byte and split at every position, and expects equal results.
func read(
    _ input: [UInt8], role: FrameReader.Role = .server, limits: MessageLimits = MessageLimits(),
    allowsCompression: Bool = false, _ location: SourceLocation = #_sourceLocation
) -> [Trace] {
    func trace(_ pieces: [[UInt8]]) -> [Trace] {
        read(pieces, role: role, limits: limits, allowsCompression: allowsCompression, location)
    }
    let whole = trace([input])
    #expect(trace(input.map { [$0] }) == whole, "byte by byte", sourceLocation: location)
    for cut in 0...input.count {
        #expect(
            trace([Array(input[..<cut]), Array(input[cut...])]) == whole, "cut at \(cut)", sourceLocation: location)
    }
    return whole
}

/// A client's frame, built here byte by byte. `first` is its first byte: FIN, reserved bits and opcode.
func masked(_ first: UInt8, _ payload: [UInt8] = [], key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]) -> [UInt8] {
    let count = payload.count
    var frame = [first]
    if count < 126 {
        frame.append(0x80 | UInt8(count))
    } else if count < 65_536 {
        frame += [0xFE, UInt8(count >> 8), UInt8(count & 0xFF)]
    } else {
        frame += [0xFF] + (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
    }
    return frame + key + payload.indices.map { payload[$0] ^ key[$0 % 4] }
}

func masked(_ first: UInt8, _ payload: String) -> [UInt8] { masked(first, Array(payload.utf8)) }
