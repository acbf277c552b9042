/// The dialect typed: one JSON object in each text message, told apart by its `type`.
struct TypedCodec: SessionCodec {
    var countsBytes: Bool { false }
    var numbersInputs: Bool { true }

    func message(_ bytes: [UInt8], isText: Bool, maximumBytes: Int) throws(MessageFault) -> GatewayMessage {
        let members: JSONMembers
        do throws(JSONMembers.Fault) {
            members = try JSONMembers(bytes, maximumBytes: maximumBytes)
        } catch {
            throw MessageFault(fault: error == .tooDeep ? .tooDeep : error == .tooLong ? .bodyTooLarge : .notJSON)
        }
        return try Self.message(members)
    }

    private static func message(_ members: JSONMembers) throws(MessageFault) -> GatewayMessage {
        guard let type = members.string("type") else { throw MessageFault(fault: .member("type")) }
        let numbering = GatewayMessage.Numbering(
            sequence: members.integer("seq").flatMap(UInt64.init(exactly:)),
            isReplayed: members.boolean("replayed") ?? false)
        if type.isSame(as: "data") { return .content(.output(try payload(members, numbering)), numbering) }
        if type.isSame(as: "inputAck") { return .inputConfirmed(try number(members, "cid")) }
        if type.isSame(as: "gmcp") { return try gmcp(members, numbering) }
        if type.isSame(as: "prompt") { return .content(.prompt, numbering) }
        if type.isSame(as: "echo") {
            return .content(.echo(isSuppressed: members.boolean("suppressed") ?? false), numbering)
        }
        return try notice(type, members)
    }

    private static func notice(_ type: String, _ members: JSONMembers) throws(MessageFault) -> GatewayMessage {
        if type.isSame(as: "session") { return try session(members, isResumed: false) }
        if type.isSame(as: "resumed") { return try session(members, isResumed: true) }
        if type.isSame(as: "gap") {
            return .gap(
                upTo: members.integer("toSeq").flatMap(UInt64.init(exactly:)),
                bytes: members.integer("bytes").flatMap(UInt64.init(exactly:)))
        }
        if type.isSame(as: "error") {
            return .error(
                code: RefusalReader.harmless(members.string("code") ?? ""),
                message: RefusalReader.harmless(members.string("message") ?? ""),
                input: members.integer("cid").flatMap(UInt64.init(exactly:)))
        }
        if type.isSame(as: "draining") { return .draining(seconds: SessionHint.seconds(members)) }
        return type.isSame(as: "disconnected") ? .ended : .nothing
    }

    private static func payload(
        _ members: JSONMembers, _ numbering: GatewayMessage.Numbering
    ) throws(MessageFault) -> [UInt8] {
        guard let text = members.string("payload"), let bytes = BinaryText.bytes(base64: text.utf8) else {
            throw MessageFault(fault: .member("payload"), numbering: numbering)
        }
        return bytes
    }

    private static func gmcp(
        _ members: JSONMembers, _ numbering: GatewayMessage.Numbering
    ) throws(MessageFault) -> GatewayMessage {
        guard let name = members.string("package"), GMCPName.isValid(name) else {
            throw MessageFault(fault: .member("package"), numbering: numbering)
        }
        return .content(.gmcp(name: name, json: members.raw("data").map(Array.init)), numbering)
    }

    private static func session(_ members: JSONMembers, isResumed: Bool) throws(MessageFault) -> GatewayMessage {
        guard let identity = SessionIdentity(id: members.string("sessionId"), token: members.string("token")) else {
            throw MessageFault(fault: .member("sessionId"))
        }
        let capabilities = members.strings("capabilities", atMost: 32)
        let isResumable = ["gap", "tokenRotation"].allSatisfy { word in capabilities.contains { $0.isSame(as: word) } }
        return .session(identity, count: nil, isResumed: isResumed, isResumable: isResumable)
    }

    private static func number(_ members: JSONMembers, _ name: StaticString) throws(MessageFault) -> UInt64 {
        guard let number = members.integer(name).flatMap(UInt64.init(exactly:)) else {
            throw MessageFault(fault: .member("\(name)"))
        }
        return number
    }

    // MARK: To the gateway

    private func typed(_ type: String, _ add: (inout JSONText) -> Void) -> WebSocketMessage {
        .text(
            JSONText.object {
                $0.add("type", type)
                add(&$0)
            })
    }

    func input(_ text: [UInt8], number: UInt64) -> WebSocketMessage {
        typed("input") {
            $0.add("text", String(decoding: text, as: UTF8.self))
            $0.add("cid", number)
        }
    }

    func gmcp(_ name: String, _ json: [UInt8]?) -> WebSocketMessage? {
        typed("gmcp") {
            $0.add("package", name)
            if let json { $0.add("data", json: json) }
        }
    }

    func size(_ size: TerminalSize) -> WebSocketMessage? {
        typed("naws") {
            $0.add("width", size.columns)
            $0.add("height", size.rows)
        }
    }

    func greeting(_ greeting: SessionGreeting) -> WebSocketMessage? {
        switch greeting {
        case .connect(let size):
            typed("connect") {
                $0.add("target", "")
                if let size {
                    $0.add("width", size.columns)
                    $0.add("height", size.rows)
                }
            }
        case .resume(let session, let sequence):
            typed("resume") {
                $0.add("sessionId", session.id)
                $0.add("token", session.token)
                $0.add("lastSeq", sequence)
            }
        }
    }

    func acknowledgement(_ session: SessionIdentity, upTo sequence: UInt64) -> WebSocketMessage? {
        typed("syncAck") {
            $0.add("sessionId", session.id)
            $0.add("lastSeq", sequence)
        }
    }

    func farewell() -> WebSocketMessage? { typed("disconnect") { _ in } }
}

/// When the gateway wants a client back.
enum SessionHint {
    static func seconds(_ members: JSONMembers) -> Double {
        let milliseconds = members.integer("reconnectAfterMs") ?? 0
        return min(max(Double(milliseconds), 0) / 1_000, ReconnectPolicy.longestHint)
    }
}
