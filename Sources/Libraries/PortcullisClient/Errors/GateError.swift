/// Everything that a call of this library can fail with.
///
/// Each error says what happened, whether to try again (``retry``), and what to tell the user (``userMessage``).
/// Refusals have the gate's ``code`` and ``requestId``: quote the latter to the gateway's operator, whose log has the
/// reason. No description contains a token, an assertion, a challenge or a nonce.
public enum GateError: Error, Sendable, Equatable {
    /// A value of the configuration or an argument is wrong. Only the app's developer can change that.
    case configuration(ConfigurationProblem)
    /// This device, or the simulator, has no App Attest.
    case appAttestUnsupported
    /// One of Apple's calls failed.
    case appAttest(AppAttestFailure)
    /// A passkey can't be made or used.
    case passkey(PasskeyFailure)
    /// The stored refresh token wasn't unlocked.
    case unlock(UnlockFailure)
    /// There is no access token of a player, and only a sign-in brings one: ``PlayerAccounts/signIn()``.
    case signInRequired
    /// The device key can't be made or used, perhaps only at the moment.
    case deviceKey(String)
    /// The keychain refused to read or write.
    case storage(String)
    /// The gate, or the service behind it, refused.
    case refused(Refusal)
    /// The device's clock differs from the server's by more than proofs allow.
    ///
    /// - Parameter seconds: by which the server's clock is ahead; nil if it couldn't be measured.
    case clockSkew(seconds: Double?, Refusal)
    /// The server couldn't be reached, or the connection broke.
    case network(NetworkProblem)
    /// Something didn't end within its time limit.
    case timedOut(TimedOperation)
    /// The server's answer breaks the protocol or a limit.
    case malformedAnswer(AnswerFault)
    /// The server tried to send the request to another address. It is never followed, because credentials would go
    /// along.
    case redirected(status: Int)
    /// The operation has failed three times within five minutes. It is tried again after that, or after `tryAgain()`.
    case circuitOpen(GateOperation, retryAfter: Double)
    /// The server asked to wait, or the last attempts failed for a passing reason.
    case mustWait(GateOperation, retryAfter: Double)
    /// The connection has ended, or was never opened.
    case notConnected
    /// An input is larger than the service accepts, or the queue of unconfirmed inputs is full.
    case inputRefused(InputProblem)
    case cancelled
}

/// What is wrong with a configuration or an argument.
public enum ConfigurationProblem: Error, Sendable, Equatable {
    /// `https://` with a host; `http://` only for this machine; no user, query or fragment.
    case invalidURL
    /// Exactly 10 letters and digits.
    case invalidTeamIdentifier
    case missingBundleIdentifier
    case invalidBundleIdentifier
    /// 1 to 4,096 visible ASCII characters.
    case invalidDevelopmentToken
    /// A path begins below the base URL, and has no `..`, no fragment and no control characters.
    case invalidPath
    /// A method has only capital letters.
    case invalidMethod
    /// A header field has a name of letters, digits and hyphens, and a value without control characters.
    case invalidHeader
    /// A pin is 32 bytes in base64.
    case invalidPin
    case invalidCertificate
    /// The platform has no transport: on Linux give one from PortcullisClientNIO.
    case missingTransport
    case invalidValue(String)
}

public enum NetworkProblem: Error, Sendable, Equatable {
    /// There is no network, or no route.
    case offline
    /// The name isn't known, nothing listens there, or the connection was refused.
    case unreachable
    case connectionLost
    /// The server's certificate isn't trusted.
    case untrustedServer
    /// The certificate is trusted, but its key is none of the pinned ones.
    case pinMismatch
    case tls
    /// Anything else, in the transport's words.
    case other(String)
}

public enum TimedOperation: String, Sendable, Equatable {
    case request, upgrade
    case generateKey, attestKey, generateAssertion
    case pong
}

/// How a server's answer breaks its form or a limit.
public enum AnswerFault: Error, Sendable, Equatable {
    case bodyTooLarge
    case notJSON
    case tooDeep
    /// A member is missing, or has another type.
    case member(String)
    /// A header field is too long, or has characters that it must not have.
    case header(String)
    case unexpectedStatus(Int)
    case webSocket(String)
}

public enum InputProblem: Error, Sendable, Equatable {
    case tooLarge
    case queueFull
    /// Only GMCP's own names of visible ASCII, and valid JSON.
    case malformed
    /// The dialect has no GMCP.
    case unsupported
}

/// The operations that have a circuit breaker of their own.
public enum GateOperation: String, Sendable, Equatable, CaseIterable {
    case registration
    case token
    case connection
    case signedRequest
    case unregistration
    case account
}
