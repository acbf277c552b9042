import StrictJSON
import Telnet

@testable import RelayCore

/// What clients send, one target for each dialect: a conversation of messages parted by the byte 1E, of which the first
/// byte says whether it is a binary message (`b`) or a text (anything else).
let clientFuzzTargets = [DialectKind.typed, .gmcp, .json, .legacy, .terminal].map { kind in
    FuzzTarget("client-\(kind.rawValue)") { bytes in
        let messages = bytes.split(separator: 0x1E).prefix(32)
        var whole = try ClientConversation(kind)
        var cut = try ClientConversation(kind)
        for message in messages {
            try whole.say(message, inPiecesOf: message.count)
            try cut.say(message, inPiecesOf: 3)
            try checkCommand(of: message.dropFirst(), isText: message.first != UInt8(ascii: "b"), kind)
        }
        try require(cut.toTarget == whole.toTarget, "a message in pieces says what the whole says to the target")
        try require(cut.toClient == whole.toClient && cut.orders == whole.orders, "and is answered as the whole")
        try whole.checkTelnet()
    }
}

/// Checks that the command of one message can be sent to a target.
private func checkCommand(of message: ArraySlice<UInt8>, isText: Bool, _ kind: DialectKind) throws {
    var dialect: any Dialect =
        switch kind {
        case .typed: TypedDialect(compressor: FuzzCompressor())
        case .gmcp: GMCPDialect(compressor: FuzzCompressor())
        case .json: JSONDialect(compressor: FuzzCompressor())
        case .legacy: LegacyDialect(compressor: FuzzCompressor())
        case .terminal, .raw: TerminalDialect(compressor: FuzzCompressor())
        }
    guard let command = try? dialect.command(of: message, isText: isText) else { return }
    switch command {
    case .input(let text, _): try require(isUTF8(text), "input is UTF-8")
    case .gmcp(let name, let data):
        try require(OutOfBand.isName(name), "a GMCP message has a name")
        try require(data.isEmpty || JSONReader.isValid(data[...]), "GMCP is JSON")
    case .msdp(let name, let value): try require(MSDP.canSay(name: name, value: value), "MSDP can say it")
    case .resize(let columns, let rows): try require(columns > 0 && rows > 0, "a size isn't zero")
    case .resume, .connect, .describe, .acknowledge, .disconnect, .nothing: break
    }
}

/// A client with a target that agrees to everything.
private struct ClientConversation {
    private var translation: Translation
    private var output = TranslationOutput()
    private var frames: FrameCheck
    private(set) var toClient: [UInt8] = []
    private(set) var toTarget: [UInt8] = []
    private(set) var orders: [TranslationOrder] = []

    init(_ kind: DialectKind) throws {
        guard
            let translation = Translation(
                kind: kind, client: ClientDescription(), maximumMessageBytes: 2_048, compressor: FuzzCompressor(),
                makeDecompressor: nil)
        else { throw FuzzViolation(description: "\(kind) is translated") }
        self.translation = translation
        frames = FrameCheck(kind: kind)
        if !translation.awaitsConnect { try connect() }
    }

    mutating func say(_ message: ArraySlice<UInt8>, inPiecesOf count: Int) throws {
        let payload = message.dropFirst()
        let isText = message.first != UInt8(ascii: "b")
        let cut = payload.isEmpty ? [payload] : pieces(of: payload, max(count, 1))
        for (index, piece) in cut.enumerated() {
            translation.receive(piece, isText: isText, isLast: index == cut.count - 1, into: &output)
        }
        try require(
            output.frames.bytes.count <= 8 * payload.count + 4_096
                && output.toTarget.count <= 8 * payload.count + 4_096,
            "what one message brings about is bounded")
        let dials = output.orders.contains { if case .dial = $0 { true } else { false } }
        try take()
        if dials { try connect() }
    }

    private mutating func connect() throws {
        translation.connected(FuzzSample.session, telnet: TelnetClientSettings(), into: &output)
        // WILL for GMCP, MSDP and ECHO, DO for NAWS and TTYPE.
        var offers: ArraySlice<UInt8> = [
            255, 251, 201, 255, 251, 69, 255, 251, 1, 255, 253, 31, 255, 253, 24,
        ]
        while translation.next(&offers, now: 0, into: &output) {}
        try take()
    }

    private mutating func take() throws {
        try frames.check(output)
        toClient += output.frames.bytes
        toTarget += output.toTarget
        orders += output.orders
        output.removeAll()
    }

    /// Whatever clients say, to the target goes telnet with nothing but what was agreed on.
    func checkTelnet() throws {
        var parser = TelnetParser(maximumSubnegotiationBytes: 1 << 20)
        for event in parser.parse(toTarget) {
            switch event {
            case .data, .negotiation: break
            case .subnegotiation(let option, _):
                try require(
                    [.gmcp, .msdp, .windowSize, .terminalType].contains(option), "only what was agreed on is said")
            case .command, .droppedSubnegotiation: throw FuzzViolation(description: "a client sends no commands")
            }
        }
    }
}
