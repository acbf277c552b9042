/// The length of a setting's text. Settings are read as `String`, whose comparisons normalise text that isn't ASCII:
/// that takes time in the order of the square of its length.
enum SettingText {
    /// Of text that isn't ASCII, with its name where it is a line of a file. ASCII may be longer.
    static let maximumBytes = 1_024

    static func isShort(_ text: some StringProtocol) -> Bool {
        text.utf8.count <= maximumBytes || text.utf8.allSatisfy { $0 < 0x80 }
    }

    static let problem = "is longer than \(maximumBytes) bytes, and isn't ASCII alone"
    static let remedy = "Shorten it, or write it in ASCII."
}
