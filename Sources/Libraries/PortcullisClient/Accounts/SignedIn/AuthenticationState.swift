/// Whether a player is signed in, as far as this device knows.
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
    /// The refresh token's days are over.
    case expired
    /// The gate has refused the refresh token: it was revoked, or an older one was used by somebody else.
    case ended
    case tooManyWrongPINs
    /// The wrapping key has gone, as after a restored backup or a change of the biometrics.
    case unlockLost
    /// A refresh token is stored, but the app has no ``ClientPlatform/unlock`` for it.
    case noUnlock
}
