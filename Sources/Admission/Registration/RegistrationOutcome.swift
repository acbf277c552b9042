package import AppAttest
package import KeyStore

/// What became of a registration.
package enum RegistrationOutcome: Sendable {
    /// The key is durable.
    case registered(RegisteredKey)
    case refused(Refusal)
    /// The key was about to be stored, which is written down already, and storing it failed.
    case unstored(Refusal)
}

/// For the audit log.
package struct RegisteredKey: Sendable {
    package let id: KeyID
    package let app: AppID
    package let environment: AttestationEnvironment
    /// It was registered before, and has been verified in full again.
    package let wasKnown: Bool
}
