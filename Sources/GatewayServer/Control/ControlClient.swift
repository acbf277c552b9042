import Reactors

/// Asks the running gateway, for the command line. Blocking.
package struct ControlClient {
    private let path: String
    private static let maximumAnswerBytes = 1_048_576

    package init(path: String) {
        self.path = path
    }

    /// - Returns: nil where no gateway answers.
    package func ask(_ request: ControlRequest, secondsToWait: Int = 10) -> ControlAnswer? {
        let answer = LocalSocket.exchange(
            path, ControlLine.encode(request), maximumAnswer: Self.maximumAnswerBytes, secondsToWait: secondsToWait)
        guard let line = answer else {
            return nil
        }
        return ControlLine.decode(ControlAnswer.self, line)
    }
}
