import FoundationEssentials
import Testing
import WebAuthn

/// Every real ceremony, with the outcome that this library gives it. There are no roots: no chain is trusted.
@Suite("Real ceremonies", .enabled(if: Vectors.real != nil, "\(Vectors.skipReason)"))
struct RealVectorTests {
    static let time = Date(timeIntervalSince1970: 1_777_593_600)

    private func register(
        _ vector: RealFile.Registration, challenge: [UInt8]? = nil, rpID: String? = nil, origin: String? = nil,
        clientData: [UInt8]? = nil, _ attestation: AttestationRequirement = .none
    ) async throws -> VerifiedRegistration {
        let verifier = RegistrationVerifier(
            relyingParty: RelyingParty(id: rpID ?? vector.rpId, origins: [origin ?? vector.origin]),
            policy: RegistrationPolicy(requiresUserVerification: false, attestation: attestation))
        return try await verifier.verify(
            RegistrationResponse(
                clientDataJSON: clientData ?? vector.clientDataJSON.bytes,
                attestationObject: vector.attestationObject.bytes),
            challenge: challenge ?? vector.challengeB64url.bytes, at: Self.time)
    }

    /// The refusal of a ceremony that isn't accepted.
    static func refusal(of vector: RealFile.Registration) -> CeremonyError? {
        // ML-DSA, and RSA with SHA-1.
        if ![-7, -8, -257].contains(vector.alg) { return .algorithmNotAllowed(vector.alg) }
        // An old client announced three entries of the key and wrote four, with texts for numbers.
        if vector.fmt == "none", vector.alg == -8 { return .malformedAuthenticatorData(.trailingBytes) }
        // Certificates of another model: both are in tests that a server refuses them.
        let ofOtherModel = ["eKSmfhLUwwmJpuD2IKaT", "U2FsdGVkX1_TltrAMvHm"]
        if ofOtherModel.contains(where: vector.credentialId.text.hasPrefix) {
            return .attestationStatement(.aaguidMismatch)
        }
        return nil
    }

    static func isExpected(_ attestation: CredentialAttestation, of vector: RealFile.Registration) -> Bool {
        switch (vector.fmt, attestation) {
        case ("none", .none), ("packed", .selfSigned), ("packed", .untrusted(.packed, .noAnchor)),
            ("tpm", .unverified), ("android-safetynet", .unverified), ("apple", .untrusted(.apple, .noAnchor)),
            ("android-key", .untrusted(.androidKey, .noAnchor)), ("fido-u2f", .untrusted(.fidoU2F, .noAnchor)):
            true
        default: false
        }
    }

    @Test func `the file has the documented 92 registrations and 25 authentications`() throws {
        let file = try #require(Vectors.real)
        #expect(file.registrations.count == 92 && file.authentications.count == 25)
        #expect(file.registrations.filter { Self.refusal(of: $0) == nil }.count == 83)
    }

    @Test(arguments: Vectors.real?.registrations ?? [])
    func `every registration verifies, or is refused for its key or its certificate`(vector: RealFile.Registration)
        async throws
    {
        if let refusal = Self.refusal(of: vector) {
            await #expect(throws: refusal) { try await register(vector) }
            return
        }
        let registration = try await register(vector)
        #expect(registration.record.id == vector.credentialId.bytes)
        #expect(registration.record.publicKey.cose == vector.publicKeyCose.bytes)
        #expect(registration.record.publicKey.algorithm.rawValue == vector.alg)
        #expect(registration.record.isBackupEligible == vector.backupEligible)
        #expect(registration.isUserVerified == ["45", "c5", "5d"].contains(vector.flags))
        #expect(Self.isExpected(registration.attestation, of: vector), "\(registration.attestation)")
        let fault = try #require(registration.attestation.fault)
        await #expect(throws: CeremonyError.attestationNotTrusted(fault)) {
            try await register(vector, .required)
        }
    }

    @Test(arguments: Vectors.real?.registrations ?? [])
    func `a registration is valid only for its challenge, origin and relying party`(
        vector: RealFile.Registration
    ) async throws {
        guard Self.refusal(of: vector) == nil else { return }
        var challenge = vector.challengeB64url.bytes
        challenge[0] ^= 1
        await #expect(throws: CeremonyError.challengeMismatch) { try await register(vector, challenge: challenge) }
        await #expect(throws: CeremonyError.originNotAllowed) {
            try await register(vector, origin: vector.origin + "/")
        }
        await #expect(throws: CeremonyError.rpIDHashMismatch) { try await register(vector, rpID: vector.rpId + "x") }
        await #expect(throws: CeremonyError.typeMismatch) {
            try await register(
                vector, clientData: vector.clientDataJSON.bytes.replacing("webauthn.create", with: "webauthn.get"))
        }
    }

    /// The same client data, written with one space more, has another hash.
    @Test(arguments: Vectors.real?.registrations ?? [])
    func `an attestation vouches for its client data, where it signs it`(vector: RealFile.Registration) async throws {
        guard Self.refusal(of: vector) == nil else { return }
        let spaced = vector.clientDataJSON.bytes + [UInt8(ascii: " ")]
        guard vector.boundBySignature else {
            _ = try await register(vector, clientData: spaced)
            return
        }
        let fault: StatementFault = vector.fmt == "apple" ? .nonceMismatch : .signatureMismatch
        await #expect(throws: CeremonyError.attestationStatement(fault)) {
            try await register(vector, clientData: spaced)
        }
    }

    private func signIn(
        _ vector: RealFile.Authentication, challenge: [UInt8]? = nil, previous: UInt32 = 0, clientData: [UInt8]? = nil
    ) throws -> VerifiedAuthentication {
        let record = CredentialRecord(
            id: [1], publicKey: try CredentialPublicKey(cose: vector.publicKeyCose.bytes), signCount: previous,
            isBackupEligible: vector.backupEligible, isBackedUp: false, isUserVerificationInitialized: false)
        return try AuthenticationVerifier(
            relyingParty: RelyingParty(id: vector.rpId, origins: [vector.origin]), requiresUserVerification: false
        ).verify(
            AuthenticationResponse(
                clientDataJSON: clientData ?? vector.clientDataJSON.bytes,
                authenticatorData: vector.authenticatorData.bytes, signature: vector.signature.bytes),
            challenge: challenge ?? vector.challengeB64url.bytes, credential: record)
    }

    @Test(arguments: Vectors.real?.authentications ?? [])
    func `every authentication verifies`(vector: RealFile.Authentication) throws {
        let authentication = try signIn(vector)
        #expect(authentication.record.signCount == vector.counter)
        #expect(authentication.record.isBackupEligible == vector.backupEligible)
        #expect(authentication.isUserVerified == ["05", "1d", "45"].contains(vector.flags))
        #expect(!authentication.isBackupEligibilityChanged)
    }

    @Test(arguments: Vectors.real?.authentications ?? [])
    func `an authentication is valid only for its challenge and client data, and its counter must grow`(
        vector: RealFile.Authentication
    ) throws {
        #expect(throws: CeremonyError.challengeMismatch) { try signIn(vector, challenge: [1]) }
        #expect(throws: CeremonyError.signatureMismatch) {
            try signIn(vector, clientData: vector.clientDataJSON.bytes + [0x0A])
        }
        let refusal = CeremonyError.counterNotHigher(received: vector.counter, previous: max(vector.counter, 1))
        #expect(throws: refusal) { try signIn(vector, previous: max(vector.counter, 1)) }
    }
}

extension [UInt8] {
    fileprivate func replacing(_ text: String, with other: String) -> [UInt8] {
        Array(String(decoding: self, as: UTF8.self).replacing(text, with: other).utf8)
    }
}
