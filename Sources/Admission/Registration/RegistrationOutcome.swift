package import AppAttest
package import KeyStore

/// The outcome of a registration.
package enum RegistrationOutcome: Sendable {
    /// The key is durable.
    case registered(RegisteredKey)
    case refused(Refusal)
    /// The registration was already recorded in the audit log, but storing the key failed.
    case unstored(Refusal)
}

/// For the audit log.
package struct RegisteredKey: Sendable {
    package let id: KeyID
    package let app: AppID
    package let environment: AttestationEnvironment
    /// It was already registered, and has been fully verified again.
    package let wasKnown: Bool
    /// The client registered in the token dialect, in which it is answered.
    package internal(set) var isInTokenDialect = false
}
