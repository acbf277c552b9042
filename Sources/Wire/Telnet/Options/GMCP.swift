/// The Generic Mud Communication Protocol: `Package.Message data`, the data JSON in UTF-8.
package enum GMCP {
    /// The longest name that is delivered or sent, in bytes.
    package static let maximumNameBytes = 256

    /// The packages that most clients support and targets know.
    package static let usualPackages = [
        "Core 1", "Char 1", "Char.Vitals 1", "Char.Items 1", "Char.Skills 1", "Room 1", "Comm.Channel 1", "Group 1",
    ]

    /// Graphic ASCII only, because names go into texts and logs.
    package static func isName(_ name: some Collection<UInt8>) -> Bool {
        !name.isEmpty && name.count <= maximumNameBytes && name.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// - Returns: nil if the payload doesn't begin with a name.
    static func event(of payload: [UInt8]) -> TargetEvent? {
        let end = payload.firstIndex { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D } ?? payload.endIndex
        guard isName(payload[..<end]) else { return nil }
        return .gmcp(
            name: String(decoding: payload[..<end], as: UTF8.self),
            data: TextDecoder.utf8(payload[end...].dropFirst()))
    }

    /// - Returns: nil if `name` isn't a valid name.
    package static func payload(name: String, data: [UInt8]) -> [UInt8]? {
        guard isName(name.utf8) else { return nil }
        return data.isEmpty ? Array(name.utf8) : name.utf8 + [0x20] + data
    }

    /// A client's first message.
    static func hello(_ identity: ClientIdentity) -> [UInt8] {
        Array(#"Core.Hello {"client":\#(quoted(identity.name)),"version":\#(quoted(identity.version))}"#.utf8)
    }

    static func supports(_ packages: [String]) -> [UInt8] {
        Array("Core.Supports.Set [\(packages.map(quoted).joined(separator: ","))]".utf8)
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars where scalar.value >= 0x20 {
            if scalar == "\"" || scalar == "\\" { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }
}

/// The Achaea Telnet Client Protocol: `Module.Message text`, the predecessor of GMCP. It is read, and answered only
/// with a greeting.
enum ATCP {
    /// A client's first message, with the modules that it subscribes to.
    static func hello(_ identity: ClientIdentity) -> [UInt8] {
        Array("hello \(identity.name) \(identity.version)\nchar_vitals 1\nroom_brief 1\nroom_exits 1\n".utf8)
    }

    /// - Returns: nil if the payload doesn't begin with a name.
    static func event(of payload: [UInt8]) -> TargetEvent? {
        let end = payload.firstIndex { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D } ?? payload.endIndex
        guard GMCP.isName(payload[..<end]) else { return nil }
        return .atcp(
            name: String(decoding: payload[..<end], as: UTF8.self),
            text: TextDecoder.string(payload[end...].dropFirst()))
    }
}
