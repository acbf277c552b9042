import DeviceSimulation
import FoundationEssentials
import Testing
import WebAuthn
import X509

/// A relying party, a vendor of authenticators, and a user's browser.
struct PasskeyStage {
    /// 2026-05-01T00:00:00Z.
    static let time = Date(timeIntervalSince1970: 1_777_593_600)
    static let challenge = [UInt8](repeating: 0xFB, count: 32)
    static let otherChallenge = [UInt8](repeating: 0x3F, count: 32)
    static let request = PasskeyRequest(rpID: "mud.example", origin: "https://play.mud.example", challenge: challenge)
    static let relyingParty = RelyingParty(
        id: "mud.example", origins: ["https://mud.example", "https://play.mud.example"])
    /// Slow to make, so it is made once.
    static let rsaKey: SimulatedPasskeyKey = {
        do { return try .rs256() } catch { fatalError("no RSA key: \(error)") }
    }()
    static let keys: [SimulatedPasskeyKey] = [.es256(), .es384(), .edDSA(), rsaKey]
    static let formats: [SimulatedPasskey.Format] = [
        .none, .packedSelf, .packed, .apple, .androidKey, .fidoU2F, .other("tpm"),
    ]

    let vendor: SimulatedVendor
    var passkey: SimulatedPasskey

    init(_ key: SimulatedPasskeyKey = .es256(), countsSignatures: Bool = false) throws {
        vendor = try SimulatedVendor(at: Self.time)
        passkey = SimulatedPasskey(key, countsSignatures: countsSignatures)
    }

    /// - Parameter anchors: nil: the vendor's root, for every format.
    func registrationVerifier(
        _ attestation: AttestationRequirement = .none, relyingParty: RelyingParty = relyingParty,
        algorithms: [CredentialAlgorithm] = CredentialAlgorithm.allCases, requiresUserVerification: Bool = true,
        anchors: [AttestationFormat: [Certificate]]? = nil
    ) -> RegistrationVerifier {
        let roots = Dictionary(uniqueKeysWithValues: AttestationFormat.allCases.map { ($0, [vendor.root]) })
        return RegistrationVerifier(
            relyingParty: relyingParty,
            policy: RegistrationPolicy(
                algorithms: algorithms, requiresUserVerification: requiresUserVerification, attestation: attestation,
                anchors: anchors ?? roots))
    }

    func register(
        _ format: SimulatedPasskey.Format = .none, _ verifier: RegistrationVerifier? = nil,
        request: PasskeyRequest = request, at time: Date = time,
        changing change: (inout PasskeyRegistrationPlan) throws -> Void = { _ in }
    ) async throws -> VerifiedRegistration {
        let made = try passkey.registration(request, format, by: vendor, at: Self.time, changing: change)
        return try await (verifier ?? registrationVerifier()).verify(
            RegistrationResponse(clientDataJSON: made.clientDataJSON, attestationObject: made.attestationObject),
            challenge: Self.challenge, at: time)
    }

    mutating func signIn(
        _ record: CredentialRecord, _ verifier: AuthenticationVerifier = .init(relyingParty: relyingParty),
        request: PasskeyRequest = request,
        changing change: (inout PasskeyAuthenticationPlan) throws -> Void = { _ in }
    ) throws -> VerifiedAuthentication {
        try verifier.verify(
            try response(request, changing: change), challenge: Self.challenge, credential: record)
    }

    mutating func response(
        _ request: PasskeyRequest = request,
        changing change: (inout PasskeyAuthenticationPlan) throws -> Void = { _ in }
    ) throws -> AuthenticationResponse {
        let made = try passkey.authentication(request, changing: change)
        return AuthenticationResponse(
            clientDataJSON: made.clientDataJSON, authenticatorData: made.authenticatorData, signature: made.signature)
    }
}

extension CredentialRecord {
    /// The record with another counter or eligibility.
    func with(signCount: UInt32? = nil, isBackupEligible: Bool? = nil) -> CredentialRecord {
        CredentialRecord(
            id: id, publicKey: publicKey, signCount: signCount ?? self.signCount,
            isBackupEligible: isBackupEligible ?? self.isBackupEligible, isBackedUp: isBackedUp,
            isUserVerificationInitialized: isUserVerificationInitialized)
    }
}

/// A genuine ceremony with one change, and the refusal that it must have.
struct Forgery<Plan>: Sendable, CustomTestStringConvertible {
    let name: String
    let expected: CeremonyError
    let change: @Sendable (inout Plan) throws -> Void

    init(_ name: String, _ expected: CeremonyError, _ change: @escaping @Sendable (inout Plan) throws -> Void) {
        (self.name, self.expected, self.change) = (name, expected, change)
    }

    var testDescription: String { name }
}
