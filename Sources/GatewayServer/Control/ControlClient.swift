import Glibc
import Reactors

/// Sends requests of the command line to the running gateway. Blocking.
package struct ControlClient {
    private let path: String
    private static let maximumAnswerBytes = 1_048_576

    package init(path: String) {
        self.path = path
    }

    /// - Returns: nil if no gateway answers.
    package func ask(_ request: ControlRequest, secondsToWait: Int = 10) -> ControlAnswer? {
        let answer = LocalSocket.exchange(
            path, ControlLine.encode(request), maximumAnswer: Self.maximumAnswerBytes, secondsToWait: secondsToWait)
        guard let line = answer else {
            return nil
        }
        return ControlLine.decode(ControlAnswer.self, line)
    }

    /// Whether the gateway notices within some seconds that a key is revoked; nil if no gateway answers.
    package func awaitNotice(ofRevoking keyID: String) -> Bool? {
        awaitNotice(.hasNoticedRevocation(keyID))
    }

    /// The same for a key that signs access tokens.
    package func awaitNotice(ofRevokingSigningKey keyID: String) -> Bool? {
        awaitNotice(.hasNoticedSigningKeyRevocation(keyID))
    }

    /// The same for a development token.
    package func awaitNotice(ofRevokingDevelopmentToken id: String) -> Bool? {
        awaitNotice(.hasNoticedDevelopmentTokenRevocation(id))
    }

    private func awaitNotice(_ question: ControlRequest) -> Bool? {
        for _ in 0..<Self.noticeAttempts {
            guard case .revocation(let isNoticed) = ask(question) else { return nil }
            if isNoticed { return true }
            usleep(Self.noticeMicroseconds)
        }
        return false
    }

    private static let noticeAttempts = 30
    private static let noticeMicroseconds: UInt32 = 100_000
}
