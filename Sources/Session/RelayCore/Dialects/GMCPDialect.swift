import StrictJSON
import Telnet
import WireText

/// `gmcp.mudstandards.org`: text with ANSI sequences as binary messages, GMCP as text messages `Package.Name <json>`,
/// both ways.
///
/// Data for which the subprotocol has no form is sent as the gateway's own GMCP messages:
/// | message | way | data |
/// |---|---|---|
/// | `Portcullis.Echo` | to the client | `{"suppressed":true}` while the target hides the player's input |
/// | `Portcullis.Prompt` | to the client | none: the text before it is a prompt |
/// | `Portcullis.Error` | to the client | `{"code":…,"message":…}` |
/// | `Portcullis.Ticket` | to the client | `{"ticket":…,"expiresIn":30}` for the next upgrade |
/// | `Portcullis.Session` | to the client | `{"id":…,"token":…,"seq":0,"resumed":false}`: how to resume |
/// | `Portcullis.Gap` | to the client | `{"fromSeq":…,"toSeq":…,"bytes":…}`: messages that are lost permanently |
/// | `Portcullis.Draining` | to the client | `{"reconnectAfterMs":…}`: the gateway is about to close |
/// | `Portcullis.Size` | to the gateway | `{"cols":80,"rows":24}` |
///
/// A target can't send any of these, and none of them is passed on to it.
struct GMCPDialect: ByteCountedDialect {
    init(compressor: any FrameCompressor) {}

    func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand {
        guard isText else { return .input(message.repairedUTF8) }
        let name = String(decoding: message.prefix { $0 != 0x20 }, as: UTF8.self)
        guard OutOfBand.isName(name) else {
            throw DialectError(.invalidRequest, "A text message is Package.Name and JSON")
        }
        let data = try json(message.dropFirst(name.utf8.count).drop { $0 == 0x20 })
        return ASCIIByte.isSame(name, "portcullis.size")
            ? try size(data) : try OutOfBand.command(name: name, data: data)
    }

    func content(of event: TargetEvent) -> MessageContent? {
        switch event {
        case .text(let text): MessageContent(.text, text)
        case .prompt: MessageContent(.prompt)
        case .echo(let isSuppressed): MessageContent(isSuppressed ? .echoSuppressed : .echoShown)
        case .gmcp(let name, _) where OutOfBand.isOwn(name): nil
        case .gmcp(let name, let data): content(name) { OutOfBand.append(gmcp: data, to: &$0) }
        // Names are written into the message unescaped.
        case .atcp(let name, _) where !OutOfBand.isName(name): nil
        case .msdp(let name, _) where !OutOfBand.isName(name): nil
        case .atcp(let name, let text): content(OutOfBand.atcpPrefix + name, .string(text))
        case .msdp(let name, let value): content(OutOfBand.msdpPrefix + name, JSONValue(value))
        case .mssp(let variables): content(OutOfBand.mssp, OutOfBand.json(variables))
        }
    }

    func encode(_ error: DialectError, into frames: inout FrameBuffer) {
        let members = [("code", error.code.rawValue), ("message", error.message)]
        append(own: "Error", JSONObject(members.map { .init($0.0, .string($0.1)) }), to: &frames)
    }

    func append(own name: String, _ data: JSONObject?, isSecret: Bool, to frames: inout FrameBuffer) {
        frames.append(isText: true, isSecret: isSecret) { bytes in
            bytes.append("Portcullis.")
            bytes.append(name)
            guard let data else { return }
            bytes.append(0x20)
            JSONWriter.append(.object(data), to: &bytes)
        }
    }

    private func size(_ data: JSONValue?) throws(DialectError) -> ClientCommand {
        guard case .object(let object) = data else { throw .notAnObject }
        return try MessageFields(object).size(columns: "cols", rows: "rows")
    }

    private func json(_ text: ArraySlice<UInt8>) throws(DialectError) -> JSONValue? {
        guard !text.isEmpty else { return nil }
        do { return try JSONReader.read(text) } catch { throw DialectError(error) }
    }

    private func content(_ name: String, _ data: JSONValue) -> MessageContent {
        content(name) { JSONWriter.append(data, to: &$0) }
    }

    /// - Parameter writeData: appends JSON, or nothing if there is no data.
    private func content(_ name: String, _ writeData: (inout [UInt8]) -> Void) -> MessageContent {
        var bytes = Array(name.utf8)
        let end = bytes.count
        bytes.append(0x20)
        writeData(&bytes)
        let hasData = bytes.count > end + 1
        return MessageContent(.package, hasData ? bytes[...] : bytes[..<end], package: name)
    }
}
