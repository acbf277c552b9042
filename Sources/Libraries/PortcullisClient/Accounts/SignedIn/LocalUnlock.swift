public import Foundation

/// Unlocks the stored refresh token on this device.
///
/// The token is sealed under a key that is derived from two things: a secret that only this device's hardware computes,
/// and the player's PIN if there is one. Neither the PIN nor a hash of it is stored or sent.
///
/// What these calls throw besides ``UnlockFailure/keyGone`` never clears the token.
public protocol LocalUnlock: Sendable {
    /// Makes a wrapping key.
    ///
    /// - Returns: what brings it back. It is stored beside the token, and is of no use on any other device.
    /// - Throws: ``UnlockFailure``
    func makeKey() async throws -> Data

    /// What the wrapping key yields for a salt: always the same 32 bytes. A key that is bound to biometrics asks for
    /// them here.
    ///
    /// - Throws: ``UnlockFailure``
    func secret(of restoration: Data, salt: Data) async throws -> Data

    /// Asks the player for the PIN, of 4 to 64 bytes in UTF-8.
    ///
    /// - Parameter attemptsLeft: before the token is cleared; nil: the player chooses a new PIN.
    /// - Returns: nil where biometrics are enough.
    /// - Throws: ``UnlockFailure``
    func pin(attemptsLeft: Int?) async throws -> String?
}

/// No refresh token is stored, and one that is stored already stays untouched: players sign in again when the access
/// token has ended.
public struct NoLocalUnlock: LocalUnlock {
    public init() {}

    public func makeKey() async throws -> Data { throw UnlockFailure.unsupported }

    public func secret(of restoration: Data, salt: Data) async throws -> Data { throw UnlockFailure.unsupported }

    public func pin(attemptsLeft: Int?) async throws -> String? { nil }
}
