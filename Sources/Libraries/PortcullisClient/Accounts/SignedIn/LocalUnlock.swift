public import Foundation

/// Unlocks the stored refresh token on this device.
///
/// The token is sealed under a key that is derived from two things: a secret that only this device's hardware computes,
/// and the player's PIN if there is one. Neither the PIN nor a hash of it is stored or sent.
public protocol LocalUnlock: Sendable {
    /// Makes a wrapping key.
    ///
    /// - Returns: what brings it back. It is stored beside the token, and is of no use on any other device.
    func makeKey() async throws -> Data

    /// What the wrapping key yields for a salt: always the same 32 bytes. A key that is bound to biometrics asks for
    /// them here.
    ///
    /// - Throws: ``UnlockFailure``
    func secret(of restoration: Data, salt: Data) async throws -> Data

    /// Asks the player for the PIN.
    ///
    /// - Parameter attemptsLeft: before the token is cleared; nil: the player chooses a new PIN.
    /// - Returns: nil where biometrics are enough.
    /// - Throws: ``UnlockFailure``
    func pin(attemptsLeft: Int?) async throws -> String?
}

/// Why the stored refresh token couldn't be unlocked.
public enum UnlockFailure: Error, Sendable, Equatable {
    /// The player has closed the dialog. The token is kept.
    case cancelled
    /// The PIN was wrong. At zero the token has been cleared.
    case wrongPIN(attemptsLeft: Int)
    /// The wrapping key never comes back. The token has been cleared.
    case keyGone
    /// The PIN has fewer than 4 or more than 64 bytes.
    case unusablePIN
}

/// No refresh token is stored: players sign in again when the access token has ended.
public struct NoLocalUnlock: LocalUnlock {
    public init() {}

    public func makeKey() async throws -> Data { throw UnlockFailure.keyGone }

    public func secret(of restoration: Data, salt: Data) async throws -> Data { throw UnlockFailure.keyGone }

    public func pin(attemptsLeft: Int?) async throws -> String? { nil }
}
