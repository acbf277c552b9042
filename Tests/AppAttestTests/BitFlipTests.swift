import AppAttest
import Testing

/// Every flipped bit invalidates a real object.
///
/// The whole object is covered except the content of the receipt: both certificates (the signed part, the signature and
/// its algorithm, which must have their only valid encoding), the authenticator data (by the nonce), and all CBOR
/// around them, including the receipt's key and length. Apple's own signature inside the receipt covers its content,
/// but it isn't checked here: publishers have removed the receipt, and one damaged it.
@Suite("Flipped bits", .enabled(if: Vectors.areAvailable, "\(Vectors.skipReason)"))
struct BitFlipTests {
    /// Bits tested in a vector that isn't tested completely.
    static let sampleSize = Effort.count(500)
    /// Attestations and assertions that are tested completely. Of an attestation's bytes, which are many and costly to
    /// verify, one bit each is tested without `--full`.
    static let exhaustive: [String] = [
        "att-2025-11-19-succinctlabs-5e37afe7",  // iOS 26.1, attestation and assertion
        "att-2026-04-20-apple-guide-ios27",  // iOS 27.0, attestation
        "att-2026-07-17-hellas-macos27 #1",  // macOS 27.0, assertion with an appended map
        "att-2025-11-19-succinctlabs-5e37afe7 #1",
    ]

    /// The bits of an object whose flipping must be detected.
    static func coveredBits(of vector: AttestationVector) throws -> [Int] {
        let receipt = try AttestationObject(vector.attestation).receipt
        let uncovered = receipt.isEmpty ? 0..<0 : try #require(vector.attestation.firstRange(of: receipt))
        return (0..<vector.attestation.count * 8).filter { !uncovered.contains($0 / 8) }
    }

    static func sample(_ bits: [Int], of id: String) -> [Int] {
        if exhaustive.contains(id) { return bits }
        var generator = generator(of: id)
        return Array(bits.shuffled(using: &generator).prefix(sampleSize))
    }

    /// - Parameter bits: of whole bytes.
    static func sample(ofAttestation bits: [Int], of id: String) -> [Int] {
        guard exhaustive.contains(id), !Effort.isFull else { return sample(bits, of: id) }
        var generator = generator(of: id)
        return stride(from: 0, to: bits.count, by: 8).map { bits[$0 + Int.random(in: 0..<8, using: &generator)] }
    }

    /// Its seed is specific to the vector and the same in every run, unlike `hashValue`.
    private static func generator(of id: String) -> SplitMix64 {
        SplitMix64(seed: id.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })
    }

    @Test(arguments: Vectors.attestations)
    func `no flipped bit of an attestation is accepted`(vector: AttestationVector) async throws {
        let bits = Self.sample(ofAttestation: try Self.coveredBits(of: vector), of: vector.id)
        let accepted = await inParallel(bits) { bit -> Int? in
            var flipped = vector
            flipped.attestation = vector.attestation.flipping(bit: bit)
            return (try? await flipped.verify()) == nil ? nil : bit
        }
        #expect(accepted == [])
        #expect(bits.count >= Self.sampleSize)
    }

    @Test(arguments: Vectors.assertions)
    func `no flipped bit of an assertion is accepted`(vector: AssertionVector) async {
        let bits = Self.sample(Array(0..<vector.assertion.count * 8), of: vector.id)
        let accepted = await inParallel(bits) { bit -> Int? in
            var flipped = vector
            flipped.assertion = vector.assertion.flipping(bit: bit)
            return (try? flipped.verify()) == nil ? nil : bit
        }
        #expect(accepted == [])
        #expect(bits.count >= Self.sampleSize)
    }

    @Test func `the exhaustive vectors exist, and all their covered bytes are tried`() throws {
        let ids = Vectors.attestations.map(\.id) + Vectors.assertions.map(\.id)
        #expect(Set(Self.exhaustive).subtracting(ids) == [])
        for vector in Vectors.attestations where Self.exhaustive.contains(vector.id) {
            let object = try AttestationObject(vector.attestation)
            let covered = try Self.coveredBits(of: vector)
            let tried = Self.sample(ofAttestation: covered, of: vector.id)
            #expect(Effort.isFull ? tried == covered : Set(tried.map { $0 / 8 }) == Set(covered.map { $0 / 8 }))
            #expect(covered.count == (vector.attestation.count - object.receipt.count) * 8)
            // The certificates and the authenticator data are covered completely.
            for part in [object.leaf, object.intermediate, object.authenticatorData] {
                let range = try #require(vector.attestation.firstRange(of: part))
                #expect(Set(range.lowerBound * 8..<range.upperBound * 8).isSubset(of: covered))
            }
        }
    }

    @Test
    func `a flipped bit of the receipt's content isn't detected, which is why it isn't covered`() async throws {
        let vector = try #require(Vectors.attestations.first)
        let receipt = try AttestationObject(vector.attestation).receipt
        let range = try #require(vector.attestation.firstRange(of: receipt))
        var flipped = vector
        flipped.attestation = vector.attestation.flipping(bit: range.lowerBound * 8 + 4001)
        #expect(try await flipped.verify().receipt == receipt.flipping(bit: 4001))
    }
}
