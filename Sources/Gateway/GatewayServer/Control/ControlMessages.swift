import FoundationEssentials
import Glibc
import Reactors
package import Settings

/// A tool's request to the running gateway: one line of JSON over the control socket.
package enum ControlRequest: Codable, Sendable, Equatable {
    /// Requests a ticket that admits its bearer `uses` times, for `seconds`.
    case ticket(seconds: Int, uses: Int)
    /// Requests a ticket that proves an account once, for `seconds`. Programs of before don't understand it.
    case accountTicket(seconds: Int, account: String)
    /// Requests that the settings and their files are read again.
    case reload
    /// Asks whether the gateway has noticed that a key is revoked, by the key's identifier.
    case hasNoticedRevocation(String)
    /// The same for a key that signs access tokens.
    case hasNoticedSigningKeyRevocation(String)
    /// The same for a development token.
    case hasNoticedDevelopmentTokenRevocation(String)
    /// The same for the end of an account.
    case hasNoticedEnd(ofAccount: String)
    /// Requests that a new process takes over.
    ///
    /// - Parameter program: nil: the one that the gateway was started with.
    case upgrade(program: String?)
    /// Asks about sessions and figures, or closes sessions.
    case inspect(InspectionRequest)
}

/// The gateway's answer: one line of JSON, then the end of the connection.
package enum ControlAnswer: Codable, Sendable, Equatable {
    /// - Parameter page: the web client's address with the ticket in its fragment; nil while the web client is off.
    case ticket(String, page: String?)
    /// The changes in effect, and those that need a restart.
    case reloaded(changed: [ReloadDifference.Line], needingRestart: [ReloadDifference.Line])
    /// All errors of the new settings; the old ones stay in effect.
    case notReloaded(errors: [String])
    case revocation(isNoticed: Bool)
    case upgraded(CopyoverReport)
    case inspection(InspectionAnswer)
    case refused(reason: String)
}

/// One line in each direction (JSON contains no raw line feed).
enum ControlLine {
    /// A longer request ends the connection.
    static let maximumBytes = 4_096

    static func encode(_ message: some Encodable) -> [UInt8] {
        // Encoding our own enumerations of strings and numbers can't fail.
        let line = (try? JSONEncoder().encode(message)).map { [UInt8]($0) } ?? []
        return line + [UInt8(ascii: "\n")]
    }

    static func decode<Message: Decodable>(_ type: Message.Type, _ line: some Collection<UInt8>) -> Message? {
        try? JSONDecoder().decode(type, from: Data(line))
    }
}

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

    /// The same for the end of an account.
    package func awaitNotice(ofEnding account: String) -> Bool? {
        awaitNotice(.hasNoticedEnd(ofAccount: account))
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
