import CharacterSets
import Compression

@testable import Telnet

/// Output of a MUD.
let telnetFuzzTargets = [
    FuzzTarget("telnet-parser") { bytes in
        let limit = 48
        let whole = telnetEvents(of: [bytes[...]], limit: limit)
        for size in [1, 3] {
            try require(
                telnetEvents(of: pieces(of: bytes[...], size), limit: limit) == whole, "pieces say what the whole says")
        }
        var written: [UInt8] = []
        for event in whole {
            if case .droppedSubnegotiation = event { return }
            if case .subnegotiation(_, let payload) = event {
                try require(payload.count <= limit, "no payload is over the limit")
            }
            event.append(to: &written)
        }
        try require(written.count <= bytes.count, "nothing is made up")
        try require(telnetEvents(of: [written[...]], limit: limit) == whole, "events written are the same events")
    },
    // One byte for the settings, then the stream.
    FuzzTarget("telnet-client") { bytes in
        let settings = bytes.first ?? 0
        let stream = bytes.dropFirst()
        var whole = TargetReader(settings)
        try whole.read([stream])
        for size in [1, 5] {
            var cut = TargetReader(settings)
            try cut.read(pieces(of: stream, size))
            // How much a stream may inflate to depends on what came when: where that is over, so is the comparison.
            guard whole.client.failure == nil, cut.client.failure == nil else { continue }
            try require(cut.events == whole.events, "pieces say what the whole says")
            try require(cut.replies == whole.replies, "pieces are answered as the whole")
        }
        try whole.answer(stream)
    },
    FuzzTarget("inflate") { bytes in
        let format: Inflater.Format = bytes.first == 0x78 ? .zlib : .raw
        let whole = try inflated([bytes[...]], format)
        let cut = try inflated(pieces(of: bytes[...], 3), format)
        try require(cut.bytes == whole.bytes && cut.isCorrupt == whole.isCorrupt, "pieces inflate to the same")
        let deflated = try RawDeflater().deflate(bytes)
        let again = try inflated([deflated[...]], .raw)
        try require(again.bytes == bytes && !again.isCorrupt, "what is deflated can be inflated")
    },
]

/// Adjacent data joined: its split isn't specified.
private func telnetEvents(of pieces: [ArraySlice<UInt8>], limit: Int) -> [TelnetEvent] {
    var parser = TelnetParser(maximumSubnegotiationBytes: limit)
    var events: [TelnetEvent] = []
    for event in pieces.flatMap({ parser.parse(Array($0)) }) {
        if case .data(let run) = event, case .data(let before)? = events.last {
            events[events.count - 1] = .data(before + run)
        } else {
            events.append(event)
        }
    }
    return events
}

extension TelnetEvent {
    fileprivate func append(to bytes: inout [UInt8]) {
        switch self {
        case .data(let run): TelnetEncoder.appendData(run, to: &bytes)
        case .command(let command): TelnetEncoder.appendCommand(command, to: &bytes)
        case .negotiation(let verb, let option): TelnetEncoder.appendNegotiation(verb, option, to: &bytes)
        case .subnegotiation(let option, let payload):
            TelnetEncoder.appendSubnegotiation(option, payload, to: &bytes)
        case .droppedSubnegotiation: break
        }
    }
}

/// A telnet client with all options, and its events.
private struct TargetReader {
    var client: TelnetClient
    private(set) var events: [TargetEvent] = []
    private(set) var replies: [UInt8] = []

    private static let encodings: [TextEncoding] = [
        .utf8, .latin1, .ascii, .windows1252, .cp437, .latin2, .latin9, .windows1251, .koi8r, .gbk, .gb18030, .big5,
        .euckr, .shiftjis, .eucjp, .windows1255,
    ]

    /// - Parameter choices: its low bits choose the encoding, what becomes of MXP, and whether GMCP is greeted.
    init(_ choices: UInt8) {
        var settings = TelnetClientSettings()
        settings.encoding = Self.encodings[Int(choices & 15)]
        settings.tables = IconvTables.shared
        settings.mxp = MXPMode.allCases[Int(choices >> 4 & 3) % MXPMode.allCases.count]
        settings.greetsGMCP = choices & 0x40 == 0
        settings.maximumSubnegotiationBytes = 256
        client = TelnetClient(settings: settings) { ZlibDecompressor() }
    }

    mutating func read(_ pieces: [ArraySlice<UInt8>]) throws {
        for piece in pieces {
            var input = piece
            while let event = client.next(&input, now: 0) { try take(event) }
            try require(input.isEmpty, "nothing is left where nothing comes any more")
        }
        if let event = client.finish() { try take(event) }
        replies = client.takeReplies()
        try require(replies.count <= 2 * ReplyBuffer.maximumBytes, "replies are bounded")
    }

    private mutating func take(_ event: TargetEvent) throws {
        switch event {
        case .text(let text):
            try require(
                !text.isEmpty && text.count <= TelnetClient.maximumTextBytes && isUTF8(text) && !text.contains(0),
                "text is UTF-8, without NUL, of a bounded length")
            if case .text(let before)? = events.last {
                events[events.count - 1] = .text(before + text)
                return
            }
        case .gmcp(let name, let data):
            try require(GMCP.isName(name.utf8) && isUTF8(data), "a GMCP message has a name, and is UTF-8")
        case .msdp(let name, let value):
            try require(MSDP.canSay(name: name, value: value), "what MSDP has said it can say")
        case .prompt, .echo, .atcp, .mssp: break
        }
        events.append(event)
    }

    /// The output to the target is valid telnet for any input.
    mutating func answer(_ input: ArraySlice<UInt8>) throws {
        var output: [UInt8] = []
        client.appendInput(input, to: &output)
        for event in telnetEvents(of: [output[...]], limit: 1 << 20) {
            guard case .data = event else { throw FuzzViolation(description: "input is data and nothing else") }
        }
        output = []
        guard client.appendGMCP(name: "A.B", data: Array(input), to: &output) else { return }
        let said = telnetEvents(of: [output[...]], limit: 1 << 20)
        try require(said.count == 1, "a GMCP message is one subnegotiation")
    }
}

/// One stream: what follows its end isn't looked at.
private func inflated(
    _ pieces: [ArraySlice<UInt8>], _ format: Inflater.Format
) throws -> (bytes: [UInt8], isCorrupt: Bool) {
    let limit = 512
    let inflater = Inflater(format: format)
    var bytes: [UInt8] = []
    for piece in pieces {
        var input = piece
        while true {
            let inflated: Inflater.Piece
            do throws(CompressionError) {
                inflated = try inflater.inflate(&input, limit: limit)
            } catch {
                return (bytes, true)
            }
            try require(inflated.bytes.count <= limit, "no piece is over the limit")
            bytes += inflated.bytes
            if inflated.isEnd { return (bytes, false) }
            guard inflated.bytes.count == limit || !input.isEmpty else { break }
        }
    }
    return (bytes, false)
}
