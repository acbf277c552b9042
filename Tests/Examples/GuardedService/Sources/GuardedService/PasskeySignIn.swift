import Foundation
import WebAuthn

struct PasskeySignIn {
    let registrations: RegistrationVerifier
    let authentications: AuthenticationVerifier

    /// - Parameter origins: of the pages, and of the apps.
    init(domain: String, origins: [String]) {
        let relyingParty = RelyingParty(id: domain, origins: origins)
        registrations = RegistrationVerifier(relyingParty: relyingParty)
        authentications = AuthenticationVerifier(relyingParty: relyingParty)
    }

    /// Once for each passkey. Store the record with the account, unless an account has a passkey with this identifier.
    func register(_ response: RegistrationResponse, challenge: [UInt8]) async throws -> CredentialRecord {
        try await registrations.verify(response, challenge: challenge, at: Date()).record
    }

    /// For each sign-in, with the stored record of the passkey that the client names. Store the new record before you
    /// act on the sign-in, if the stored counter is still the old one.
    func signIn(
        _ response: AuthenticationResponse, challenge: [UInt8], with record: CredentialRecord
    ) throws -> CredentialRecord {
        try authentications.verify(response, challenge: challenge, credential: record).record
    }
}
