import CryptoExtras
import DeviceSimulation
import FoundationEssentials
import StrictDER
import SwiftASN1
import Testing
import WebAuthn
import X509

/// The trust in a correct statement (§7.1 steps 23 and 24).
@Suite("Attestation")
struct TrustTests {
    struct UntrustedPath: Sendable, CustomTestStringConvertible {
        let name: String
        let expected: TrustFault
        let format: SimulatedPasskey.Format
        let change: @Sendable (inout PasskeyRegistrationPlan) throws -> Void

        init(
            _ name: String, _ expected: TrustFault, _ format: SimulatedPasskey.Format = .packed,
            _ change: @escaping @Sendable (inout PasskeyRegistrationPlan) throws -> Void
        ) { (self.name, self.expected, self.format, self.change) = (name, expected, format, change) }

        var testDescription: String { name }
    }

    private static let day: TimeInterval = 24 * 60 * 60
    private static let unknown = Certificate.Extension(
        oid: [1, 3, 6, 1, 4, 1, 45724, 99], critical: true, value: [0x05, 0x00])

    private static func intermediate(
        _ change: @escaping @Sendable (inout PasskeyCertificatePlan) -> Void
    ) -> @Sendable (inout PasskeyRegistrationPlan) throws -> Void {
        { plan in
            let other = try plan.vendor.intermediate(at: PasskeyStage.time, changing: change)
            plan.changeChain = { $0[1] = other.encodedDER }
        }
    }

    static let untrusted: [UntrustedPath] = [
        .init("of another vendor", .untrustedChain) { $0.vendor = try SimulatedVendor(at: PasskeyStage.time) },
        .init("of another vendor, with its root", .untrustedChain) {
            let other = try SimulatedVendor(at: PasskeyStage.time)
            $0.vendor = other
            $0.changeChain = { $0.append(other.root.encodedDER) }
        },
        .init("without its intermediate", .untrustedChain) { $0.changeChain = { $0.removeLast() } },
        .init("with another vendor's intermediate", .untrustedChain) {
            let other = try SimulatedVendor(at: PasskeyStage.time, name: "Other")
            $0.changeChain = { $0[1] = other.intermediate.encodedDER }
        },
        .init("with a certificate more", .untrustedChain) {
            let other = try SimulatedVendor(at: PasskeyStage.time, name: "Other")
            $0.changeChain = { $0.append(other.root.encodedDER) }
        },
        .init("with a certificate between", .untrustedChain) {
            let other = try SimulatedVendor(at: PasskeyStage.time, name: "Other")
            $0.changeChain = { $0.insert(other.root.encodedDER, at: 1) }
        },
        .init("with its intermediate twice", .untrustedChain) { $0.changeChain = { $0.append($0[1]) } },
        .init("with a forged copy of the root", .untrustedChain) {
            let root = $0.vendor.root.encodedDER
            $0.changeChain = { $0.append(root.dropLast() + [root[root.count - 1] ^ 1]) }
        },
        .init("of an expired certificate", .certificateExpired(0)) {
            $0.changeLeaf = { $0.notAfter = PasskeyStage.time - 1 }
        },
        .init("of a certificate that isn't valid yet", .certificateNotYetValid(0)) {
            $0.changeLeaf = { $0.notBefore = PasskeyStage.time + 1 }
        },
        .init(
            "under an expired intermediate", .certificateExpired(1), .packed,
            intermediate { $0.notAfter = PasskeyStage.time - 1 }),
        .init(
            "under an intermediate that isn't valid yet", .certificateNotYetValid(1), .packed,
            intermediate { $0.notBefore = PasskeyStage.time + 1 }),
        .init(
            "under an intermediate that is no authority", .untrustedChain, .packed,
            intermediate { $0.constraints = .notCertificateAuthority }),
        .init(
            "under an intermediate without constraints", .untrustedChain, .packed, intermediate { $0.constraints = nil }
        ),
        .init(
            "under an intermediate that may not sign", .notCertificateAuthority(1), .packed,
            intermediate { $0.usage = KeyUsage(digitalSignature: true) }),
        .init("with an unknown critical extension", .unknownCriticalExtension(0)) {
            $0.changeLeaf = { $0.extensions.append(unknown) }
        },
        .init(
            "under an intermediate with an unknown critical extension", .unknownCriticalExtension(1), .packed,
            intermediate { $0.extensions.append(unknown) }),
        .init("of an authority", .leafIsCertificateAuthority, .apple) {
            $0.changeLeaf = { $0.constraints = .isCertificateAuthority(maxPathLength: nil) }
        },
        .init("of a key in software", .keyNotInHardware, .androidKey) {
            $0.changeDescription = {
                $0.software += $0.hardware
                $0.hardware = []
            }
        },
        .init("of a key that nobody says is generated", .keyNotInHardware, .androidKey) {
            $0.changeDescription = { $0.hardware.removeLast() }
        },
        .init("of a key that nobody says is for signing", .keyNotInHardware, .androidKey) {
            $0.changeDescription = { $0.hardware.removeFirst() }
        },
    ]

    @Test(arguments: untrusted)
    func `isn't trusted, and is refused where it is required`(path: UntrustedPath) async throws {
        let stage = try PasskeyStage()
        let attestation = try await stage.register(path.format, changing: path.change).attestation
        #expect(attestation.fault == path.expected && !attestation.isTrusted)
        await #expect(throws: CeremonyError.attestationNotTrusted(path.expected)) {
            try await stage.register(path.format, stage.registrationVerifier(.required), changing: path.change)
        }
    }

    @Test func `is trusted with and without its root, and with a renewed one`() async throws {
        let stage = try PasskeyStage()
        let renewed = try stage.vendor.renewedRoot(at: PasskeyStage.time)
        let roots = [stage.vendor.root, renewed]
        for sent in [nil] + roots.map(Optional.some) {
            for known in [[roots[0]], [roots[1]], roots, roots.reversed()] {
                let verifier = stage.registrationVerifier(.required, anchors: [.packed: known])
                let registration = try await stage.register(.packed, verifier) { plan in
                    if let sent { plan.changeChain = { $0.append(sent.encodedDER) } }
                }
                #expect(registration.attestation.isTrusted)
            }
        }
    }

    @Test func `is trusted if its certificate is an anchor itself`() async throws {
        let stage = try PasskeyStage()
        let leaf = LeafKeeper()
        let key = SimulatedPasskeyKey.es256()
        let change: (inout PasskeyRegistrationPlan) throws -> Void = { plan in
            (plan.attestationKey, plan.leafKey) = (key, key.certificateKey)
            plan.changeChain = { $0 = [leaf.kept($0[0])] }
        }
        _ = try await stage.register(.packed, changing: change)
        let anchor = try Certificate(derEncoded: leaf.bytes)
        let verifier = stage.registrationVerifier(.required, anchors: [.packed: [anchor]])
        #expect(try await stage.register(.packed, verifier, changing: change).attestation.isTrusted)
        // Not with certificates behind it, which nothing has verified.
        let root = stage.vendor.root.encodedDER
        await #expect(throws: CeremonyError.attestationNotTrusted(.untrustedChain)) {
            try await stage.register(.packed, verifier) {
                try change(&$0)
                $0.changeChain = { $0 = [leaf.kept($0[0]), root] }
            }
        }
    }

    @Test func `isn't trusted by a root that allows no intermediate`() async throws {
        let stage = try PasskeyStage()
        let narrow = try stage.vendor.renewedRoot(at: PasskeyStage.time) {
            $0.constraints = .isCertificateAuthority(maxPathLength: 0)
        }
        let verifier = stage.registrationVerifier(.required, anchors: [.packed: [narrow]])
        await #expect(throws: CeremonyError.attestationNotTrusted(.untrustedChain)) {
            try await stage.register(.packed, verifier)
        }
    }

    @Test(
        arguments: [
            (.sha256WithRSAEncryption, nil), (.sha1WithRSAEncryption, .weakSignature(0)),
        ] as [(Certificate.SignatureAlgorithm, TrustFault?)])
    func `may be signed with RSA, but not with SHA-1`(
        algorithm: Certificate.SignatureAlgorithm, fault: TrustFault?
    ) async throws {
        guard case .rs256(let key) = PasskeyStage.rsaKey else { return }
        let stage = try PasskeyStage()
        let name = [PasskeyCertificatePlan.NamePart(.RDNAttributeType.commonName, "RSA Root")]
        let root = try PasskeyCertificatePlan.authority(
            name, by: name, PasskeyStage.rsaKey.certificateKey, at: PasskeyStage.time
        ).issue(by: Certificate.PrivateKey(key), .sha256WithRSAEncryption)
        let verifier = stage.registrationVerifier(anchors: [.packed: [root]])
        let attestation = try await stage.register(.packed, verifier) { plan in
            let kept = PlanKeeper()
            plan.changeLeaf = {
                $0.issuer = name
                kept.plan = $0
            }
            plan.changeChain = { chain in
                let leaf = try kept.plan?.issue(by: Certificate.PrivateKey(key), algorithm)
                chain = [leaf?.encodedDER ?? []]
            }
        }.attestation
        #expect(attestation.fault == fault && attestation.isTrusted == (fault == nil))
    }

    @Test func `has no certificate with a larger RSA key than 4,096 bits`() async throws {
        let stage = try PasskeyStage()
        for (bits, first) in [(4_096, 0x80), (4_104, 0x80)] as [(Int, UInt8)] {
            let modulus = [first] + [UInt8](repeating: 0xA5, count: bits / 8 - 1)
            let key = try _RSA.Signing.PublicKey(n: modulus, e: [1, 0, 1] as [UInt8])
            let expected: StatementFault = bits > 4_096 ? .modulus(0, bits: bits) : .malformedSignature
            await #expect(throws: CeremonyError.attestationStatement(expected)) {
                try await stage.register(.packed) {
                    $0.leafKey = Certificate.PublicKey(key)
                    $0.algorithm = .integer(-257)
                }
            }
        }
    }

    @Test func `is trusted only by the anchors of its format`() async throws {
        let stage = try PasskeyStage()
        for (format, name) in [
            (.packed, .packed), (.apple, .apple), (.androidKey, .androidKey), (.fidoU2F, .fidoU2F),
        ] as [(SimulatedPasskey.Format, AttestationFormat)] {
            var anchors = Dictionary(uniqueKeysWithValues: AttestationFormat.allCases.map { ($0, [stage.vendor.root]) })
            anchors[name] = nil
            await #expect(throws: CeremonyError.attestationNotTrusted(.noAnchor)) {
                try await stage.register(format, stage.registrationVerifier(.required, anchors: anchors))
            }
        }
    }

    @Test func `is refused without a statement that can be trusted, where it is required`() async throws {
        let stage = try PasskeyStage()
        for (format, fault) in [
            (.none, .noStatement), (.packedSelf, .selfSigned), (.other("tpm"), .formatNotVerified),
            (.other("fido-u2f2"), .formatNotVerified),
        ] as [(SimulatedPasskey.Format, TrustFault)] {
            await #expect(throws: CeremonyError.attestationNotTrusted(fault)) {
                try await stage.register(format, stage.registrationVerifier(.required))
            }
        }
    }

    @Test func `is trusted from the certificate's first second to its last`() async throws {
        let stage = try PasskeyStage()
        let verifier = stage.registrationVerifier(.required)
        let (first, last) = (PasskeyStage.time - Self.day, PasskeyStage.time + 2 * Self.day)
        for time in [first, PasskeyStage.time, last] {
            #expect(try await stage.register(.packed, verifier, at: time).attestation.isTrusted)
        }
        for (time, fault) in [
            (first - 1, .certificateNotYetValid(0)), (last + 1, .certificateExpired(0)),
            (Date(timeIntervalSince1970: -1), .certificateNotYetValid(0)),
            (Date(timeIntervalSince1970: 1e15), .certificateExpired(0)),
        ] as [(Date, TrustFault)] {
            await #expect(throws: CeremonyError.attestationNotTrusted(fault)) {
                try await stage.register(.packed, verifier, at: time)
            }
        }
    }

    /// Each of these certificates could have issued each other one, so there are many paths, of which none ends.
    @Test func `of many certificates with one name is refused without trying their paths`() async throws {
        let stage = try PasskeyStage()
        let certificates = try (0..<5).map { _ in
            try stage.vendor.intermediate(at: PasskeyStage.time) { $0.issuer = $0.subject }
        }
        await #expect(throws: CeremonyError.attestationNotTrusted(.untrustedChain)) {
            try await stage.register(.packed, stage.registrationVerifier(.required)) {
                $0.changeChain = { $0 = [$0[0]] + certificates.map(\.encodedDER) }
            }
        }
    }
}

/// The plan of an attestation certificate, to issue it once more.
private final class PlanKeeper: @unchecked Sendable {
    var plan: PasskeyCertificatePlan?
}

/// The first attestation certificate that a stage has issued, for the ones after it.
private final class LeafKeeper: @unchecked Sendable {
    private(set) var bytes: [UInt8] = []

    func kept(_ leaf: [UInt8]) -> [UInt8] {
        if bytes.isEmpty { bytes = leaf }
        return bytes
    }
}
