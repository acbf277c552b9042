/// The Achaea Telnet Client Protocol: `Module.Message text`. GMCP came after it; it is heard, and answered with a greeting only.
enum ATCP {
    /// What a client says first, with the modules that it wants to hear of.
    static func hello(_ identity: ClientIdentity) -> [UInt8] {
        Array("hello \(identity.name) \(identity.version)\nchar_vitals 1\nroom_brief 1\nroom_exits 1\n".utf8)
    }

    /// - Returns: nil if no name leads it.
    static func event(of payload: [UInt8]) -> TargetEvent? {
        let end = payload.firstIndex { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D } ?? payload.endIndex
        guard GMCP.isName(payload[..<end]) else { return nil }
        return .atcp(
            name: String(decoding: payload[..<end], as: UTF8.self),
            text: TextDecoder.string(payload[end...].dropFirst()))
    }
}
