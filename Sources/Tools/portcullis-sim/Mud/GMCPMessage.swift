import FoundationEssentials

/// A message of the Generic Mud Communication Protocol: `Package.Name`, a space, and JSON.
struct GMCPMessage: Hashable, Sendable {
    let bytes: [UInt8]

    /// JSON with sorted keys, so that equal values have equal bytes. nil for a value without a JSON form.
    init?(_ package: String, _ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(value) else { return nil }
        bytes = Array(package.utf8) + [UInt8(ascii: " ")] + json
    }

    private init(package: String) {
        bytes = Array(package.utf8)
    }

    static let ping = GMCPMessage(package: "Core.Ping")
}

/// `Core.Hello`: the client sends its own name, the MUD the server's.
struct CoreHello: Codable, Hashable, Sendable {
    var client: String?
    var server: String?
    var version: String?
}

/// `Char.Vitals`
struct Vitals: Encodable, Hashable, Sendable {
    static let full = Vitals(hp: 100, maxhp: 100, mv: 20, maxmv: 20)

    var hp: Int
    var maxhp: Int
    /// Breath: walking costs some, water restores it.
    var mv: Int
    var maxmv: Int
}

/// `Room.Info`
struct RoomInfo: Encodable, Hashable, Sendable {
    let num: Int
    let name: String
    let area: String
    /// The room's number by the short name of the direction.
    let exits: [String: Int]
}
