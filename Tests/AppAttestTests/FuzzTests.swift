import AppAttest
import CBOR
import DeviceSimulation
import Testing

/// Seeded mutations of genuine objects: the parsers refuse or accept them, and never trap. An accepted input is the
/// only encoding of its value.
@Suite("Fuzzed objects")
struct FuzzTests {
    /// Mutations in each of the first two tests.
    static let decoderIterations = Effort.count(200_000)
    /// Mutations of each object in the third test, which verifies signatures.
    static let verifierIterations = Effort.count(10_000)
    private static let batches = 16

    @Test func `mutated objects are decoded or refused, and decoded ones have no second encoding`() async throws {
        let seeds = try Self.seeds()
        let failures = await inParallel(Array(0..<Self.batches)) { batch -> [UInt8]? in
            var mutator = Mutator(seed: 0x5eed + UInt64(batch))
            for _ in 0..<Self.decoderIterations / Self.batches {
                let input = mutator.mutated(seeds)
                guard let value = try? CBORDecoder.decode(input, maximumBytes: 1 << 20) else { continue }
                if CBORItem(value).encoded != input { return input }
            }
            return nil
        }
        #expect(failures == [])
    }

    @Test func `mutated objects are parsed or refused`() async throws {
        let seeds = try Self.seeds()
        let accepted = await inParallel(Array(0..<Self.batches)) { batch -> Int? in
            var mutator = Mutator(seed: 0xfee1 + UInt64(batch))
            var accepted = 0
            for _ in 0..<Self.decoderIterations / Self.batches {
                let input = mutator.mutated(seeds)
                if let object = try? AttestationObject(input) {
                    _ = try? AuthenticatorData(attestation: object.authenticatorData)
                    accepted += 1
                }
                if let object = try? AssertionObject(input) {
                    _ = try? AuthenticatorData(assertion: object.authenticatorData)
                    accepted += 1
                }
                _ = try? AuthenticatorData(attestation: input)
                _ = try? AuthenticatorData(assertion: input)
            }
            return accepted
        }
        // The mutations are small enough to reach the code behind the outer map.
        #expect(accepted.reduce(0, +) > Self.decoderIterations / 100)
    }

    @Test func `a mutated attestation or assertion that verifies proves no more than the genuine one`() async throws {
        var simulation = try Simulation(.init(extensions: SimulatedExtensions()))
        let attestation = try simulation.attestation()
        let assertion = try simulation.device.assert(clientDataHash: Simulation.clientDataHash)
        let receipt = try AttestationObject(attestation).receipt
        let genuine = simulation
        let failures = await inParallel(Array(0..<Self.batches)) { batch -> [UInt8]? in
            var mutator = Mutator(seed: 0xacce + UInt64(batch))
            for _ in 0..<Self.verifierIterations / Self.batches {
                let forged = mutator.mutated([attestation])
                // Only the receipt may differ: it isn't covered.
                if let verified = try? await genuine.verify(forged), verified.receipt == receipt, forged != attestation
                {
                    return forged
                }
                let assertedForgery = mutator.mutated([assertion])
                if (try? genuine.verify(assertion: assertedForgery)) != nil, assertedForgery != assertion {
                    return assertedForgery
                }
            }
            return nil
        }
        #expect(failures == [])
    }

    /// Genuine objects, their parts, and CBOR of every kind.
    private static func seeds() throws -> [[UInt8]] {
        var seeds = CBORDecoderTests.items.map(\.encoded)
        for extensions in [nil, SimulatedExtensions()] {
            var simulation = try Simulation(.init(extensions: extensions))
            let attestation = try simulation.attestation()
            let assertion = try simulation.device.assert(clientDataHash: Simulation.clientDataHash)
            seeds += [attestation, assertion, try AttestationObject(attestation).authenticatorData]
            seeds += [try AssertionObject(assertion).authenticatorData]
        }
        return seeds
    }
}

/// Small changes of the kinds that often break parsers.
struct Mutator {
    private var generator: SplitMix64
    /// Heads of every major type with small, wide, reserved and indefinite lengths.
    private static let heads: [UInt8] = (0..<8).flatMap { major in
        ([0, 1, 23, 24, 25, 26, 27, 28, 31] as [UInt8]).map { major << 5 | $0 }
    }

    init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    /// One of `seeds` with one to four changes.
    mutating func mutated(_ seeds: [[UInt8]]) -> [UInt8] {
        var bytes = seeds[Int.random(in: 0..<seeds.count, using: &generator)]
        for _ in 0..<Int.random(in: 1...4, using: &generator) { change(&bytes, seeds) }
        return bytes
    }

    private mutating func change(_ bytes: inout [UInt8], _ seeds: [[UInt8]]) {
        let position = Int.random(in: 0...bytes.count, using: &generator)
        let end = min(bytes.count, position + Int.random(in: 0...16, using: &generator))
        let head = Self.heads[Int.random(in: 0..<Self.heads.count, using: &generator)]
        switch Int.random(in: 0..<8, using: &generator) {
        case 0 where position < bytes.count: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1 where position < bytes.count: bytes[position] = UInt8.random(in: 0...255, using: &generator)
        case 2 where position < bytes.count: bytes[position] = head
        case 3: bytes.insert(head, at: position)
        case 4: bytes.removeSubrange(position..<end)
        case 5: bytes.insert(contentsOf: bytes[position..<end], at: position)
        case 6: bytes.removeLast(bytes.count - position)
        default:
            let other = seeds[Int.random(in: 0..<seeds.count, using: &generator)]
            bytes.insert(contentsOf: other.prefix(24), at: position)
        }
    }
}
