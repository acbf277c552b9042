import FoundationEssentials
package import Settings

/// What a tool asks of the running gateway, as one line of JSON over its control socket.
package enum ControlRequest: Codable, Sendable, Equatable {
    /// A ticket that admits whoever shows it, `uses` times, for `seconds`.
    case ticket(seconds: Int, uses: Int)
    /// To read the settings and their files again.
    case reload
    /// Whether it knows that a key is revoked, by the key's identifier.
    case hasNoticedRevocation(String)
}

/// What the gateway answers: one line of JSON, then the end of the connection.
package enum ControlAnswer: Codable, Sendable, Equatable {
    /// - Parameter page: the web client's address with the ticket in its fragment; nil while the web client is off.
    case ticket(String, page: String?)
    /// What has changed, and what will only change with a restart.
    case reloaded(changed: [ReloadDifference.Line], needingRestart: [ReloadDifference.Line])
    /// Everything that is wrong with the new settings; the old ones stay.
    case notReloaded(errors: [String])
    case revocation(isNoticed: Bool)
    case refused(reason: String)
}

/// One line each way (JSON has no raw line feed in it).
enum ControlLine {
    /// A longer request ends the connection.
    static let maximumBytes = 4_096

    static func encode(_ message: some Encodable) -> [UInt8] {
        // Encoding our own enumerations of strings and numbers can't fail.
        let line = (try? JSONEncoder().encode(message)).map { [UInt8]($0) } ?? []
        return line + [UInt8(ascii: "\n")]
    }

    static func decode<Message: Decodable>(_ type: Message.Type, _ line: some Collection<UInt8>) -> Message? {
        try? JSONDecoder().decode(type, from: Data(line))
    }
}
