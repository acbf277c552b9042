import Foundation

/// An attacker's actions and usage: written by `portcullis-sim attack --save` and by the attackers in C (`Tests/Attackers`).
struct AttackerReport: Hashable, Codable, Sendable {
    /// From its first connection to its end.
    let seconds: Double
    /// CPU time in that period, of all its threads and children.
    let cpuSeconds: Double
    let connections, answered, refused: UInt64
    /// Excludes the overhead of TCP and IP.
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
