import StrictJSON
import Telnet
import WireText

/// What a client of the legacy dialect sends. Its first message is a JSON object:
///
/// | key of the `connect` object | meaning |
/// |---|---|
/// | `connect` | required, and truthy in ECMAScript |
/// | `mud` | a named route, at most 64 bytes |
/// | `host`, `port` | an address; without them, the gateway's default target |
/// | `client`, `ttype` | the answer to TTYPE |
/// | `mccp` | `0`: messages to the client aren't compressed |
/// | `name`, `utf8`, `encoding`, `debug` | accepted and ignored: the gateway sends UTF-8 and handles telnet itself |
///
/// Later messages are input, except objects with one of these keys: `gmcp` (`"Package.Name json"`) and `msdp`
/// (`{"key","val"}`), of at most 4096 bytes, are passed on; `chat` and `bin` are ignored.
extension LegacyDialect {
    static let maximumRouteBytes = 64
    static let maximumHostBytes = 255
    static let maximumFieldBytes = 4_096

    mutating func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand {
        guard message.looksLikeObject, case .object(let object)? = try? JSONReader.read(message) else {
            return .input(message.repairedUTF8)
        }
        if object.asksToConnect { return try connect(object) }
        return laterCommand(object) ?? .input(message.repairedUTF8)
    }

    /// A second `connect` gets an error and ends the connection, as this protocol requires.
    private mutating func connect(_ object: JSONObject) throws(DialectError) -> ClientCommand {
        guard !hasConnected else {
            let error = DialectError.alreadyConnected
            throw DialectError(error.code, error.message, close: .alreadyConnected)
        }
        compresses = !object.declinesCompression
        let target = try target(object)
        hasConnected = true
        return .connect(target, ClientDescription(name: object.text("client"), terminalType: object.text("ttype")))
    }

    private func target(_ object: JSONObject) throws(DialectError) -> TargetRequest {
        let fields = MessageFields(object)
        if fields.optional("mud") != nil {
            return .route(try bounded("mud", Self.maximumRouteBytes, fields))
        }
        guard fields.optional("host") != nil || fields.optional("port") != nil else { return .standard }
        let host = try bounded("host", Self.maximumHostBytes, fields)
        do throws(DialectError) {
            return .address(host: host, port: try fields.positive("port"))
        } catch {
            throw closing(error)
        }
    }

    private func bounded(_ name: String, _ limit: Int, _ fields: MessageFields) throws(DialectError) -> String {
        do throws(DialectError) {
            let text = try fields.text(name)
            guard text.utf8.count <= limit else { throw DialectError(.invalidRequest, "\(name) is too long") }
            return text
        } catch {
            throw closing(error)
        }
    }

    private func closing(_ error: DialectError) -> DialectError {
        DialectError(error.code, "Error: \(error.message)", close: .malformedConnect)
    }

    /// nil: the message is text that looks like JSON.
    private func laterCommand(_ object: JSONObject) -> ClientCommand? {
        if let gmcp = object.text("gmcp") { return command(gmcp: gmcp) }
        if case .object(let msdp)? = object["msdp"] { return command(msdp: msdp) }
        return object["chat"] != nil || object["bin"] != nil ? .nothing(.no) : nil
    }

    private func command(gmcp text: String) -> ClientCommand {
        guard text.utf8.count <= Self.maximumFieldBytes else { return .nothing(.no) }
        let name = Substring(text.utf8.prefix { $0 != 0x20 })
        let data = Array(text.utf8.dropFirst(name.utf8.count).drop { $0 == 0x20 })
        guard OutOfBand.isName(name), data.isEmpty || JSONReader.isValid(data[...]) else { return .nothing(.no) }
        return .gmcp(name: String(name), data: data)
    }

    private func command(msdp object: JSONObject) -> ClientCommand {
        guard let key = object.text("key"), OutOfBand.isName(key), let value = object["val"] else {
            return .nothing(.no)
        }
        var written: [UInt8] = []
        JSONWriter.append(value, to: &written)
        guard written.count <= Self.maximumFieldBytes else { return .nothing(.no) }
        return (try? OutOfBand.msdp(name: key, value: MSDPValue(value))) ?? .nothing(.no)
    }
}

extension JSONObject {
    /// `connect` is truthy in ECMAScript and there is no `type`: this identifies the dialect.
    var asksToConnect: Bool {
        guard self["type"] == nil, let value = self["connect"] else { return false }
        switch value {
        case .null, .bool(false), .integer(0): return false
        case .string(let text): return !text.isEmpty
        case .number(let text): return Double(text) != 0
        default: return true
        }
    }

    /// `mccp`: this protocol uses the name also for the compression of its own frames.
    fileprivate var declinesCompression: Bool {
        guard let value = self["mccp"] else { return false }
        if case .bool(false) = value { return true }
        return value.exactInteger == 0
    }

    func text(_ name: String) -> String? {
        self[name]?.string
    }
}
