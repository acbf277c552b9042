/// Whether a player is signed in.
public enum AuthenticationState: Sendable, Equatable {
    /// There is an access token, or a refresh token that brings one, perhaps after an unlock.
    case authenticated
    case needsSignIn(SignInReason)
}

/// Why a player has to sign in.
public enum SignInReason: String, Sendable, Equatable, Codable {
    /// Nobody has signed in on this device, or nothing was stored.
    case notSignedIn
    case loggedOut
    /// The gate refuses the refresh token: it has expired, was revoked, or was used by somebody else.
    case ended
    case tooManyWrongPINs
    /// The wrapping key has gone, as after a restored backup or a change of the biometrics.
    case unlockLost
}
