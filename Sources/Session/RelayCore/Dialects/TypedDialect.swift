import StrictJSON
import Telnet
import WireText

/// The typed JSON protocol of mud-web-proxy 4: each text message is one JSON object, identified by its `type`.
///
/// To the client, where `seq` counts data, gmcp, echo and prompt of a session together, from 1:
/// ```
/// {"type":"session","sessionId":"<uuid>","token":"<64 hex>","capabilities":[…]}
/// {"type":"data","seq":1,"payload":"<base64 of UTF-8>"}
/// {"type":"gmcp","seq":2,"package":"Char.Vitals","data":{…}}
/// {"type":"echo","seq":3,"suppressed":true}
/// {"type":"prompt","seq":4}
/// {"type":"resumed","sessionId":"<uuid>","token":"<64 hex>","capabilities":[…]}
/// {"type":"gap","fromSeq":1,"toSeq":9,"bytes":120}
/// {"type":"inputAck","cid":7}
/// {"type":"draining","reconnectAfterMs":5000}
/// {"type":"error","code":"invalid_request","field":"host","message":"…"}
/// {"type":"error","code":"invalid_request","message":"…","cid":7}
/// {"type":"disconnected","sessionId":"<uuid>","reason":"MUD connection closed"}
/// {"type":"ticket","ticket":"…","expiresIn":30}
/// ```
/// Messages replayed after a resume have `"replayed":true` at their end. `prompt`, `gap`, `inputAck`, `draining`,
/// `ticket` and the client's own `gmcp` are additions to version 4. MSDP, MSSP and ATCP are sent as `gmcp`: see
/// ``OutOfBand``.
struct TypedDialect: ResumableDialect {
    /// The capabilities beyond the protocol's first version. `activityToken` would announce push messages, which the
    /// gateway doesn't have: the message is accepted, but the capability isn't announced.
    static let capabilities = ["syncAck", "echoState", "gmcp", "prompt", "inputAck"]
    /// Further capabilities of a session that can be resumed.
    static let resumptionCapabilities = ["gap", "tokenRotation"]

    static let numbering: ReplayBuffer.Numbering? = .messages

    init(compressor: any FrameCompressor) {}

    var awaitsConnect: Bool { true }
    var hasNotices: Bool { true }

    /// A message that doesn't look like an object is input, as it was before messages had types.
    func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand {
        guard message.looksLikeObject else { return .input(message.repairedUTF8) }
        if let command = PlainTypedMessage(message)?.command { return command }
        return try TypedMessage(JSONObject(message: message)).command()
    }

    /// A session ends with its target or with the client's `disconnect`: the close code of a WebSocket is irrelevant.
    func endsSession(closeCode: UInt16?) -> Bool { false }

    // MARK: The session

    func sessionBegan(_ session: SessionIdentity, isResumable: Bool, into frames: inout FrameBuffer) {
        append("session", Self.members(of: session, isResumable: isResumable), isSecret: true, to: &frames)
    }

    /// Sends the state that isn't part of the replay, ordered by number, then the messages that the client has missed.
    func sessionResumed(
        _ session: SessionIdentity, _ history: SessionHistory, after lastSeq: UInt64, into frames: inout FrameBuffer
    ) {
        append("resumed", Self.members(of: session, isResumable: true), isSecret: true, to: &frames)
        let replay = history.buffer.replay(after: lastSeq)
        if let gap = replay.gap { append("gap", gap.members, to: &frames) }
        let state = history.snapshot.messages(notIn: replay).sorted { $0.seq < $1.seq }
        for message in state + replay.messages { append(message, isReplayed: true, to: &frames) }
    }

    private static func members(of session: SessionIdentity, isResumable: Bool) -> [(String, JSONValue)] {
        let capabilities = capabilities + (isResumable ? resumptionCapabilities : [])
        return [
            ("sessionId", .string(session.id)), ("token", .string(session.token)),
            ("capabilities", .array(capabilities.map(JSONValue.string))),
        ]
    }

    func sessionEnded(_ sessionID: String, into frames: inout FrameBuffer) {
        append(
            "disconnected", [("sessionId", .string(sessionID)), ("reason", .string("MUD connection closed"))],
            to: &frames)
    }

    // MARK: Notices

    /// The connection stays open for another connect.
    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason? {
        encode(failure.error, into: &frames)
        return nil
    }

    /// The connection stays open for another resume or a new connect.
    func encode(_ failure: ResumeFailure, into frames: inout FrameBuffer) -> CloseReason? {
        encode(failure.error, into: &frames)
        return nil
    }

    func encode(_ error: DialectError, into frames: inout FrameBuffer) {
        var members: [(String, JSONValue)] = [("code", .string(error.code.rawValue))]
        if let field = error.field { members.append(("field", .string(field))) }
        members.append(("message", .string(error.message)))
        if let cid = error.cid { members.append(("cid", .integer(Int(clamping: cid)))) }
        append("error", members, to: &frames)
    }

    func encode(ticket: String, expiresIn: Int, into frames: inout FrameBuffer) {
        append(
            "ticket", [("ticket", .string(ticket)), ("expiresIn", .integer(expiresIn))], isSecret: true, to: &frames)
    }

    func encode(reconnectAfterMilliseconds: Int, into frames: inout FrameBuffer) {
        append("draining", [("reconnectAfterMs", .integer(reconnectAfterMilliseconds))], to: &frames)
    }

    /// Sent for each line of the client's, so it is written without building an object.
    func encode(inputAck cid: UInt64, into frames: inout FrameBuffer) {
        frames.append(isText: true) { bytes in
            bytes.append(#"{"type":"inputAck","cid":"#)
            bytes.append(decimal: min(cid, UInt64(Int.max)))
            bytes.append("}")
        }
    }

    private func append(
        _ type: String, _ members: [(String, JSONValue)], isSecret: Bool = false, to frames: inout FrameBuffer
    ) {
        let object = JSONObject([.init("type", .string(type))] + members.map { .init($0.0, $0.1) })
        frames.append(isText: true, isSecret: isSecret) { JSONWriter.append(.object(object), to: &$0) }
    }
}

// MARK: The target's events

extension TypedDialect {
    func content(of event: TargetEvent) -> MessageContent? {
        switch event {
        case .text(let text): MessageContent(.text, text)
        case .prompt: MessageContent(.prompt)
        case .echo(let isSuppressed): MessageContent(isSuppressed ? .echoSuppressed : .echoShown)
        case .gmcp(let name, let data):
            content(name) { bytes in
                if data.isEmpty { bytes.append("null") } else { OutOfBand.append(gmcp: data, to: &bytes) }
            }
        case .atcp(let name, let text): content(OutOfBand.atcpPrefix + name, .string(text))
        case .msdp(let name, let value): content(OutOfBand.msdpPrefix + name, JSONValue(value))
        case .mssp(let variables): content(OutOfBand.mssp, OutOfBand.json(variables))
        }
    }

    private func content(_ package: String, _ data: JSONValue) -> MessageContent {
        content(package) { JSONWriter.append(data, to: &$0) }
    }

    /// The kept form of a package: its name and data as they are written in the message.
    private func content(_ package: String, _ writeData: (inout [UInt8]) -> Void) -> MessageContent {
        var bytes: [UInt8] = []
        JSONWriter.append(string: package, to: &bytes)
        bytes.append(#","data":"#)
        writeData(&bytes)
        return MessageContent(.package, bytes[...], package: package)
    }

    /// The hot path for text: a single pass from the text directly into the frame.
    func append(_ message: KeptMessage, isReplayed: Bool, to frames: inout FrameBuffer) {
        frames.append(isText: true) { bytes in
            bytes.append(Self.beginning(of: message.kind))
            bytes.append(decimal: message.seq)
            switch message.kind {
            case .text:
                bytes.append(#","payload":""#)
                Base64.append(message.payload, to: &bytes)
                bytes.append("\"")
            case .package:
                bytes.append(#","package":"#)
                bytes.append(contentsOf: message.payload)
            case .prompt: break
            case .echoSuppressed: bytes.append(#","suppressed":true"#)
            case .echoShown: bytes.append(#","suppressed":false"#)
            }
            bytes.append(isReplayed ? #","replayed":true}"# : "}")
        }
    }

    private static func beginning(of kind: KeptMessage.Kind) -> String {
        switch kind {
        case .text: #"{"type":"data","seq":"#
        case .package: #"{"type":"gmcp","seq":"#
        case .prompt: #"{"type":"prompt","seq":"#
        case .echoSuppressed, .echoShown: #"{"type":"echo","seq":"#
        }
    }
}
