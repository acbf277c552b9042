import StrictJSON
import Telnet

/// A dialect that numbers the messages from the target, so that they can be sent again on another connection.
protocol ResumableDialect: Dialect {
    /// The client's message for an event, before it has a number; nil: none.
    func content(of event: TargetEvent) -> MessageContent?

    /// - Parameter isReplayed: the message is sent again after a resume.
    func append(_ message: KeptMessage, isReplayed: Bool, to frames: inout FrameBuffer)
}

extension ResumableDialect {
    func encode(_ event: TargetEvent, keeping history: inout SessionHistory, into frames: inout FrameBuffer) {
        guard let content = content(of: event) else { return }
        guard content.kind == .text, content.payload.count > history.maximumTextBytes else {
            return append(content, keeping: &history, to: &frames)
        }
        var rest = content.payload
        while !rest.isEmpty {
            let piece = rest.prefix(wholeCharactersIn: history.maximumTextBytes)
            rest = rest[piece.endIndex...]
            append(MessageContent(.text, piece), keeping: &history, to: &frames)
        }
    }

    private func append(
        _ content: MessageContent, keeping history: inout SessionHistory, to frames: inout FrameBuffer
    ) {
        let seq = history.record(content)
        append(
            KeptMessage(kind: content.kind, seq: seq, payload: content.payload), isReplayed: false, to: &frames)
    }
}

/// A dialect whose messages can't carry a number: both sides count the payload bytes instead.
///
/// All messages to the client count except the gateway's own; those say where counting begins.
protocol ByteCountedDialect: ResumableDialect {
    /// Appends one of the gateway's own messages.
    ///
    /// - Parameters:
    ///   - name: one capitalised word.
    ///   - isSecret: `data` contains a token or a ticket.
    func append(own name: String, _ data: JSONObject?, isSecret: Bool, to frames: inout FrameBuffer)
}

extension ByteCountedDialect {
    func append(own name: String, _ data: JSONObject?, to frames: inout FrameBuffer) {
        append(own: name, data, isSecret: false, to: &frames)
    }

    static var numbering: ReplayBuffer.Numbering? { .bytes }
    var hasNotices: Bool { true }

    /// A client that closes normally (RFC 6455, 1000) is gone; one that vanishes, or goes away (1001), may come back.
    func endsSession(closeCode: UInt16?) -> Bool { closeCode == 1000 }

    func append(_ message: KeptMessage, isReplayed: Bool, to frames: inout FrameBuffer) {
        switch message.kind {
        case .text: frames.append(isText: false) { $0.append(contentsOf: message.payload) }
        case .package: frames.append(isText: true) { $0.append(contentsOf: message.payload) }
        case .prompt: append(own: "Prompt", nil, to: &frames)
        case .echoSuppressed, .echoShown:
            let isSuppressed = message.kind == .echoSuppressed
            append(own: "Echo", JSONObject([.init("suppressed", .bool(isSuppressed))]), to: &frames)
        }
    }

    func sessionBegan(_ session: SessionIdentity, isResumable: Bool, into frames: inout FrameBuffer) {
        if isResumable { append(session, at: 0, isResumed: false, to: &frames) }
    }

    /// The state that the client needs again comes first, because counting begins after the session's message.
    func sessionResumed(
        _ session: SessionIdentity, _ history: SessionHistory, after lastSeq: UInt64, into frames: inout FrameBuffer
    ) {
        let replay = history.buffer.replay(after: lastSeq)
        for message in history.snapshot.messages(notIn: replay) { append(message, isReplayed: true, to: &frames) }
        append(session, at: replay.start, isResumed: true, to: &frames)
        if let gap = replay.gap {
            append(own: "Gap", JSONObject(gap.members.map { .init($0.0, $0.1) }), to: &frames)
        }
        for message in replay.messages { append(message, isReplayed: true, to: &frames) }
    }

    private func append(
        _ session: SessionIdentity, at seq: UInt64, isResumed: Bool, to frames: inout FrameBuffer
    ) {
        let data = JSONObject([
            .init("id", .string(session.id)), .init("token", .string(session.token)),
            .init("seq", .integer(Int(clamping: seq))), .init("resumed", .bool(isResumed)),
        ])
        append(own: "Session", data, isSecret: true, to: &frames)
    }

    func encode(ticket: String, expiresIn: Int, into frames: inout FrameBuffer) {
        let data = JSONObject([.init("ticket", .string(ticket)), .init("expiresIn", .integer(expiresIn))])
        append(own: "Ticket", data, isSecret: true, to: &frames)
    }

    func encode(reconnectAfterMilliseconds: Int, into frames: inout FrameBuffer) {
        let data = JSONObject([.init("reconnectAfterMs", .integer(reconnectAfterMilliseconds))])
        append(own: "Draining", data, to: &frames)
    }
}

extension ReplayGap {
    var members: [(String, JSONValue)] {
        [
            ("fromSeq", .integer(Int(clamping: fromSeq))), ("toSeq", .integer(Int(clamping: toSeq))),
            ("bytes", .integer(Int(clamping: bytes))),
        ]
    }
}

/// A session's identity as its client knows it.
package struct SessionIdentity: Sendable, CustomStringConvertible {
    /// A UUID.
    package let id: String
    /// 64 hexadecimal digits. The session belongs to the client that presents them: it may resume the session.
    package let token: String

    package init(id: String, token: String) {
        self.id = id
        self.token = token
    }

    /// Without the token.
    package var description: String { id }
}
