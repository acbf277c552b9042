import Compression
import WebSocketWire

/// Input from a WebSocket's peer: its handshake, its frames, its compressed messages.
let webSocketFuzzTargets = [
    // One byte for the settings, then the stream.
    FuzzTarget("frames") { bytes in
        let settings = bytes.first ?? 0
        let stream = Array(bytes.dropFirst())
        let whole = try framesRead(from: [stream], settings)
        for size in [1, 2, 7] {
            try require(
                framesRead(from: pieces(of: stream[...], size).map { Array($0) }, settings) == whole,
                "pieces say what the whole says")
        }
        for fragmentBytes in [3, 1_000] {
            let written = framesWritten(whole, settings, fragmentBytes)
            let finished = whole.filter { $0.isFinished }
            try require(framesRead(from: [written], settings) == finished, "frames written are the same frames")
        }
    },
    // Lines: the key, the version, subprotocols, then extensions.
    FuzzTarget("opening-handshake") { bytes in
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { text($0) }
        func line(_ index: Int) -> [String] { index < lines.count ? [lines[index]] : [] }
        let request = OpeningRequest(
            method: "GET", upgrade: ["websocket"], connection: ["upgrade"], key: line(0), webSocketVersion: line(1),
            protocols: line(2), extensions: Array(lines.dropFirst(3)))
        let extensions = WebSocketExtension.list(request.extensions)
        for member in extensions ?? [] {
            try require(WebSocketExtension.list([member.text]) == [member], "an extension written is the same")
            guard let offer = DeflateOffer(member) else { continue }
            for bits in [9, 12, 15] {
                let settings = DeflateSettings(serverWindowBits: bits, clientWindowBits: bits)
                guard let agreement = DeflateAgreement(to: offer, settings: settings) else { continue }
                try require(agreement.serverWindowBits <= bits, "no window is larger than it may be")
                // zlib's clients have no window of 8 bits.
                guard offer.clientMaxWindowBits != 8 else { continue }
                try require(
                    DeflateAgreement(response: agreement.response, to: member) != nil, "a client accepts the answer")
            }
        }
        guard case .success(let handshake)? = OpeningHandshake.judge(request) else { return }
        try require(handshake.extensions == extensions, "what is accepted follows the grammar")
        try require(handshake.accept.utf8.count == 28, "an answer to the key is 20 bytes in base64")
        try require(Set(handshake.protocols).count == handshake.protocols.count, "no subprotocol is there twice")
        for name in handshake.protocols {
            try require(handshake.subprotocol(known: [name]) == name, "every offered subprotocol can be chosen")
        }
    },
    // One byte for the settings, then a compressed message, which is read twice.
    FuzzTarget("message-deflate") { bytes in
        let settings = bytes.first ?? 0
        let message = Array(bytes.dropFirst())
        let whole = try inflated([message], settings, outputBytes: 4_096)
        for (size, outputBytes) in [(1, 4_096), (3, 1), (1_000, 7)] {
            let cut = try inflated(
                message.isEmpty ? [[]] : pieces(of: message[...], size).map { Array($0) }, settings,
                outputBytes: outputBytes)
            try require(cut.hasFault == whole.hasFault, "pieces are refused as the whole")
            try require(
                cut.hasFault
                    ? cut.bytes.starts(with: whole.bytes) || whole.bytes.starts(with: cut.bytes)
                    : cut.bytes == whole.bytes,
                "pieces inflate to the same")
        }
        for (bits, keepsContext) in [(9, true), (15, true), (12, false)] {
            try requireRoundTrip(of: message, bits, keepsContext)
        }
    },
]

private enum ReadFrame: Equatable {
    case message([UInt8], isText: Bool, isCompressed: Bool)
    case unfinished([UInt8])
    case control(Opcode, [UInt8])
    case fault(FrameFault)

    var isFinished: Bool {
        switch self {
        case .message, .control: true
        case .unfinished, .fault: false
        }
    }
}

private let maximumMessageBytes = 64

private func framesRead(from pieces: [[UInt8]], _ settings: UInt8) throws -> [ReadFrame] {
    let limits = MessageLimits(messageBytes: maximumMessageBytes, fragments: 30, emptyFragments: 3)
    var reader = FrameReader(
        role: settings & 1 == 0 ? .server : .client, limits: limits, allowsCompression: settings & 2 != 0)
    var frames: [ReadFrame] = []
    var open: [UInt8]?
    var end: [ReadFrame] = []
    for piece in pieces {
        var bytes = piece
        var position = 0
        while true {
            var span = bytes.mutableSpan
            guard let event = reader.next(in: &span, from: &position) else { break }
            try require(end.isEmpty, "behind a fault there is nothing")
            switch event {
            case .data(let piece):
                try require(piece.isFirst == (open == nil), "the first piece alone is first")
                let all = (open ?? []) + bytes[piece.range]
                open = piece.isLast ? nil : all
                try require(all.count <= limits.compressedBytes, "no message is over the limit")
                try require(
                    piece.isCompressed || all.count <= maximumMessageBytes, "no uncompressed one is over its own")
                guard piece.isLast else { continue }
                try require(!piece.isText || piece.isCompressed || isUTF8(all), "text is UTF-8")
                frames.append(.message(all, isText: piece.isText, isCompressed: piece.isCompressed))
            case .ping(let payload): frames.append(.control(.ping, payload.bytes))
            case .pong(let payload): frames.append(.control(.pong, payload.bytes))
            case .close(let close):
                try require(isUTF8(Array(close.reason.utf8)), "a reason is UTF-8")
                frames.append(.control(.close, ControlPayload(close: close.code, reason: close.reason).bytes))
            case .fault(let fault): end = [.fault(fault)]
            }
        }
        try require(position == bytes.count, "all of the input is read")
    }
    return frames + (open.map { [.unfinished($0)] } ?? []) + end
}

/// The finished frames, written anew by a peer of the reader's.
private func framesWritten(_ frames: [ReadFrame], _ settings: UInt8, _ fragmentBytes: Int) -> [UInt8] {
    let mask = settings & 1 == 0 ? MaskKey(settings, 1, 2, 3) : nil
    var output: [UInt8] = []
    func append(_ header: FrameHeader, _ payload: ArraySlice<UInt8>) {
        output += header.bytes
        var body = Array(payload)
        var span = body.mutableSpan
        if let mask { applyMask(mask, to: &span) }
        output += body
    }
    for frame in frames {
        switch frame {
        case .message(let payload, let isText, let isCompressed):
            let fragments = Fragments(
                of: payload.count, isText: isText, isCompressed: isCompressed,
                maximum: max(fragmentBytes, payload.count / 20))
            for fragment in fragments {
                let header = fragment.header
                append(
                    FrameHeader(
                        header.opcode, isFinal: header.isFinal, isCompressed: header.isCompressed,
                        payloadBytes: header.payloadBytes, mask: mask), payload[fragment.range])
            }
        case .control(let opcode, let payload):
            append(FrameHeader(opcode, payloadBytes: payload.count, mask: mask), payload[...])
        case .unfinished, .fault:
            continue
        }
    }
    return output
}

/// The result of inflating the message twice, with all output before a fault.
private func inflated(
    _ pieces: [[UInt8]], _ settings: UInt8, outputBytes: Int
) throws -> (bytes: [UInt8], hasFault: Bool) {
    // The ratio depends on what came when: it never decides here.
    let limits = MessageLimits(messageBytes: 5_000, freeExpansionBytes: 5_000)
    var inflater = MessageInflater<MessageInflateEngine>(
        windowBits: 15, keepsContext: settings & 1 == 0, limits: limits)
    var bytes: [UInt8] = []
    var output = [UInt8](repeating: 0, count: outputBytes)
    for _ in 0..<2 {
        let before = bytes.count
        for (index, input) in pieces.enumerated() {
            let piece = DataPiece(
                range: 0..<input.count, isText: settings & 2 != 0, isCompressed: true, isFirst: index == 0,
                isLast: index == pieces.count - 1)
            var position = 0
            var hasMore = true
            while hasMore {
                var span = output.mutableSpan
                guard let step = try? inflater.inflate(piece, input.span, from: &position, into: &span) else {
                    return (bytes, true)
                }
                bytes += output[..<step.count]
                hasMore = step.hasMore
                try require(bytes.count - before <= limits.messageBytes, "no message inflates to more than the limit")
                try require(step.isLast == (piece.isLast && !hasMore), "a message ends with its last piece")
            }
        }
        try require(settings & 2 == 0 || isUTF8(bytes[before...]), "text is UTF-8")
    }
    return (bytes, false)
}

private func requireRoundTrip(of message: [UInt8], _ bits: Int, _ keepsContext: Bool) throws {
    let engine = try MessageDeflateEngine(windowBits: bits, memoryLevel: bits - 7, level: 6)
    var deflater = MessageDeflater(engine: engine, keepsContext: keepsContext, minimumBytes: 0)
    var inflater = MessageInflater<MessageInflateEngine>(
        windowBits: bits, keepsContext: keepsContext,
        limits: MessageLimits(messageBytes: message.count, freeExpansionBytes: message.count))
    for _ in 0..<2 {
        var room = [UInt8](repeating: 0, count: MessageDeflateEngine.bound(message.count))
        var span = room.mutableSpan
        guard case .deflated(let count) = try deflater.deflate(message.span, into: &span) else { continue }
        let piece = DataPiece(range: 0..<count, isText: false, isCompressed: true, isFirst: true, isLast: true)
        var output = [UInt8](repeating: 0, count: message.count + 1)
        var outputSpan = output.mutableSpan
        var position = 0
        let step = try inflater.inflate(piece, Array(room[..<count]).span, from: &position, into: &outputSpan)
        try require(step.isLast && output.prefix(step.count) == message[...], "what is deflated can be inflated")
    }
}
