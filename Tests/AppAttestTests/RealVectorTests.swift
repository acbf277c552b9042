import AppAttest
import DeviceSimulation
import FoundationEssentials
import Testing

@Suite("Real attestations and assertions", .enabled(if: Vectors.areAvailable, "\(Vectors.skipReason)"))
struct RealVectorTests {
    @Test func `the file has the documented 44 attestations and 27 assertions`() {
        #expect(Vectors.attestations.count == 44)
        #expect(Vectors.assertions.count == 27)
    }

    @Test(arguments: Vectors.attestations)
    func `every attestation verifies`(vector: AttestationVector) async throws {
        let verified = try await vector.verify()
        #expect(verified.keyID == vector.keyID)
        #expect(verified.publicKeyX963 == vector.publicKeyX963)
        #expect(verified.app == vector.app)
        #expect(verified.environment == vector.environment)
        #expect(verified.trustRootFingerprint == TrustRoot.apple.fingerprint)
    }

    @Test(arguments: Vectors.assertions)
    func `every assertion verifies`(vector: AssertionVector) throws {
        #expect(try vector.verify().counter == vector.counter)
    }

    @Test(arguments: Vectors.attestations)
    func `an attestation is valid only for its team, bundle, environment and root`(vector: AttestationVector)
        async throws
    {
        var changed = vector
        changed.app = try #require(AppID(teamID: vector.app.teamID.replacingLast, bundleID: vector.app.bundleID))
        await #expect(throws: AttestationError.rpIDHashMismatch) { try await changed.verify() }

        changed = vector
        changed.app = try #require(AppID(teamID: vector.app.teamID, bundleID: vector.app.bundleID + "x"))
        await #expect(throws: AttestationError.rpIDHashMismatch) { try await changed.verify() }

        changed = vector
        changed.environment = vector.environment == .production ? .development : .production
        await #expect(throws: AttestationError.environmentNotAllowed(vector.environment)) {
            try await changed.verify()
        }

        let other = try SimulatedAuthority(at: vector.time).trustRoot
        await #expect(throws: AttestationError.untrustedChain) { try await vector.verify(other) }
    }

    @Test(arguments: Vectors.attestations)
    func `an attestation is valid only for its client data hash and key`(vector: AttestationVector) async {
        var changed = vector
        changed.clientDataHash[0] ^= 1
        await #expect(throws: AttestationError.nonceMismatch) { try await changed.verify() }

        changed = vector
        changed.keyID[31] ^= 1
        await #expect(throws: AttestationError.keyIDMismatch) { try await changed.verify() }

        changed = vector
        changed.keyID = []
        await #expect(throws: AttestationError.keyIDMismatch) { try await changed.verify() }
    }

    @Test(arguments: Vectors.attestations)
    func `an attestation is valid from its leaf's first second to its last`(vector: AttestationVector) async throws {
        var changed = vector
        for time in [vector.notBefore, vector.notAfter] {
            changed.time = time
            _ = try await changed.verify()
        }
        changed.time = vector.notBefore - 1
        await #expect(throws: AttestationError.certificateNotYetValid(.leaf)) { try await changed.verify() }
        changed.time = vector.notAfter + 1
        await #expect(throws: AttestationError.certificateExpired(.leaf)) { try await changed.verify() }
    }

    @Test(arguments: Vectors.assertions)
    func `an assertion is valid only for its app, client data hash, key and counter`(vector: AssertionVector) throws {
        var changed = vector
        changed.app = try #require(AppID(teamID: vector.app.teamID.replacingLast, bundleID: vector.app.bundleID))
        #expect(throws: AssertionError.rpIDHashMismatch) { try changed.verify() }

        changed = vector
        changed.app = try #require(AppID(teamID: vector.app.teamID, bundleID: vector.app.bundleID + "x"))
        #expect(throws: AssertionError.rpIDHashMismatch) { try changed.verify() }

        changed = vector
        changed.clientDataHash[31] ^= 1
        #expect(throws: AssertionError.signatureMismatch) { try changed.verify() }

        changed = vector
        changed.publicKeyX963 = try Simulation().device.publicKeyX963
        #expect(throws: AssertionError.signatureMismatch) { try changed.verify() }

        changed = vector
        changed.previousCounter = vector.counter
        let refusal = AssertionError.counterNotHigher(received: vector.counter, previous: vector.counter)
        #expect(throws: refusal) { try changed.verify() }
    }

    @Test func `extensions of iOS 27 and macOS 27 are read and may be required`() async throws {
        var seen: [String: UInt32] = [:]
        for vector in Vectors.attestations {
            seen[vector.os] = try await vector.verify().validationCategory
        }
        #expect(seen == ["iphoneos 27.0": 1, "macosx 27.0": 6, "macosx 27.2": 3])

        let guide = try #require(Vectors.attestations.first { $0.os == "iphoneos 27.0" })
        #expect(try await guide.verify().bundleVersion == "1")
        let macAssertion = try #require(Vectors.assertions.first { $0.os == "macosx 27.0" })
        #expect(try macAssertion.verify().validationCategory == 6)
    }

    @Test func `receipts are kept as received`() async throws {
        var kept = 0
        for vector in Vectors.attestations {
            let receipt = try await vector.verify().receipt
            kept += receipt.isEmpty ? 0 : 1
            #expect(try AttestationObject(vector.attestation).receipt == receipt)
        }
        #expect(kept == 42)
    }
}

extension String {
    /// The text with a different last character, still in the form of a team identifier.
    fileprivate var replacingLast: String { dropLast() + (last == "Z" ? "A" : "Z") }
}
