/// Why a passkey couldn't be made or used.
public enum PasskeyFailure: Error, Sendable, Equatable {
    /// This system, or this platform's ``ClientPlatform/passkeys``, has none.
    case unsupported
    /// The user has closed the dialog, or has no passkey for this server.
    case cancelled
    /// The authenticator has a passkey of this account already.
    case known
    /// What the authenticator returned isn't a credential.
    case malformed
    /// Any other error, with its code.
    case other(Int)

    /// - Parameters:
    ///   - domain: of the error.
    ///   - own: `ASAuthorizationError`'s.
    init(domain: String, code: Int, own: String) {
        self =
            switch (domain.isSame(as: own), code) {
            case (true, 1_001): .cancelled
            case (true, 1_006): .known
            default: .other(code)
            }
    }

    var retry: RetryAdvice {
        switch self {
        case .unsupported, .malformed: .never
        case .cancelled, .known, .other: .afterUserAction
        }
    }

    var userMessage: String {
        switch self {
        case .unsupported: "This device has no passkeys."
        case .cancelled: "No passkey was chosen."
        case .known: "This device has a passkey of the account already."
        case .malformed, .other: "The passkey couldn't be used. Please try again."
        }
    }
}
