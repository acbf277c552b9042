/// Passkeys, as an app sees them. On Apple's systems this is `ApplePasskeys`.
///
/// Its calls show the system's dialog, so they take as long as the user does. The library makes one of them at a time.
public protocol PasskeyAuthenticator: Sendable {
    /// Makes a passkey, as `navigator.credentials.create()` does.
    ///
    /// - Throws: ``PasskeyFailure``
    func create(_ options: PasskeyCreationOptions) async throws -> PasskeyCredential

    /// Has the user choose a passkey, and signs with it, as `navigator.credentials.get()` does.
    ///
    /// - Throws: ``PasskeyFailure``
    func get(_ options: PasskeyRequestOptions) async throws -> PasskeyCredential
}

/// Where there are none.
public struct NoPasskeys: PasskeyAuthenticator {
    public init() {}

    public func create(_ options: PasskeyCreationOptions) async throws -> PasskeyCredential {
        throw PasskeyFailure.unsupported
    }

    public func get(_ options: PasskeyRequestOptions) async throws -> PasskeyCredential {
        throw PasskeyFailure.unsupported
    }
}
