import StrictJSON
import Telnet
import WireText

/// `json.mudstandards.org`: text with ANSI sequences as binary messages; everything else as text messages
/// `{"proto","id","data"}`.
///
/// `data` is emitted as a string, and accepted as a string or as any other value. For `atcp`, `prompt` and
/// `error` the string holds text; for all others it holds JSON.
///
/// | to the client: proto | id | data |
/// |---|---|---|
/// | `gmcp` | the message's name | its data, `""` if it has none |
/// | `msdp` | the variable | its value |
/// | `mssp` | `""` | an object of all variables |
/// | `atcp` | the message's name | its text |
/// | `prompt` | `""` | `""`: the binary message before it ended in a prompt |
/// | `echo` | `""` | `{"suppressed":true}` while the target hides the player's input |
/// | `error` | a code | the error message |
/// | `ticket` | `""` | `{"ticket":…,"expiresIn":30}` for the next upgrade |
/// | `session` | `""` | `{"id":…,"token":…,"seq":0,"resumed":false}`: how to resume |
/// | `gap` | `""` | `{"fromSeq":…,"toSeq":…,"bytes":…}`: messages that are lost permanently |
/// | `draining` | `""` | `{"reconnectAfterMs":…}`: the gateway is about to close |
///
/// | from the client: proto | id | data |
/// |---|---|---|
/// | `gmcp` | the message's name, required | JSON, in a string or directly; any other string is treated as text |
/// | `msdp` | the variable or command, required | as with gmcp |
/// | `text` | – | one line of input; its line end is added |
/// | `naws`, and `terminal` with id `size` | | `{"cols":80,"rows":24}` |
/// | `terminal` with id `type` | | the terminal's type |
/// | `telnet_31`, `telnet_24`, `telnet_201` | | base64 of a subnegotiation: see ``TelnetEnvelope`` |
/// | `coffeemud` | | ignored: telnet has no form for it |
/// | `websocket_close` | – | – |
struct JSONDialect: ByteCountedDialect {
    init(compressor: any FrameCompressor) {}

    func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand {
        guard isText else { return .input(message.repairedUTF8) }
        let envelope = MessageFields(try JSONObject(message: message))
        let proto = try envelope.text("proto")
        let data = envelope.optional("data")
        switch (WireWord(proto), WireWord(envelope.optional("id")?.string ?? "")) {
        case ("gmcp", _): return .gmcp(name: try name(envelope), data: json(data))
        case ("msdp", _): return try OutOfBand.msdp(name: try name(envelope), value: MSDPValue(value(data)))
        case ("text", _): return .input(try line(envelope))
        case ("naws", _), ("terminal", "size"): return try size(data)
        case ("terminal", "type"): return .describe(.init(name: nil, terminalType: try envelope.text("data")))
        case ("websocket_close", _): return .disconnect
        case ("coffeemud", _): return .nothing(.no)
        case _ where TelnetEnvelope.isOne(proto):
            return try TelnetEnvelope.command(of: proto, data: try envelope.string("data"))
        default: throw DialectError(.invalidRequest, field: "proto", "Unknown proto: \(String(scalars: 32, of: proto))")
        }
    }

    func content(of event: TargetEvent) -> MessageContent? {
        switch event {
        case .text(let text): return MessageContent(.text, text)
        case .prompt: return MessageContent(.prompt)
        case .echo(let isSuppressed): return MessageContent(isSuppressed ? .echoSuppressed : .echoShown)
        case .gmcp(let name, let data):
            var json: [UInt8] = []
            OutOfBand.append(gmcp: data, to: &json)
            return content("gmcp", name, json, package: name)
        case .atcp(let name, let text):
            return content("atcp", name, Array(text.utf8), package: OutOfBand.atcpPrefix + name)
        case .msdp(let name, let value):
            return content("msdp", name, JSONValue(value).written, package: OutOfBand.msdpPrefix + name)
        case .mssp(let variables):
            return content("mssp", "", OutOfBand.json(variables).written, package: OutOfBand.mssp)
        }
    }

    func encode(_ error: DialectError, into frames: inout FrameBuffer) {
        append("error", error.code.rawValue, Array(error.message.utf8), to: &frames)
    }

    func append(own name: String, _ data: JSONObject?, isSecret: Bool, to frames: inout FrameBuffer) {
        append(
            ASCIIByte.withLowercasedLetters(name), "", data.map { JSONValue.object($0).written } ?? [],
            isSecret: isSecret, to: &frames)
    }

    // MARK: From the client

    private func name(_ envelope: MessageFields) throws(DialectError) -> String {
        let name = try envelope.text("id")
        guard OutOfBand.isName(name) else { throw DialectError(.invalidRequest, field: "id", "id must be a name") }
        return name
    }

    /// The meaning of `data`: a string is parsed as JSON if possible.
    private func value(_ data: JSONValue?) -> JSONValue {
        guard case .string(let text) = data else { return data ?? .string("") }
        return (try? JSONReader.read(Array(text.utf8)[...])) ?? .string(text)
    }

    private func json(_ data: JSONValue?) -> [UInt8] {
        var bytes: [UInt8] = []
        if let data, data.string?.isEmpty != true { JSONWriter.append(value(data), to: &bytes) }
        return bytes
    }

    private func line(_ envelope: MessageFields) throws(DialectError) -> ArraySlice<UInt8> {
        var line = Array(try envelope.string("data").utf8)
        if line.last != 0x0A && line.last != 0x0D { line.append("\r\n") }
        return line[...]
    }

    private func size(_ data: JSONValue?) throws(DialectError) -> ClientCommand {
        guard case .object(let size) = value(data) else {
            throw DialectError(.invalidRequest, field: "data", "data must be an object")
        }
        return try MessageFields(size).size(columns: "cols", rows: "rows")
    }

    // MARK: To the client

    private func append(
        _ proto: String, _ id: String, _ data: [UInt8], isSecret: Bool = false, to frames: inout FrameBuffer
    ) {
        frames.append(isText: true, isSecret: isSecret) { write(proto, id, data, to: &$0) }
    }

    private func content(_ proto: String, _ id: String, _ data: [UInt8], package: String) -> MessageContent {
        var bytes: [UInt8] = []
        write(proto, id, data, to: &bytes)
        return MessageContent(.package, bytes[...], package: package)
    }

    /// - Parameter data: valid UTF-8.
    private func write(_ proto: String, _ id: String, _ data: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(#"{"proto":""#)
        bytes.append(proto)
        bytes.append(#"","id":"#)
        JSONWriter.append(string: id, to: &bytes)
        bytes.append(#","data":"#)
        JSONWriter.append(utf8: data.span, to: &bytes)
        bytes.append("}")
    }
}

extension JSONValue {
    fileprivate var written: [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.append(self, to: &bytes)
        return bytes
    }
}

extension String {
    /// The first `count` scalars of a client's text, for an error message. Scalars, since a single `Character` has no
    /// maximum length.
    init(scalars count: Int, of text: String) {
        self.init(String.UnicodeScalarView(text.unicodeScalars.prefix(count)))
    }
}
