import FoundationEssentials
import SwiftASN1
import Testing
import WebAuthn
import X509

/// Every pair of the specification's test vectors, with the outcome that this library gives it.
@Suite(
    "The vectors of Web Authentication Level 3", .enabled(if: Vectors.specification != nil, "\(Vectors.skipReason)"))
struct SpecificationVectorTests {
    /// Credentials of other algorithms.
    static let otherAlgorithms: [String: Int64] = ["packed-es512": -36, "packed-ed448": -53]
    /// Ceremonies in a frame.
    static let framed: Set = ["none-es256-crossOrigin", "none-es256-topOrigin"]
    /// The certificates' validity begins in 2024.
    static let time = Date(timeIntervalSince1970: 1_800_000_000)

    static var file: SpecificationFile {
        get throws { try #require(Vectors.specification) }
    }

    private func relyingParty(framed: Bool = true) throws -> RelyingParty {
        let file = try Self.file
        return RelyingParty(id: file.rpId, origins: [file.origin], topOrigins: framed ? [file.topOrigin] : [])
    }

    private func verifier(
        _ attestation: AttestationRequirement, framed: Bool = true
    ) throws -> RegistrationVerifier {
        let root = try Certificate(derEncoded: Self.file.attestationRoot.attestationCaCert.bytes)
        let anchors = Dictionary(uniqueKeysWithValues: AttestationFormat.allCases.map { ($0, [root]) })
        return RegistrationVerifier(
            relyingParty: try relyingParty(framed: framed),
            policy: RegistrationPolicy(
                requiresUserVerification: false, attestation: attestation, anchors: anchors))
    }

    private func register(
        _ vector: SpecificationFile.Vector, _ attestation: AttestationRequirement = .none, framed: Bool = true
    ) async throws -> VerifiedRegistration {
        try await verifier(attestation, framed: framed).verify(
            RegistrationResponse(
                clientDataJSON: vector.registration.clientDataJSON.bytes,
                attestationObject: vector.registration.attestationObject.bytes),
            challenge: vector.registration.challenge.bytes, at: Self.time)
    }

    private func signIn(
        _ vector: SpecificationFile.Vector, _ record: CredentialRecord, framed: Bool = true
    ) throws -> VerifiedAuthentication {
        try AuthenticationVerifier(relyingParty: relyingParty(framed: framed), requiresUserVerification: false).verify(
            AuthenticationResponse(
                clientDataJSON: vector.authentication.clientDataJSON.bytes,
                authenticatorData: vector.authentication.authenticatorData.bytes,
                signature: vector.authentication.signature.bytes),
            challenge: vector.authentication.challenge.bytes, credential: record)
    }

    /// What the registration proves about its authenticator. The root has signed all certificates.
    private func isExpected(_ attestation: CredentialAttestation, of name: String) -> Bool {
        switch (name, attestation) {
        case ("packed-self-es256", .selfSigned), ("tpm-es256", .unverified): true
        // Its key description has empty lists: nothing says that the key is in hardware.
        case ("android-key-es256", .untrusted(.androidKey, .keyNotInHardware)): true
        case ("apple-es256", .trusted(.apple, _)), ("fido-u2f-es256", .trusted(.fidoU2F, _)): true
        case (_, .trusted(.packed, _)): name.hasPrefix("packed-")
        case (_, .none): name.hasPrefix("none-")
        default: false
        }
    }

    @Test func `the file has the documented 15 pairs`() throws {
        #expect(try Self.file.vectors.count == 15)
    }

    @Test(arguments: Vectors.specification?.vectors ?? [])
    func `every pair registers and signs in, or is of an algorithm that isn't offered`(
        vector: SpecificationFile.Vector
    ) async throws {
        if let algorithm = Self.otherAlgorithms[vector.name] {
            await #expect(throws: CeremonyError.algorithmNotAllowed(algorithm)) { try await register(vector) }
            return
        }
        let registration = try await register(vector)
        #expect(registration.record.id == vector.registration.credentialId.bytes)
        #expect(registration.aaguid == vector.registration.aaguid.bytes)
        #expect(isExpected(registration.attestation, of: vector.name), "\(registration.attestation)")
        let authentication = try signIn(vector, registration.record)
        #expect(authentication.origin == "https://example.org")
        #expect(!authentication.isBackupEligibilityChanged)
    }

    @Test(arguments: Vectors.specification?.vectors ?? [])
    func `with attestation required, only those register that lead to the root`(
        vector: SpecificationFile.Vector
    ) async throws {
        guard Self.otherAlgorithms[vector.name] == nil else { return }
        let attestation = try await register(vector).attestation
        guard let fault = attestation.fault else {
            #expect(try await register(vector, .required).attestation == attestation)
            return
        }
        await #expect(throws: CeremonyError.attestationNotTrusted(fault)) { try await register(vector, .required) }
    }

    @Test(arguments: Vectors.specification?.vectors ?? [])
    func `only a relying party that expects frames accepts a ceremony in one`(
        vector: SpecificationFile.Vector
    ) async throws {
        guard Self.otherAlgorithms[vector.name] == nil else { return }
        let record = try await register(vector).record
        if Self.framed.contains(vector.name) {
            await #expect(throws: CeremonyError.crossOriginNotAllowed) { try await register(vector, framed: false) }
            #expect(throws: CeremonyError.crossOriginNotAllowed) { try signIn(vector, record, framed: false) }
        } else {
            _ = try await register(vector, framed: false)
            _ = try signIn(vector, record, framed: false)
        }
    }
}
