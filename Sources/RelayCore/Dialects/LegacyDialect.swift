import Telnet
import WireText

/// The protocol of mud-web-proxy's browser clients: a first message `{"connect":1,…}`, then text.
///
/// The client gets a text message for each piece of text: base64 of a complete raw DEFLATE stream; or, if it has sent `"mccp":0`, a
/// binary message with the text itself. The protocol has no messages for out-of-band data. From the client:
///
/// | key of the `connect` object | meaning |
/// |---|---|
/// | `connect` | required, and truthy in ECMAScript |
/// | `mud` | a named route, at most 64 bytes |
/// | `host`, `port` | an address; without them, the gateway's default target |
/// | `client`, `ttype` | the answer to TTYPE |
/// | `mccp` | `0`: frames aren't compressed |
/// | `name`, `utf8`, `encoding`, `debug` | accepted and ignored: the gateway sends UTF-8 and handles telnet itself |
///
/// Later messages are input, except objects with one of these keys: `gmcp` (`"Package.Name json"`) and `msdp` (`{"key","val"}`), of
/// at most 4096 bytes, are passed on; `chat` and `bin` are ignored.
struct LegacyDialect: Dialect {
    static let maximumRouteBytes = 64
    static let maximumHostBytes = 255
    static let maximumFieldBytes = 4_096

    private let compressor: any FrameCompressor
    private var hasConnected = false
    /// Applies also to errors about the `connect` message that declines compression.
    private var compresses = true

    init(compressor: any FrameCompressor) {
        self.compressor = compressor
    }

    var awaitsConnect: Bool { true }

    mutating func command(of message: ArraySlice<UInt8>, isText: Bool) throws(DialectError) -> ClientCommand {
        guard message.looksLikeObject, case .object(let object)? = try? JSONReader.read(message) else {
            return .input(message.repairedUTF8)
        }
        if object.asksToConnect { return try connect(object) }
        return laterCommand(object) ?? .input(message.repairedUTF8)
    }

    func encode(_ event: TargetEvent, keeping history: inout SessionHistory, into frames: inout FrameBuffer) {
        guard case .text(let text) = event else { return }
        append(Array(text), to: &frames)
    }

    func encode(_ error: DialectError, into frames: inout FrameBuffer) {
        notice(error.message, to: &frames)
    }

    func encode(_ failure: DialFailure, into frames: inout FrameBuffer) -> CloseReason? {
        switch failure {
        case .unreachable: notice("Error: maybe the mud server is down?", to: &frames)
        case .timedOut: notice("Timeout: server port is down.", to: &frames)
        case .notSecured, .notAllowed, .routeNotAllowed, .portNotAllowed, .limited:
            notice("Error: \(failure.error.message)", to: &frames)
        }
        return failure.close
    }

    private func notice(_ text: String, to frames: inout FrameBuffer) {
        append(Array("\r\n\(text)\r\n".utf8), to: &frames)
    }

    private func append(_ text: [UInt8], to frames: inout FrameBuffer) {
        guard compresses else { return frames.append(isText: false) { $0.append(contentsOf: text) } }
        let deflated = compressor.compress(text) ?? StoredDeflate.stream(of: text)
        frames.append(isText: true) { Base64.append(deflated[...], to: &$0) }
    }
}

// MARK: Messages of the client

extension LegacyDialect {
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
