import DeviceSimulation
import Foundation
import Testing
import WebAuthn

// Sources/Libraries/WebAuthn/WebAuthn.docc/WebAuthn.md contains this type unchanged; a test of the documentation
// compares the two.

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

@Suite("The guide's example of passkeys")
struct GuideExampleTests {
    @Test func `registers a passkey and signs in with it`() async throws {
        let service = PasskeySignIn(domain: "example.org", origins: ["https://example.org"])
        let (first, second) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
        var passkey = SimulatedPasskey(.es256(), countsSignatures: true)
        func request(_ challenge: [UInt8]) -> PasskeyRequest {
            PasskeyRequest(rpID: "example.org", origin: "https://example.org", challenge: challenge)
        }

        let made = try passkey.registration(
            request(first), .none, by: SimulatedVendor(at: Date()), at: Date())
        let record = try await service.register(
            RegistrationResponse(clientDataJSON: made.clientDataJSON, attestationObject: made.attestationObject),
            challenge: first)
        let signed = try passkey.authentication(request(second))
        let response = AuthenticationResponse(
            clientDataJSON: signed.clientDataJSON, authenticatorData: signed.authenticatorData,
            signature: signed.signature)
        let next = try service.signIn(response, challenge: second, with: record)
        #expect(next.signCount == 1)
        #expect(throws: CeremonyError.counterNotHigher(received: 1, previous: 1)) {
            try service.signIn(response, challenge: second, with: next)
        }
        #expect(throws: CeremonyError.challengeMismatch) {
            try service.signIn(response, challenge: first, with: record)
        }
    }
}
