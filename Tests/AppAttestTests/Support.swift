import AppAttest
import DeviceSimulation
import FoundationEssentials
import Testing

/// A small seeded generator: the same samples and mutations in every run (Steele, Lea, Flood: SplitMix).
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

/// Runs `body` for every item, in enough tasks to keep all cores busy, and returns the findings.
func inParallel<Item: Sendable, Finding: Sendable>(
    _ items: [Item], _ body: @escaping @Sendable (Item) async -> Finding?
) async -> [Finding] {
    let chunkSize = max(1, min(64, items.count / 16))
    return await withTaskGroup(of: [Finding].self) { group in
        for start in stride(from: 0, to: items.count, by: chunkSize) {
            let chunk = items[start..<min(start + chunkSize, items.count)]
            group.addTask {
                var findings: [Finding] = []
                for item in chunk {
                    if let finding = await body(item) { findings.append(finding) }
                }
                return findings
            }
        }
        return await group.reduce(into: []) { $0 += $1 }
    }
}

extension [UInt8] {
    /// A copy with one bit changed; bit 0 is the lowest of the first byte.
    func flipping(bit: Int) -> [UInt8] {
        var copy = self
        copy[bit / 8] ^= 1 << (bit % 8)
        return copy
    }
}

/// A simulated Apple, a simulated device and the time of the attestation.
struct Simulation {
    /// 2026-05-01T00:00:00Z.
    static let time = Date(timeIntervalSince1970: 1_777_593_600)
    static let clientDataHash = [UInt8](repeating: 0xc5, count: 32)

    let authority: SimulatedAuthority
    var device: SimulatedDevice

    init(_ options: SimulatedDevice.Options = .init()) throws {
        let app = try #require(AppID("A1B2C3D4E5.com.example.game"))
        authority = try SimulatedAuthority(at: Self.time)
        device = SimulatedDevice(app: app, options: options)
    }

    func attestation() throws -> [UInt8] {
        try device.attest(clientDataHash: Self.clientDataHash, by: authority, at: Self.time)
    }

    func verifier(
        environments: Set<AttestationEnvironment> = [.production], categories: Set<UInt32>? = nil
    ) -> AttestationVerifier {
        AttestationVerifier(
            trustRoot: authority.trustRoot,
            policy: AttestationPolicy(
                apps: [device.app], environments: environments, validationCategories: categories))
    }

    func verify(
        _ attestation: [UInt8], keyID: [UInt8]? = nil, categories: Set<UInt32>? = nil
    ) async throws(AttestationError) -> VerifiedAttestation {
        try await verifier(categories: categories).verify(
            attestation: attestation, keyID: keyID ?? device.keyID, clientDataHash: Self.clientDataHash,
            at: Self.time)
    }

    func verify(
        assertion: [UInt8], previousCounter: UInt32 = 0, categories: Set<UInt32>? = nil
    ) throws(AssertionError) -> VerifiedAssertion {
        try AssertionVerifier(validationCategories: categories).verify(
            assertion: assertion, clientDataHash: Self.clientDataHash, publicKeyX963: device.publicKeyX963,
            app: device.app, previousCounter: previousCounter)
    }
}
