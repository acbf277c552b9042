import AppAttest
import Crypto
import Foundation

struct AttestedDevices {
    let attestations: AttestationVerifier
    let assertions = AssertionVerifier()

    init(of app: AppID, trustRoot: TrustRoot = .apple) {
        attestations = AttestationVerifier(trustRoot: trustRoot, policy: AttestationPolicy(apps: [app]))
    }

    /// Once for each device. Store its `publicKeyX963` and its `app` (as `app.description`) under its `keyID`, with a
    /// counter of 0.
    func register(_ attestation: [UInt8], keyID: [UInt8], challenge: [UInt8]) async throws -> VerifiedAttestation {
        try await attestations.verify(
            attestation: attestation, keyID: keyID, clientDataHash: Array(SHA256.hash(data: challenge)), at: Date())
    }

    /// For each request after that, with the key, the app (`AppID(text)`) and the counter that are stored under the key
    /// identifier of the request.
    ///
    /// - Returns: the new counter. Store it before you act on the request, if it is still above the stored one.
    func check(
        _ assertion: [UInt8], by publicKey: [UInt8], of app: AppID, challenge: [UInt8], after counter: UInt32
    ) throws -> UInt32 {
        try assertions.verify(
            assertion: assertion, clientDataHash: Array(SHA256.hash(data: challenge)),
            publicKeyX963: publicKey, app: app, previousCounter: counter
        ).counter
    }
}
