/// The dialect gmcp: text in binary messages, and `Package.Name <json>` in text messages.
struct GMCPCodec: SessionCodec {
    var countsBytes: Bool { true }
    var numbersInputs: Bool { false }

    func message(_ bytes: [UInt8], isText: Bool, maximumBytes: Int) throws(MessageFault) -> GatewayMessage {
        guard isText else { return .content(.output(bytes), .init()) }
        let end = bytes.firstIndex(of: 0x20) ?? bytes.endIndex
        let name = String(decoding: bytes[..<end], as: UTF8.self)
        guard GMCPName.isValid(name) else { throw MessageFault(fault: .member("name")) }
        let json = bytes[end...].dropFirst()
        if GMCPName.isOwn(name) { return try OwnMessage.message(name, Array(json)) }
        guard JSONData.isValid(json, maximumBytes: maximumBytes) else { throw MessageFault(fault: .notJSON) }
        return .content(.gmcp(name: name, json: json.isEmpty ? nil : Array(json)), .init())
    }

    func input(_ text: [UInt8], number: UInt64) -> WebSocketMessage { .binary(text) }

    func gmcp(_ name: String, _ json: [UInt8]?) -> WebSocketMessage? {
        .text(Array(name.utf8) + (json.map { [0x20] + $0 } ?? []))
    }

    func size(_ size: TerminalSize) -> WebSocketMessage? { gmcp("Portcullis.Size", OwnMessage.json(size)) }
    func greeting(_ greeting: SessionGreeting) -> WebSocketMessage? { nil }
    func acknowledgement(_ session: SessionIdentity, upTo sequence: UInt64) -> WebSocketMessage? { nil }
    func farewell() -> WebSocketMessage? { nil }
}

/// The dialect json: text in binary messages, and `{"proto","id","data"}` in text messages, where `data` is text that
/// may be JSON.
struct JSONCodec: SessionCodec {
    var countsBytes: Bool { true }
    var numbersInputs: Bool { false }

    private static let outOfBand: [(proto: String, prefix: String)] = [
        ("gmcp", ""), ("msdp", "MSDP."), ("atcp", "ATCP."), ("mssp", "MSSP"),
    ]

    func message(_ bytes: [UInt8], isText: Bool, maximumBytes: Int) throws(MessageFault) -> GatewayMessage {
        guard isText else { return .content(.output(bytes), .init()) }
        guard let members = try? JSONMembers(bytes, maximumBytes: maximumBytes), let proto = members.string("proto")
        else { throw MessageFault(fault: .notJSON) }
        let id = members.string("id") ?? ""
        let data = members.string("data") ?? ""
        if let row = Self.outOfBand.first(where: { $0.proto.isSame(as: proto) }) {
            let name = row.prefix + (row.proto.isSame(as: "mssp") ? "" : id)
            return try content(name, data, isText: row.proto.isSame(as: "atcp"), maximumBytes)
        }
        if proto.isSame(as: "prompt") { return .content(.prompt, .ofTheGateway) }
        if proto.isSame(as: "error") {
            return .error(code: RefusalReader.harmless(id), message: RefusalReader.harmless(data), input: nil)
        }
        return try OwnMessage.message("Portcullis." + proto, Array(data.utf8))
    }

    private func content(
        _ name: String, _ data: String, isText: Bool, _ maximumBytes: Int
    ) throws(MessageFault) -> GatewayMessage {
        let json = isText ? JSONData.quoted(data) : Array(data.utf8)
        guard GMCPName.isValid(name), JSONData.isValid(json[...], maximumBytes: maximumBytes) else {
            throw MessageFault(fault: .member("data"))
        }
        return .content(.gmcp(name: name, json: json.isEmpty ? nil : json), .init())
    }

    private func object(_ proto: String, id: String, _ json: [UInt8]?) -> WebSocketMessage {
        .text(
            JSONText.object {
                $0.add("proto", proto)
                $0.add("id", id)
                if let json { $0.add("data", json: json) } else { $0.add("data", "") }
            })
    }

    func input(_ text: [UInt8], number: UInt64) -> WebSocketMessage { .binary(text) }
    func gmcp(_ name: String, _ json: [UInt8]?) -> WebSocketMessage? { object("gmcp", id: name, json) }
    func size(_ size: TerminalSize) -> WebSocketMessage? { object("naws", id: "", OwnMessage.json(size)) }
    func greeting(_ greeting: SessionGreeting) -> WebSocketMessage? { nil }
    func acknowledgement(_ session: SessionIdentity, upTo sequence: UInt64) -> WebSocketMessage? { nil }
    func farewell() -> WebSocketMessage? { nil }
}

/// The gateway's own messages, which both dialects have in the same words.
enum OwnMessage {
    static let maximumBytes = 4_096

    static func message(_ name: String, _ json: [UInt8]) throws(MessageFault) -> GatewayMessage {
        let kind = String(decoding: name.utf8.dropFirst(11), as: UTF8.self)
        if kind.isSameIgnoringCase(as: "prompt") { return .content(.prompt, .ofTheGateway) }
        let known = ["session", "gap", "echo", "error", "draining"].contains { kind.isSameIgnoringCase(as: $0) }
        guard known else { return .nothing }
        guard let members = try? JSONMembers(json, maximumBytes: maximumBytes) else {
            throw MessageFault(fault: .notJSON, numbering: .ofTheGateway)
        }
        if kind.isSameIgnoringCase(as: "session") { return try session(members) }
        if kind.isSameIgnoringCase(as: "gap") {
            return .gap(upTo: nil, bytes: members.integer("bytes").flatMap(UInt64.init(exactly:)))
        }
        if kind.isSameIgnoringCase(as: "echo") {
            return .content(.echo(isSuppressed: members.boolean("suppressed") ?? false), .ofTheGateway)
        }
        if kind.isSameIgnoringCase(as: "draining") { return .draining(seconds: SessionHint.seconds(members)) }
        return .error(
            code: RefusalReader.harmless(members.string("code") ?? ""),
            message: RefusalReader.harmless(members.string("message") ?? ""), input: nil)
    }

    private static func session(_ members: JSONMembers) throws(MessageFault) -> GatewayMessage {
        guard let identity = SessionIdentity(id: members.string("id"), token: members.string("token")),
            let count = members.integer("seq").flatMap(UInt64.init(exactly:))
        else { throw MessageFault(fault: .member("id"), numbering: .ofTheGateway) }
        return .session(identity, count: count, isResumed: members.boolean("resumed") ?? false, isResumable: true)
    }

    static func json(_ size: TerminalSize) -> [UInt8] {
        JSONText.object {
            $0.add("cols", size.columns)
            $0.add("rows", size.rows)
        }
    }
}

/// JSON that is handed on as it is.
enum JSONData {
    /// Nothing at all is valid: a message without data.
    static func isValid(_ json: ArraySlice<UInt8>, maximumBytes: Int) -> Bool {
        json.isEmpty || (try? JSONMembers(object(json), maximumBytes: maximumBytes + 8))?.count == 1
    }

    /// Any value, as the only member of an object.
    private static func object(_ json: ArraySlice<UInt8>) -> [UInt8] { Array("{\"v\":".utf8) + json + Array("}".utf8) }

    static func quoted(_ text: String) -> [UInt8] {
        let object = JSONText.object { $0.add("v", text) }
        return Array(object.dropFirst(5).dropLast())
    }
}
