import Telnet

/// `gmcp.mudstandards.org`: text with ANSI sequences as binary messages, GMCP as text messages `Package.Name <json>`, both ways.
///
/// What the subprotocol has no form for goes as GMCP of the gateway's own:
/// | message | way | data |
/// |---|---|---|
/// | `Portcullis.Echo` | to the client | `{"suppressed":true}` while the target hides what is typed |
/// | `Portcullis.Prompt` | to the client | none: the text before it is a prompt |
/// | `Portcullis.Error` | to the client | `{"code":…,"message":…}` |
/// | `Portcullis.Ticket` | to the client | `{"ticket":…}` for the next upgrade |
/// | `Portcullis.Size` | to the gateway | `{"cols":80,"rows":24}` |
///
/// A target can't say any of these, and none of them is passed on to it.
struct GMCPDialect: Dialect {
    private static let ownPrefix = "portcullis."

    func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand {
        guard isText else { return .input(message.repairedUTF8) }
        let name = String(decoding: message.prefix { $0 != 0x20 }, as: UTF8.self)
        guard OutOfBand.isName(name) else {
            throw DialectError(.invalidRequest, "A text message is Package.Name and JSON")
        }
        let data = try json(message.dropFirst(name.utf8.count).drop { $0 == 0x20 })
        return isOwn(name) ? try ownCommand(name, data) : try OutOfBand.command(name: name, data: data)
    }

    func encode(_ event: TargetEvent, into frames: inout FrameBuffer) {
        switch event {
        case .text(let text): frames.append(isText: false) { $0.append(contentsOf: text) }
        case .prompt: append("Portcullis.Prompt", nil, to: &frames)
        case .echo(let isSuppressed):
            append("Portcullis.Echo", .object(.init([.init("suppressed", .bool(isSuppressed))])), to: &frames)
        case .gmcp(let name, _) where isOwn(name): break
        case .gmcp(let name, let data): append(name, gmcp: data, to: &frames)
        // Names stand in the message as they are.
        case .atcp(let name, _) where !OutOfBand.isName(name): break
        case .msdp(let name, _) where !OutOfBand.isName(name): break
        case .atcp(let name, let text): append("ATCP." + name, .string(text), to: &frames)
        case .msdp(let name, let value): append(OutOfBand.msdpPrefix + name, JSONValue(value), to: &frames)
        case .mssp(let variables): append("MSSP", OutOfBand.json(variables), to: &frames)
        }
    }

    func encode(_ error: DialectError, into frames: inout FrameBuffer) {
        let members = [("code", error.code.rawValue), ("message", error.message)]
        append("Portcullis.Error", .object(.init(members.map { .init($0.0, .string($0.1)) })), to: &frames)
    }

    func encode(ticket: String, into frames: inout FrameBuffer) {
        append("Portcullis.Ticket", .object(.init([.init("ticket", .string(ticket))])), to: &frames)
    }

    private func isOwn(_ name: String) -> Bool {
        name.lowercased().hasPrefix(Self.ownPrefix)
    }

    private func ownCommand(_ name: String, _ data: JSONValue?) throws(DialectError) -> ClientCommand {
        guard name.lowercased() == "portcullis.size" else {
            throw DialectError(.invalidRequest, "Unknown message: \(name)")
        }
        guard case .object(let object) = data else { throw .notAnObject }
        return try MessageFields(object).size(columns: "cols", rows: "rows")
    }

    private func json(_ text: ArraySlice<UInt8>) throws(DialectError) -> JSONValue? {
        guard !text.isEmpty else { return nil }
        do { return try JSONReader.read(text) } catch { throw DialectError(error) }
    }

    private func append(_ name: String, gmcp data: [UInt8], to frames: inout FrameBuffer) {
        frames.append(isText: true) { bytes in
            bytes.append(name)
            guard !data.isEmpty else { return }
            bytes.append(0x20)
            OutOfBand.append(gmcp: data, to: &bytes)
        }
    }

    private func append(_ name: String, _ data: JSONValue?, to frames: inout FrameBuffer) {
        frames.append(isText: true) { bytes in
            bytes.append(name)
            guard let data else { return }
            bytes.append(0x20)
            JSONWriter.append(data, to: &bytes)
        }
    }
}
