import Crypto
import FoundationEssentials
import SwiftASN1
import WebAuthn
import X509

/// The public keys of a simulated vendor and of a passkey. The private keys were discarded. What they signed is in the
/// corpus.
enum PasskeySample {
    static let time = Date(timeIntervalSince1970: 1_777_593_600)
    static let challenge = [UInt8](repeating: 0xC5, count: 32)
    static let relyingParty = RelyingParty(id: "mud.example", origins: ["https://play.mud.example"])
    static let registrationClientData = Array(
        """
        {"type":"webauthn.create","challenge":"xcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcXFxcU","origin":"https://play.mud.example","crossOrigin":false}
        """.utf8)

    static let record: CredentialRecord = {
        let cose = bytes(
            "pQECAyYgASFYIEGrFCVkU/bApEIF0yW+LN8SeegVuiXeAtBNO16dRMROIlggEkYx2P8l0r/A0tu8PToqg94NG0Tzvcr9kr6wXNtISf4=")
        guard let publicKey = try? CredentialPublicKey(cose: cose) else { fatalError("it is a key") }
        return CredentialRecord(
            id: bytes("awQ8iI6T7zVfWe1mBQNcaa8J1sussZvLPaTnKlrKu/I="), publicKey: publicKey, signCount: 0,
            isBackupEligible: true, isBackedUp: true, isUserVerificationInitialized: true)
    }()
    /// Of the authentication in the corpus.
    static let signature = bytes(
        "MEUCIQCB0hqCQCE/M4WakQgwpovWuJf+EOP7V2U9ba+T2olTCwIgI0tMipt+osbW+mlmNT3XqXKqRuxR87ArIjMCvXkkzKs=")
    static let signedBytes = bytes(
        "fyric1gZ0r84ElV/Y9yRdnZTV616QKX6VSLPpzNTo/gdAAAAAWB0EcDsc688lYsifF1xJAkDboupMqyCd5ENkT3YKJHz")

    static let registrations: RegistrationVerifier = {
        guard let root = try? Certificate(derEncoded: bytes(rootDER)) else { fatalError("it is a certificate") }
        return RegistrationVerifier(
            relyingParty: relyingParty,
            policy: RegistrationPolicy(
                attestation: .required,
                anchors: Dictionary(uniqueKeysWithValues: AttestationFormat.allCases.map { ($0, [root]) })))
    }()
    static let authentications = AuthenticationVerifier(relyingParty: relyingParty)

    static func hash(_ clientData: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: clientData)) }

    private static let rootDER = """
        MIIBpzCCAU2gAwIBAgIUMO9BLyFG29fa1AL0yquk3PV8XhYwCgYIKoZIzj0EAwIwQDEeMBwGA1UECgwVUG9ydGN1bGxpcyBTaW11bGF0aW9u\
        MR4wHAYDVQQDDBVTaW11bGF0ZWQgVmVuZG9yIFJvb3QwIBcNMjYwNDMwMDAwMDAwWhgPMjA1MTA0MjQwMDAwMDBaMEAxHjAcBgNVBAoMFVBv\
        cnRjdWxsaXMgU2ltdWxhdGlvbjEeMBwGA1UEAwwVU2ltdWxhdGVkIFZlbmRvciBSb290MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEMApZ\
        4HAG+brG7fxt0g7krwozoMltid82ORTnmaipdNlsC8fOlYxT82Twtw0lPG7cN/0gC4novvgH9gfO0EWPAKMjMCEwDwYDVR0TAQH/BAUwAwEB\
        /zAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZIzj0EAwIDSAAwRQIgNwUza7KzJURkWV6gCRZsTAcDqMhl9OIFfruMtvoogfwCIQCYnRYhnB4+qpBa\
        AlwsCmi0oTa23cGbAiA3ngQgqpgtBw==
        """

    private static func bytes(_ base64: String) -> [UInt8] { Data(base64Encoded: base64).map { [UInt8]($0) } ?? [] }
}
