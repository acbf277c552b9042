import Telnet

/// `json.mudstandards.org`: text with ANSI sequences as binary messages; all else as text messages `{"proto","id","data"}`.
///
/// `data` is emitted as a string, and accepted as a string or as any other value. For `gmcp`, `msdp`, `mssp` and `echo` the string
/// holds JSON; for `atcp`, `prompt` and `error` it holds text.
///
/// | to the client: proto | id | data |
/// |---|---|---|
/// | `gmcp` | the message's name | its data, `""` where it has none |
/// | `msdp` | the variable | its value |
/// | `mssp` | `""` | an object of all variables |
/// | `atcp` | the message's name | its text |
/// | `prompt` | `""` | `""`: the binary message before it ended in a prompt |
/// | `echo` | `""` | `{"suppressed":true}` while the target hides what is typed |
/// | `error` | a code | what is wrong |
/// | `ticket` | `""` | for the next upgrade |
///
/// | from the client: proto | id | data |
/// |---|---|---|
/// | `gmcp` | the message's name, required | JSON as a string or as itself; another string is taken as text |
/// | `msdp` | the variable or command, required | as with gmcp |
/// | `text` | – | one line of input; its line end is added |
/// | `naws`, and `terminal` with id `size` | | `{"cols":80,"rows":24}` |
/// | `terminal` with id `type` | | the terminal's type |
/// | `websocket_close` | – | – |
struct JSONDialect: Dialect {
    func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand {
        guard isText else { return .input(message.repairedUTF8) }
        let envelope = MessageFields(try JSONObject(message: message))
        let proto = try envelope.text("proto")
        let data = envelope.optional("data")
        switch (proto, envelope.optional("id")) {
        case ("gmcp", _): return .gmcp(name: try name(envelope), data: json(data))
        case ("msdp", _): return try OutOfBand.msdp(name: try name(envelope), value: MSDPValue(value(data)))
        case ("text", _): return .input(try line(envelope))
        case ("naws", _), ("terminal", .string("size")): return try size(data)
        case ("terminal", .string("type")): return .describe(.init(name: nil, terminalType: try envelope.text("data")))
        case ("websocket_close", _): return .disconnect
        default: throw DialectError(.invalidRequest, field: "proto", "Unknown proto: \(String(scalars: 32, of: proto))")
        }
    }

    func encode(_ event: TargetEvent, into frames: inout FrameBuffer) {
        switch event {
        case .text(let text): frames.append(isText: false) { $0.append(contentsOf: text) }
        case .prompt: append("prompt", "", text: "", to: &frames)
        case .echo(let isSuppressed):
            append("echo", "", .object(.init([.init("suppressed", .bool(isSuppressed))])), to: &frames)
        case .gmcp(let name, let data):
            var json: [UInt8] = []
            OutOfBand.append(gmcp: data, to: &json)
            append("gmcp", name, utf8: json, to: &frames)
        case .atcp(let name, let text): append("atcp", name, text: text, to: &frames)
        case .msdp(let name, let value): append("msdp", name, JSONValue(value), to: &frames)
        case .mssp(let variables): append("mssp", "", OutOfBand.json(variables), to: &frames)
        }
    }

    func encode(_ error: DialectError, into frames: inout FrameBuffer) {
        append("error", error.code.rawValue, text: error.message, to: &frames)
    }

    func encode(ticket: String, into frames: inout FrameBuffer) {
        append("ticket", "", text: ticket, to: &frames)
    }

    // MARK: From the client

    private func name(_ envelope: MessageFields) throws(DialectError) -> String {
        let name = try envelope.text("id")
        guard OutOfBand.isName(name) else { throw DialectError(.invalidRequest, field: "id", "id must be a name") }
        return name
    }

    /// What `data` means: a string holds JSON if it can.
    private func value(_ data: JSONValue?) -> JSONValue {
        guard case .string(let text) = data else { return data ?? .string("") }
        return (try? JSONReader.read(Array(text.utf8)[...])) ?? .string(text)
    }

    private func json(_ data: JSONValue?) -> [UInt8] {
        var bytes: [UInt8] = []
        if let data, data != .string("") { JSONWriter.append(value(data), to: &bytes) }
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

    private func append(_ proto: String, _ id: String, _ data: JSONValue, to frames: inout FrameBuffer) {
        var json: [UInt8] = []
        JSONWriter.append(data, to: &json)
        append(proto, id, utf8: json, to: &frames)
    }

    private func append(_ proto: String, _ id: String, text: String, to frames: inout FrameBuffer) {
        append(proto, id, utf8: text.utf8, to: &frames)
    }

    private func append(_ proto: String, _ id: String, utf8: some Sequence<UInt8>, to frames: inout FrameBuffer) {
        frames.append(isText: true) { bytes in
            bytes.append(#"{"proto":""#)
            bytes.append(proto)
            bytes.append(#"","id":"#)
            JSONWriter.append(string: id, to: &bytes)
            bytes.append(#","data":"#)
            JSONWriter.append(utf8: utf8, to: &bytes)
            bytes.append("}")
        }
    }
}

extension String {
    /// The first `count` characters of what a client has sent, for an error's text. Scalars, since a single `Character` can be of any length.
    init(scalars count: Int, of text: String) {
        self.init(String.UnicodeScalarView(text.unicodeScalars.prefix(count)))
    }
}
