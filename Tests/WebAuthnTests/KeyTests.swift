import CryptoExtras
import DeviceSimulation
import FoundationEssentials
import Testing
import WebAuthn

/// Public keys as COSE_Keys, beside those that forgeries of registrations have.
@Suite("A public key")
struct KeyTests {
    private func fault(_ entries: [(CBORItem, CBORItem)]) -> PublicKeyFault? {
        fault(bytes: CBORItem.map(entries).encoded)
    }

    private func fault(bytes: [UInt8]) -> PublicKeyFault? {
        do throws(PublicKeyFault) {
            _ = try CredentialPublicKey(cose: bytes)
            return nil
        } catch { return error }
    }

    private func rsa(modulus: [UInt8], exponent: [UInt8] = [1, 0, 1]) -> [(CBORItem, CBORItem)] {
        [
            (.integer(1), .integer(3)), (.integer(3), .integer(-257)), (.integer(-1), .bytes(modulus)),
            (.integer(-2), .bytes(exponent)),
        ]
    }

    /// An odd number of so many bits. No private key belongs to it.
    private func modulus(bits: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xA5, count: (bits + 7) / 8)
        bytes[0] = UInt8(1 << ((bits - 1) % 8))
        return bytes
    }

    @Test func `of RSA has 2,048 to 4,096 bits`() {
        for bits in [2_048, 2_049, 3_072, 4_095, 4_096] { #expect(fault(rsa(modulus: modulus(bits: bits))) == nil) }
        for bits in [1, 512, 1_024, 2_047, 4_097, 8_192] {
            #expect(fault(rsa(modulus: modulus(bits: bits))) == .modulus(bits: bits))
        }
        #expect(fault(rsa(modulus: [])) == .modulus(bits: 0))
        #expect(fault(rsa(modulus: [0] + modulus(bits: 2_048))) == .modulus(bits: 2_048))
        var even = modulus(bits: 2_048)
        even[255] = 0
        #expect(fault(rsa(modulus: even)) == .modulus(bits: 2_048))
    }

    @Test func `of RSA has an odd exponent of 1 to 4 bytes`() {
        let good = modulus(bits: 2_048)
        for exponent in [[3], [1, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]] {
            #expect(fault(rsa(modulus: good, exponent: exponent)) == nil)
        }
        for exponent in [[], [0], [1], [2], [1, 0, 0], [0, 3], [1, 0, 0, 0, 1]] as [[UInt8]] {
            #expect(fault(rsa(modulus: good, exponent: exponent)) == .exponent, "\(exponent)")
        }
    }

    @Test func `of RSA has no further parameter`() {
        let good = modulus(bits: 2_048)
        #expect(fault(rsa(modulus: good) + [(.integer(-3), .bytes([1]))]) == .parameters)
        #expect(fault(Array(rsa(modulus: good).dropLast())) == .parameters)
        var text = rsa(modulus: good)
        text[2].1 = .text("n")
        #expect(fault(text) == .parameters)
    }

    @Test func `of EdDSA is on Ed25519, and has 32 bytes`() throws {
        let entries = try SimulatedPasskeyKey.edDSA().coseEntries
        #expect(fault(entries) == nil)
        for curve in [4, 5, 7, 1] as [Int64] {
            var other = entries
            other[2].1 = .integer(curve)
            #expect(fault(other) == .parameters)
        }
        for length in [0, 31, 33, 57] {
            var other = entries
            other[3].1 = .bytes([UInt8](repeating: 1, count: length))
            #expect(fault(other) == .parameters)
        }
    }

    /// Of RFC 8032, section 5.1: 2^255 - 19 is written ED FF … 7F.
    @Test func `of EdDSA is no point of small order`() throws {
        let entries = try SimulatedPasskeyKey.edDSA().coseEntries
        func near(_ lowest: UInt8, _ others: UInt8, _ highest: UInt8) -> [UInt8] {
            [lowest] + [UInt8](repeating: others, count: 30) + [highest]
        }
        let ofOrder8 = [
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        ].map { text in
            stride(from: 0, to: 64, by: 2).map { place in
                let start = text.index(text.startIndex, offsetBy: place)
                return UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16) ?? 0
            }
        }
        let points = [
            near(0, 0, 0), near(1, 0, 0), near(0xEC, 0xFF, 0x7F), near(0xED, 0xFF, 0x7F), near(0xEE, 0xFF, 0x7F),
        ]
        for var point in points + ofOrder8 {
            for _ in 0..<2 {
                var other = entries
                other[3].1 = .bytes(point)
                #expect(fault(other) == .smallOrder, "\(point)")
                point[31] ^= 0x80
            }
        }
    }

    @Test func `of ES384 is on P-384`() throws {
        let entries = try SimulatedPasskeyKey.es384().coseEntries
        #expect(fault(entries) == nil)
        var other = entries
        other[2].1 = .integer(1)
        #expect(fault(other) == .parameters)
        other = entries
        other[4].1 = .bytes([UInt8](repeating: 1, count: 48))
        #expect(fault(other) == .notOnCurve)
        other = try SimulatedPasskeyKey.es256().coseEntries
        other[1].1 = .integer(-35)
        #expect(fault(other) == .parameters)
    }

    @Test func `has a known algorithm, and nothing behind it`() throws {
        let entries = try SimulatedPasskeyKey.es256().coseEntries
        let encoded = CBORItem.map(entries).encoded
        #expect(fault(bytes: encoded + [0]) == .trailingBytes)
        #expect(fault(bytes: [0x80]) == .notAMap)
        #expect(fault(bytes: [0xA0]) == .algorithmMissing)
        for length in encoded.indices {
            guard case .malformed? = fault(bytes: Array(encoded.prefix(length))) else {
                Issue.record("\(length) bytes are a key")
                continue
            }
        }
        for algorithm in [0, 1, -6, -9, -36, -37, -47, -65535, .max, .min] as [Int64] {
            var other = entries
            other[1].1 = .integer(algorithm)
            #expect(fault(other) == .algorithmNotSupported(algorithm))
        }
    }

    @Test func `is the same for equal bytes only`() throws {
        let keys = try (0..<2).map { _ in
            try CredentialPublicKey(cose: CBORItem.map(SimulatedPasskeyKey.es256().coseEntries).encoded)
        }
        #expect(keys[0] == keys[0] && keys[0] != keys[1])
    }
}

@Suite("A signature")
struct SignatureTests {
    @Test(arguments: PasskeyStage.keys.indices)
    func `is of its key, over the whole message, and in one form`(index: Int) async throws {
        let key = PasskeyStage.keys[index]
        var stage = try PasskeyStage(key)
        let record = try await stage.register().record
        _ = try stage.signIn(record)
        for change in [
            { $0.changeMessage = { $0.append(0) } }, { $0.changeMessage = { $0.removeLast() } },
            { $0.changeMessage = { $0[0] ^= 1 } }, { $0.changeMessage = { $0 = [] } },
        ] as [@Sendable (inout PasskeyAuthenticationPlan) -> Void] {
            #expect(throws: CeremonyError.signatureMismatch) { try stage.signIn(record, changing: change) }
        }
        for change in [
            { $0.append(0) }, { $0.insert(0, at: 0) }, { $0 = [] }, { $0.removeLast() },
            { $0 = [UInt8](repeating: 0x30, count: 513) },
        ] as [@Sendable (inout [UInt8]) -> Void] {
            #expect(throws: CeremonyError.malformedSignature) {
                try stage.signIn(record) { $0.changeSignature = change }
            }
        }
    }

    @Test(arguments: PasskeyStage.keys.indices, PasskeyStage.keys.indices)
    func `of one key isn't accepted for another`(signing: Int, stored: Int) async throws {
        guard signing != stored else { return }
        let record = try await PasskeyStage(PasskeyStage.keys[stored]).register().record
        var stage = try PasskeyStage(PasskeyStage.keys[signing])
        do {
            _ = try stage.signIn(record)
            Issue.record("it was accepted")
        } catch CeremonyError.signatureMismatch {
        } catch CeremonyError.malformedSignature {}
    }

    /// 2 is the least coordinate y that no point has, so no private key belongs to it.
    @Test func `of EdDSA verifies by no bytes that no point has`() async throws {
        var stage = try PasskeyStage(.edDSA())
        let record = try await stage.register().record
        var entries = try SimulatedPasskeyKey.edDSA().coseEntries
        entries[3].1 = .bytes([2] + [UInt8](repeating: 0, count: 31))
        let key = try CredentialPublicKey(cose: CBORItem.map(entries).encoded)
        let pointless = CredentialRecord(
            id: record.id, publicKey: key, signCount: record.signCount, isBackupEligible: record.isBackupEligible,
            isBackedUp: record.isBackedUp, isUserVerificationInitialized: record.isUserVerificationInitialized)
        var response = try stage.response()
        for signature in [response.signature] + ([0, 1] as [UInt8]).map({ [$0] + [UInt8](repeating: 0, count: 63) }) {
            response.signature = signature
            #expect(throws: CeremonyError.signatureMismatch) {
                try AuthenticationVerifier(relyingParty: PasskeyStage.relyingParty).verify(
                    response, challenge: PasskeyStage.challenge, credential: pointless)
            }
        }
    }

    @Test func `of RSA-PSS isn't one of RS256`() async throws {
        guard case .rs256(let key) = PasskeyStage.rsaKey else { return }
        var stage = try PasskeyStage(PasskeyStage.rsaKey)
        let record = try await stage.register().record
        var response = try stage.response()
        let hash = Array(SHA256.hash(data: response.clientDataJSON))
        response.signature = Array(
            try key.signature(for: SHA256.hash(data: response.authenticatorData + hash), padding: .PSS)
                .rawRepresentation)
        #expect(throws: CeremonyError.signatureMismatch) {
            try AuthenticationVerifier(relyingParty: PasskeyStage.relyingParty).verify(
                response, challenge: PasskeyStage.challenge, credential: record)
        }
    }

    /// For ECDSA −s is as good as s: nothing relies on a signature being unique. EdDSA has one form only.
    @Test func `of ECDSA may have a high S`() async throws {
        var stage = try PasskeyStage()
        let record = try await stage.register().record
        for _ in 0..<16 { _ = try stage.signIn(record) }
    }
}
