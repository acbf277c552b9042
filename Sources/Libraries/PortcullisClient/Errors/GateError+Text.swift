public import Foundation

extension GateError: CustomStringConvertible {
    /// For logs. It has no secrets, and nothing of the server but its code, its words and its request id.
    public var description: String {
        switch self {
        case .configuration(let problem): "the configuration is wrong: \(problem)"
        case .appAttestUnsupported: "App Attest is not supported on this device"
        case .appAttest(let failure): "Apple's App Attest service failed: \(failure)"
        case .passkey(let failure): "the passkey can't be used: \(failure)"
        case .unlock(let failure): "the refresh token wasn't unlocked: \(failure)"
        case .signInRequired: "nobody has signed in, or the sign-in has ended"
        case .deviceKey(let reason): "the device key can't be used: \(reason)"
        case .storage(let reason): "the keychain failed: \(reason)"
        case .refused(let refusal): "the gate refused: \(refusal)"
        case .clockSkew(let seconds, let refusal):
            "the clock differs by \(seconds.map { "\(Int($0.rounded())) s" } ?? "too much"): \(refusal)"
        case .network(let problem): "the network failed: \(problem)"
        case .timedOut(let operation): "\(operation.rawValue) took too long"
        case .malformedAnswer(let fault): "the server's answer can't be used: \(fault)"
        case .redirected(let status): "the server redirected (\(status)), which is never followed"
        case .circuitOpen(let operation, let seconds):
            "\(operation.rawValue) has failed repeatedly; it is tried again in \(Int(seconds.rounded(.up))) s"
        case .mustWait(let operation, let seconds):
            "\(operation.rawValue) has to wait for \(Int(seconds.rounded(.up))) s"
        case .notConnected: "there is no connection"
        case .inputRefused(let problem): "the input isn't accepted: \(problem)"
        case .cancelled: "cancelled"
        }
    }
}

extension GateError: LocalizedError {
    /// The description: `localizedDescription` would hide everything otherwise. ``userMessage`` is for users.
    public var errorDescription: String? { description }
}

extension Refusal: CustomStringConvertible {
    public var description: String {
        let words = [code, message].filter { !$0.isEmpty }.joined(separator: ": ")
        return "\(status) \(words)" + (requestId.map { " (request \($0))" } ?? "")
    }
}

extension GateError {
    /// A sentence or two for the user, in English. Apps in other languages write their own, by case and ``code``.
    public var userMessage: String {
        switch self {
        case .appAttestUnsupported:
            "This device can't prove that the app is genuine. App Attest needs a real iPhone or iPad."
        case .appAttest(let failure): failure.userMessage
        case .passkey(let failure): failure.userMessage
        case .unlock(let failure): failure.userMessage
        case .signInRequired: "Please sign in."
        case .clockSkew: "The clock of this device is wrong. Set it in Settings, or let it be set automatically."
        case .refused(let refusal): Self.userMessage(for: refusal)
        case .network(.offline): "There is no Internet connection."
        case .network(.untrustedServer), .network(.pinMismatch), .network(.tls):
            "The server can't prove who it is. Don't continue on this network."
        case .network, .timedOut: "The server can't be reached at the moment. Please try again later."
        case .circuitOpen(_, let seconds), .mustWait(_, let seconds):
            "This has failed repeatedly. Please try again in \(Self.words(for: seconds))."
        case .configuration, .malformedAnswer, .redirected:
            "The app and the server don't understand each other. Please look for an update of the app."
        case .deviceKey, .storage: "The keychain of this device can't be used at the moment. Please try again."
        case .notConnected: "There is no connection."
        case .inputRefused(.queueFull): "Too much input is waiting for the connection."
        case .inputRefused: "The input is too long."
        case .cancelled: "Cancelled."
        }
    }

    private static func userMessage(for refusal: Refusal) -> String {
        if let row = accountMessages.first(where: { $0.code.isSame(as: refusal.code) }) { return row.message }
        return switch refusal.reaction {
        case .giveUp: "The server's operator has blocked this device."
        case .wait:
            refusal.retryAfter.map { "The server is busy. Please try again in \(words(for: $0))." }
                ?? "The server is busy. Please try again later."
        case .otherCredentials: "The server asks for other credentials."
        case .newSession: "The session has ended. Please connect again."
        case .setClock: "The clock of this device is wrong. Set it in Settings, or let it be set automatically."
        case .newKey, .newChallenge, .newToken, .useNonce: "The server didn't accept this device. Please try again."
        case .fixConfiguration:
            "The app and the server don't understand each other. Please look for an update of the app."
        }
    }

    /// What a player can do something about.
    private static let accountMessages: [(code: String, message: String)] = [
        ("unknown_credential", "The server doesn't know this passkey any more. Delete it, and use another one."),
        ("passkey_rejected", "The server didn't accept this passkey. Please try again."),
        ("fresh_passkey_required", "Please sign in with your passkey again."),
        ("sign_up_refused", "New accounts aren't made like this here."),
        ("passkey_taken", "This passkey has an account already."),
        ("too_many_passkeys", "The account has too many passkeys. Remove one first."),
        ("device_taken", "This device has another account already."),
        ("too_many_devices", "The account has too many devices. Remove one first."),
    ]

    private static func words(for seconds: Double) -> String {
        seconds <= 90 ? "\(max(1, Int(seconds.rounded(.up)))) seconds" : "\(Int((seconds / 60).rounded(.up))) minutes"
    }
}
