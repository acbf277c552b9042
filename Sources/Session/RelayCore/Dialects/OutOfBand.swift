import StrictJSON
import Telnet
import WireText

/// Out-of-band data for dialects with a single message type for it: a package name with JSON data.
///
/// | event | package | data |
/// |---|---|---|
/// | GMCP | its name | its data; what isn't JSON becomes a JSON string |
/// | MSDP | `MSDP.` and the variable | tables as objects, arrays as arrays, everything else as strings |
/// | MSSP | `MSSP` | an object; a variable with several values is an array |
/// | ATCP | `ATCP.` and its name | a string |
enum OutOfBand {
    static let msdpPrefix = "MSDP."
    static let atcpPrefix = "ATCP."
    static let mssp = "MSSP"
    /// The longest name of a message from a client, in bytes.
    static let maximumNameBytes = 128

    private static let ownPackage = "portcullis"

    /// Whether the name is the gateway's own package or a message below it. Like GMCP, the comparison ignores case and
    /// leading spaces. Clients may not send these messages to a target, and targets may not send them to a client whose
    /// dialect uses the same form.
    static func isOwn(_ name: String) -> Bool {
        let name = name.utf8.drop { $0 <= 0x20 }
        // This bit distinguishes lower-case from upper-case ASCII letters.
        guard name.prefix(ownPackage.utf8.count).elementsEqual(ownPackage.utf8, by: { $0 | 0x20 == $1 }) else {
            return false
        }
        let rest = name.dropFirst(ownPackage.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: ".")
    }

    /// Appends valid JSON; nothing if a GMCP message has no data.
    static func append(gmcp data: [UInt8], to bytes: inout [UInt8]) {
        if JSONReader.isValid(data[...]) {
            bytes.append(contentsOf: data)
        } else if !data.isEmpty {
            let text = data[...].repairedUTF8
            JSONWriter.append(utf8: text.span, to: &bytes)
        }
    }

    static func json(_ variables: [MSSPVariable]) -> JSONValue {
        var object = JSONObject()
        for variable in variables {
            let values = variable.values.map(JSONValue.string)
            object.append(variable.name, values.count == 1 ? values[0] : .array(values))
        }
        return .object(object)
    }

    /// Graphic ASCII without spaces, of a bounded length.
    static func isName(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && name.utf8.count <= maximumNameBytes && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The command in a client's message `name`: MSDP if the name has its prefix, otherwise GMCP.
    static func command(name: String, data: JSONValue?) throws(DialectError) -> ClientCommand {
        guard name.hasBytePrefix(msdpPrefix) else {
            var bytes: [UInt8] = []
            if let data { JSONWriter.append(data, to: &bytes) }
            return .gmcp(name: name, data: bytes)
        }
        guard name.utf8.count > msdpPrefix.utf8.count else {
            throw DialectError(.invalidRequest, field: "package", "package must be a GMCP message name")
        }
        return try msdp(name: String(name.droppingBytes(msdpPrefix.utf8.count)), value: MSDPValue(data ?? .string("")))
    }

    /// Values that MSDP can't represent are refused here: later they would wait for an option that doesn't help them.
    static func msdp(name: String, value: MSDPValue) throws(DialectError) -> ClientCommand {
        guard MSDP.canSay(name: name, value: value) else { throw .notMSDP }
        return .msdp(name: name, value: value)
    }
}

extension JSONValue {
    init(_ value: MSDPValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .array(let values): self = .array(values.map(JSONValue.init))
        case .table(let entries): self = .object(JSONObject(entries.map { .init($0.name, JSONValue($0.value)) }))
        }
    }
}

extension MSDPValue {
    /// MSDP has only strings, tables and arrays: numbers are sent as written, `true` and `false` as 1 and 0, `null` as
    /// an empty string.
    init(_ value: JSONValue) {
        switch value {
        case .null: self = .string("")
        case .bool(let value): self = .string(value ? "1" : "0")
        case .integer(let value): self = .string(String(value))
        case .number(let text), .string(let text): self = .string(text)
        case .array(let values): self = .array(values.map(MSDPValue.init))
        case .object(let object):
            self = .table(object.members.map { MSDPEntry(name: $0.name, value: MSDPValue($0.value)) })
        }
    }
}

extension MSDPValue {
    /// In bytes, plus one for each value.
    var size: Int {
        switch self {
        case .string(let text): 1 + text.utf8.count
        case .array(let values): values.reduce(1) { $0 + $1.size }
        case .table(let entries): entries.reduce(1) { $0 + $1.name.utf8.count + $1.value.size }
        }
    }
}
