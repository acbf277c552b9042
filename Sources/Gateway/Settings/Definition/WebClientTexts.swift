/// The operator's texts in the web client. The page escapes them; here they are only kept short and in one line.
package enum WebClientTexts {
    package static let titleBytes = 100
    package static let noTicketBytes = 1_000

    static func title(_ text: String) throws(SettingProblem) -> String? { try line(text, titleBytes) }
    static func noTicket(_ text: String) throws(SettingProblem) -> String? { try line(text, noTicketBytes) }

    private static func line(_ text: String, _ maximumBytes: Int) throws(SettingProblem) -> String {
        guard text.utf8.count <= maximumBytes else {
            throw SettingProblem(problem: "is longer than \(maximumBytes) bytes", remedy: "Shorten it.")
        }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw SettingProblem(problem: "holds a control character", remedy: "Write plain text in one line.")
        }
        return text
    }
}
