/// Why the refresh token couldn't be stored or unlocked.
public enum UnlockFailure: Error, Sendable, Equatable {
    /// This device, or this platform's ``ClientPlatform/unlock``, has nothing to unlock with.
    case unsupported
    /// The player has closed the dialog. The token is kept.
    case cancelled
    /// The PIN was wrong. At zero the token has been cleared.
    case wrongPIN(attemptsLeft: Int)
    /// The PIN has fewer than 4 or more than 64 bytes. It isn't counted as a wrong one.
    case unusablePIN
    /// The wrapping key never comes back. The token has been cleared.
    case keyGone
    /// Any other error, with its code. The token is kept.
    case other(Int)

    /// - Parameters:
    ///   - domain: of the error.
    ///   - own: `LAError`'s.
    init(domain: String, code: Int, own: String) {
        if DeviceKeyGone(domain: domain, code: code) != nil {
            self = .keyGone
            return
        }
        self =
            switch (domain.isSame(as: own), code) {
            // The user, the system or the app has closed the dialog, or the user wants another way.
            case (true, -2), (true, -3), (true, -4), (true, -9): .cancelled
            // No passcode, no biometrics, none enrolled. They may come back, and then the key says whether it is gone.
            case (true, -5), (true, -6), (true, -7): .unsupported
            default: .other(code)
            }
    }

    var userMessage: String {
        switch self {
        case .unsupported: "This device can't keep you signed in. Set up its passcode and biometrics."
        case .cancelled: "The sign-in wasn't unlocked."
        case .wrongPIN(let left) where left > 0: "The PIN is wrong. Attempts left: \(left)."
        case .unusablePIN: "A PIN has 4 to 64 characters."
        case .wrongPIN, .keyGone: "Please sign in again."
        case .other: "The sign-in couldn't be unlocked. Please try again."
        }
    }
}
