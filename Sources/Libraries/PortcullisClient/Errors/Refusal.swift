/// A refusal, as the gate has answered it.
public struct Refusal: Sendable, Equatable {
    /// The most that is kept of a text of the server.
    static let maximumTextBytes = 512
    /// Of a code and a request id: a challenge or a token that a server repeats there is longer.
    static let maximumCodeBytes = RefusalReader.longestWord

    public let status: Int
    /// Stable: apps may branch on it. Empty if the answer isn't the gate's own.
    public let code: String
    /// For people, in the gate's words.
    public let message: String
    /// Names this refusal in the gateway's logs.
    public let requestId: String?
    /// Seconds that the server wants the client to wait, at most an hour.
    public let retryAfter: Double?

    public init(
        status: Int, code: String = "", message: String = "", requestId: String? = nil, retryAfter: Double? = nil
    ) {
        (self.status, self.code, self.message) = (status, code, message)
        (self.requestId, self.retryAfter) = (requestId, retryAfter)
    }

    /// What the library does about it by itself, and what is left for the app.
    public var reaction: Reaction { RecoveryTable.reaction(to: self) }
}

/// What a client does about a refusal. ``RecoveryTable`` has the reaction to each code.
public enum Reaction: String, Sendable, Equatable, CaseIterable {
    /// Make a new App Attest key, register it, and try again, once.
    case newKey = "new key"
    /// Get or use a fresh challenge, and try again, once.
    case newChallenge = "new challenge"
    /// Get a new access token, and try again, once.
    case newToken = "new token"
    /// Put the server's nonce into a new proof, and try again, once.
    case useNonce = "use nonce"
    /// Wait for `Retry-After`, or back off, and try again.
    case wait
    /// Begin a new session instead of resuming the old one.
    case newSession = "new session"
    /// Tell the user to set the device's clock.
    case setClock = "set clock"
    /// The user or the app has to supply other credentials: a secret, a ticket, a certificate, a development token, a
    /// passkey.
    case otherCredentials = "other credentials"
    /// The operator has excluded this client. Trying again doesn't help.
    case giveUp = "give up"
    /// The app or the gateway is configured wrongly. Trying again doesn't help.
    case fixConfiguration = "fix configuration"
}

/// What an app should do after an error.
public enum RetryAdvice: Sendable, Equatable {
    /// Not without a change.
    case never
    /// At once, because the next attempt does something else.
    case now
    /// After this many seconds.
    case after(Double)
    /// After the user has done something: the text of ``GateError/userMessage``.
    case afterUserAction
}
