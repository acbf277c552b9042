/// The Achaea Telnet Client Protocol: `Module.Message text`, the predecessor of GMCP. It is read, and answered only with a
/// greeting.
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
