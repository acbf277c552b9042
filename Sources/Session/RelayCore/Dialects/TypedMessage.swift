import StrictJSON
import WireText

/// A client's message in the typed protocol. Its fields are checked in the protocol's order; the first invalid one is
/// reported.
struct TypedMessage {
    private let object: JSONObject
    private let fields: MessageFields

    init(_ object: JSONObject) {
        self.object = object
        fields = MessageFields(object)
    }

    func command() throws(DialectError) -> ClientCommand {
        let typeName = typeName
        switch WireWord(typeName) {
        case "connect": return try connect()
        case "resume": return try resume()
        case "input": return try input()
        case "naws": return try fields.size(columns: "width", rows: "height")
        case "syncAck": return try syncAck()
        case "activityToken": return try activityToken()
        case "gmcp": return try gmcp()
        case "disconnect": return .disconnect
        default:
            let shown = String(scalars: 32, of: typeName)
            throw DialectError(.invalidRequest, field: "type", "Unknown message type: \(shown)")
        }
    }

    private var typeName: String {
        if case .string(let name) = object["type"] { return name }
        var written: [UInt8] = []
        if let value = object["type"] { JSONWriter.append(value, to: &written) }
        return String(decoding: written, as: UTF8.self)
    }

    /// In addition to version 4, `target` can replace host and port.
    private func connect() throws(DialectError) -> ClientCommand {
        let target = try target()
        let columns = try fields.optionalPositive("width")
        let rows = try fields.optionalPositive("height")
        _ = try fields.optionalText("deviceToken")
        return .connect(target, ClientDescription(columns: columns, rows: rows))
    }

    /// A route, or with `""` the connection's default target, so that a client needn't know a host.
    private func target() throws(DialectError) -> TargetRequest {
        if fields.optional("target")?.string?.isEmpty == true { return .standard }
        if let route = try fields.optionalText("target") { return .route(route) }
        return .address(host: try fields.text("host"), port: try fields.positive("port"))
    }

    private func input() throws(DialectError) -> ClientCommand {
        do throws(DialectError) {
            let text = Array(try fields.string("text").utf8)
            return .input(text[...], cid: try fields.optionalOrdinal("cid"))
        } catch {
            throw error.answering(cid: try? fields.optionalOrdinal("cid"))
        }
    }

    private func resume() throws(DialectError) -> ClientCommand {
        let sessionID = try fields.text("sessionId")
        let token = try fields.text("token")
        return .resume(ResumeRequest(sessionID: sessionID, token: token, lastSeq: try fields.count("lastSeq")))
    }

    private func syncAck() throws(DialectError) -> ClientCommand {
        let sessionID = Array(try fields.text("sessionId").utf8)[...]
        return .acknowledge(sessionID: sessionID, lastSeq: try fields.count("lastSeq"))
    }

    private func activityToken() throws(DialectError) -> ClientCommand {
        _ = try fields.text("token")
        return .nothing(.yes)
    }

    private func gmcp() throws(DialectError) -> ClientCommand {
        let package = try fields.text("package")
        guard OutOfBand.isName(package) else {
            throw DialectError(.invalidRequest, field: "package", "package must be a GMCP message name")
        }
        return try OutOfBand.command(name: package, data: fields.optional("data"))
    }
}
