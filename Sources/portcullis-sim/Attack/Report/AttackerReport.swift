import Foundation

/// What an attacker has done and used: `portcullis-sim attack --save` writes it, and so do the attackers in C (`Tests/Attackers`).
struct AttackerReport: Hashable, Codable, Sendable {
    /// From its first connection to its end.
    let seconds: Double
    /// In that time, of all its threads and children.
    let cpuSeconds: Double
    let connections, answered, refused: UInt64
    /// Without what TCP and IP add.
    let bytesSent, bytesReceived: UInt64

    var cores: Double { seconds > 0 ? cpuSeconds / seconds : 0 }
    var bytesPerSecond: Double { seconds > 0 ? Double(bytesSent) / seconds : 0 }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
