import Telnet

/// The typed JSON protocol of mud-web-proxy 4: one JSON object a text message, recognised by its `type`.
///
/// To the client, `seq` counting data, gmcp, echo and prompt of one session together, from 1:
/// ```
/// {"type":"session","sessionId":"<uuid>","token":"<64 hex>","capabilities":[…]}
/// {"type":"data","seq":1,"payload":"<base64 of UTF-8>"}
/// {"type":"gmcp","seq":2,"package":"Char.Vitals","data":{…}}
/// {"type":"echo","seq":3,"suppressed":true}
/// {"type":"prompt","seq":4}
/// {"type":"error","code":"invalid_request","field":"host","message":"…"}
/// {"type":"disconnected","sessionId":"<uuid>","reason":"MUD connection closed"}
/// {"type":"ticket","ticket":"…"}
/// ```
/// `prompt`, `ticket` and the client's own `gmcp` go beyond version 4. MSDP, MSSP and ATCP arrive as `gmcp`, as ``OutOfBand`` says.
struct TypedDialect: Dialect {
    /// What a session can do beyond the protocol's first version. `activityToken` stands for push messages, which there aren't:
    /// the message is accepted, and not announced.
    static let capabilities = ["syncAck", "echoState", "gmcp", "prompt"]

    private var sessionID = ""
    /// The last one given.
    private var sequence: UInt64 = 0

    var awaitsConnect: Bool { true }

    /// What doesn't look like an object is input: so it was before messages had types.
    func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand {
        guard message.looksLikeObject else { return .input(message.repairedUTF8) }
        return try TypedMessage(JSONObject(message: message)).command()
    }

    mutating func sessionBegan(_ session: SessionIdentity, into frames: inout FrameBuffer) {
        sessionID = session.id
        sequence = 0
        let capabilities = JSONValue.array(Self.capabilities.map(JSONValue.string))
        append(
            "session",
            [("sessionId", .string(session.id)), ("token", .string(session.token)), ("capabilities", capabilities)],
            to: &frames)
    }

    func sessionEnded(into frames: inout FrameBuffer) {
        append(
            "disconnected", [("sessionId", .string(sessionID)), ("reason", .string("MUD connection closed"))],
            to: &frames)
    }

    /// The connection may connect again.
    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason? {
        encode(failure.error, into: &frames)
        return nil
    }

    func encode(_ error: DialectError, into frames: inout FrameBuffer) {
        var members: [(String, JSONValue)] = [("code", .string(error.code.rawValue))]
        if let field = error.field { members.append(("field", .string(field))) }
        append("error", members + [("message", .string(error.message))], to: &frames)
    }

    func encode(ticket: String, into frames: inout FrameBuffer) {
        append("ticket", [("ticket", .string(ticket))], to: &frames)
    }

    private func append(_ type: String, _ members: [(String, JSONValue)], to frames: inout FrameBuffer) {
        let object = JSONObject([.init("type", .string(type))] + members.map { .init($0.0, $0.1) })
        frames.append(isText: true) { JSONWriter.append(.object(object), to: &$0) }
    }
}

// MARK: The target's events

extension TypedDialect {
    mutating func encode(_ event: TargetEvent, into frames: inout FrameBuffer) {
        switch event {
        case .text(let text): append(data: text, to: &frames)
        case .prompt: appendSequenced("prompt", to: &frames) { _ in }
        case .echo(let isSuppressed):
            appendSequenced("echo", to: &frames) { bytes in
                bytes.append(isSuppressed ? #","suppressed":true"# : #","suppressed":false"#)
            }
        case .gmcp(let name, let data):
            appendPackage(name, to: &frames) { bytes in
                if data.isEmpty { bytes.append("null") } else { OutOfBand.append(gmcp: data, to: &bytes) }
            }
        case .atcp(let name, let text): appendPackage("ATCP." + name, .string(text), to: &frames)
        case .msdp(let name, let value): appendPackage(OutOfBand.msdpPrefix + name, JSONValue(value), to: &frames)
        case .mssp(let variables): appendPackage("MSSP", OutOfBand.json(variables), to: &frames)
        }
    }

    /// The hot path: one pass, from the text straight into the frame.
    private mutating func append(data text: [UInt8], to frames: inout FrameBuffer) {
        appendSequenced("data", to: &frames) { bytes in
            bytes.append(#","payload":""#)
            Base64.append(text[...], to: &bytes)
            bytes.append("\"")
        }
    }

    private mutating func appendPackage(_ package: String, _ data: JSONValue, to frames: inout FrameBuffer) {
        appendPackage(package, to: &frames) { JSONWriter.append(data, to: &$0) }
    }

    private mutating func appendPackage(
        _ package: String, to frames: inout FrameBuffer, _ writeData: (inout [UInt8]) -> Void
    ) {
        appendSequenced("gmcp", to: &frames) { bytes in
            bytes.append(#","package":"#)
            JSONWriter.append(string: package, to: &bytes)
            bytes.append(#","data":"#)
            writeData(&bytes)
        }
    }

    @inline(__always)
    private mutating func appendSequenced(
        _ type: String, to frames: inout FrameBuffer, _ write: (inout [UInt8]) -> Void
    ) {
        sequence += 1
        let sequence = sequence
        frames.append(isText: true) { bytes in
            bytes.append(#"{"type":""#)
            bytes.append(type)
            bytes.append(#"","seq":"#)
            bytes.append(decimal: sequence)
            write(&bytes)
            bytes.append("}")
        }
    }
}
