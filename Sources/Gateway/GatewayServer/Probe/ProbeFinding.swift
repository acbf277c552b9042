import Observability

/// What a probe has found out about one thing that the settings name.
package struct ProbeFinding: Sendable, CustomStringConvertible {
    package enum Grade: Sendable {
        case ok
        /// It may be meant so.
        case attention
        case failed
    }

    package let grade: Grade
    /// The setting's name.
    package let setting: String
    package let text: String

    init(_ grade: Grade, _ setting: String, _ text: String) {
        (self.grade, self.setting, self.text) = (grade, setting, text)
    }

    /// Escaped: certificates and resolvers have their say in it.
    package var description: String { "\(grade): \(setting): \(EscapedText(text))" }
}
