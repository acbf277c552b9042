import Reactors

/// Asks the running gateway, for the command line. Blocking.
package struct ControlClient {
    private let path: String

    package init(path: String) {
        self.path = path
    }

    /// - Returns: nil where no gateway answers.
    package func ask(_ request: ControlRequest) -> ControlAnswer? {
        guard let line = LocalSocket.exchange(path, ControlLine.encode(request), maximumAnswer: 65_536) else {
            return nil
        }
        return ControlLine.decode(ControlAnswer.self, line)
    }
}
