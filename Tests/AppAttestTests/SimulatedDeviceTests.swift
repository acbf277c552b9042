import AppAttest
import DeviceSimulation
import FoundationEssentials
import Testing

@Suite("Simulated devices, and the policies they meet")
struct SimulatedDeviceTests {
    @Test
    func `an attestation of a simulated device verifies, in every environment, with and without a map`() async throws {
        for environment in AttestationEnvironment.allCases {
            for extensions in [nil, SimulatedExtensions(validationCategory: 4, bundleVersion: "17")] {
                let simulation = try Simulation(.init(environment: environment, extensions: extensions))
                let verified = try await simulation.verifier(environments: [environment]).verify(
                    attestation: try simulation.attestation(), keyID: simulation.device.keyID,
                    clientDataHash: Simulation.clientDataHash, at: Simulation.time)
                #expect(verified.environment == environment)
                #expect(verified.publicKeyX963 == simulation.device.publicKeyX963)
                #expect(verified.validationCategory == extensions?.validationCategory)
                #expect(verified.bundleVersion == extensions?.bundleVersion)
                #expect(verified.trustRootFingerprint == simulation.authority.trustRoot.fingerprint)
            }
        }
    }

    @Test func `assertions verify one after the other, and never twice`() throws {
        var simulation = try Simulation(.init(extensions: SimulatedExtensions()))
        var counter: UInt32 = 0
        for expected in 1...3 as ClosedRange<UInt32> {
            let assertion = try simulation.device.assert(clientDataHash: Simulation.clientDataHash)
            counter = try simulation.verify(assertion: assertion, previousCounter: counter).counter
            #expect(counter == expected)
            #expect(throws: AssertionError.counterNotHigher(received: counter, previous: counter)) {
                try simulation.verify(assertion: assertion, previousCounter: counter)
            }
        }
    }

    @Test func `a policy with several apps says which one attested`() async throws {
        let simulation = try Simulation()
        let other = try #require(AppID("Z9Y8X7W6V5.com.example.other"))
        let policy = AttestationPolicy(apps: [other, simulation.device.app])
        let verified = try await AttestationVerifier(trustRoot: simulation.authority.trustRoot, policy: policy).verify(
            attestation: try simulation.attestation(), keyID: simulation.device.keyID,
            clientDataHash: Simulation.clientDataHash, at: Simulation.time)
        #expect(verified.app == simulation.device.app)
    }

    @Test func `an empty policy accepts nothing`() async throws {
        let simulation = try Simulation()
        let attestation = try simulation.attestation()
        for (policy, error) in [
            (AttestationPolicy(apps: []), AttestationError.rpIDHashMismatch),
            (AttestationPolicy(apps: [simulation.device.app], environments: []), .environmentNotAllowed(.production)),
        ] {
            await #expect(throws: error) {
                try await AttestationVerifier(trustRoot: simulation.authority.trustRoot, policy: policy).verify(
                    attestation: attestation, keyID: simulation.device.keyID,
                    clientDataHash: Simulation.clientDataHash, at: Simulation.time)
            }
        }
    }

    @Test func `required validation categories refuse others, and systems that have none`() async throws {
        var modern = try Simulation(.init(extensions: SimulatedExtensions(validationCategory: 4)))
        let attestation = try modern.attestation()
        let assertion = try modern.device.assert(clientDataHash: Simulation.clientDataHash)
        #expect(try await modern.verify(attestation, categories: [2, 4]).validationCategory == 4)
        #expect(try modern.verify(assertion: assertion, categories: [2, 4]).validationCategory == 4)
        await #expect(throws: AttestationError.validationCategoryNotAllowed(4)) {
            try await modern.verify(attestation, categories: [2])
        }
        #expect(throws: AssertionError.validationCategoryNotAllowed(4)) {
            try modern.verify(assertion: assertion, categories: [])
        }

        for extensions in [nil, SimulatedExtensions(validationCategory: nil, bundleVersion: "1")] {
            var older = try Simulation(.init(extensions: extensions))
            let attestation = try older.attestation()
            let assertion = try older.device.assert(clientDataHash: Simulation.clientDataHash)
            await #expect(throws: AttestationError.validationCategoryMissing) {
                try await older.verify(attestation, categories: [4])
            }
            #expect(throws: AssertionError.validationCategoryMissing) {
                try older.verify(assertion: assertion, categories: [4])
            }
        }
    }

    @Test func `times that no certificate can state are refused without a trap`() async throws {
        let simulation = try Simulation()
        let attestation = try simulation.attestation()
        for seconds in [Double.nan, -.infinity, -1, 253_402_300_800, 1e300, .infinity] {
            await #expect(throws: AttestationError.self) {
                try await simulation.verifier().verify(
                    attestation: attestation, keyID: simulation.device.keyID,
                    clientDataHash: Simulation.clientDataHash, at: Date(timeIntervalSince1970: seconds))
            }
        }
    }

    @Test func `a restored device and authority continue where they stopped`() async throws {
        var simulation = try Simulation(.init(extensions: SimulatedExtensions()))
        _ = try simulation.device.assert(clientDataHash: Simulation.clientDataHash)
        let savedDevice = try JSONEncoder().encode(simulation.device.saved)
        let savedAuthority = try JSONEncoder().encode(simulation.authority.saved)

        var device = try SimulatedDevice(
            restoring: try JSONDecoder().decode(SimulatedDevice.Saved.self, from: savedDevice))
        let authority = try SimulatedAuthority(
            restoring: try JSONDecoder().decode(SimulatedAuthority.Saved.self, from: savedAuthority))
        #expect(device.keyID == simulation.device.keyID)
        #expect(try authority.rootPEM == simulation.authority.rootPEM)
        let attestation = try device.attest(
            clientDataHash: Simulation.clientDataHash, by: authority, at: Simulation.time)
        _ = try await simulation.verify(attestation)
        let assertion = try device.assert(clientDataHash: Simulation.clientDataHash)
        #expect(try simulation.verify(assertion: assertion, previousCounter: 1).counter == 2)
    }

    @Test func `an authority's PEM is a trust root that its devices verify under`() async throws {
        let simulation = try Simulation()
        let root = try TrustRoot(pem: simulation.authority.rootPEM)
        #expect(root.fingerprint == simulation.authority.trustRoot.fingerprint)
    }
}
