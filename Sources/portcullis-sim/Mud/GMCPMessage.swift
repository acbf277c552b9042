import FoundationEssentials

/// A message of the Generic Mud Communication Protocol: `Package.Name`, a space, and JSON.
struct GMCPMessage: Hashable, Sendable {
    let bytes: [UInt8]

    /// JSON with its keys sorted, so that equal things are equal bytes. A value that has no JSON form makes no message.
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

/// `Core.Hello`: from the client with its own name, from us with the server's.
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
    /// Breath: walking takes it, water gives it back.
    var mv: Int
    var maxmv: Int
}

/// `Room.Info`
struct RoomInfo: Encodable, Hashable, Sendable {
    let num: Int
    let name: String
    let area: String
    /// By the short name of the direction, the number of the room there.
    let exits: [String: Int]
}
