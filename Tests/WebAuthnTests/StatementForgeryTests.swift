import Crypto
import DeviceSimulation
import SwiftASN1
import Testing
import WebAuthn
import X509

/// Forgeries of attestation statements (§7.1 step 22), for each format in the order of its procedure.
@Suite("An attestation statement")
struct StatementForgeryTests {
    struct StatementForgery: Sendable, CustomTestStringConvertible {
        let format: SimulatedPasskey.Format
        let name: String
        let expected: StatementFault
        let change: @Sendable (inout PasskeyRegistrationPlan) throws -> Void

        init(
            _ format: SimulatedPasskey.Format, _ name: String, _ expected: StatementFault,
            _ change: @escaping @Sendable (inout PasskeyRegistrationPlan) throws -> Void
        ) { (self.format, self.name, self.expected, self.change) = (format, name, expected, change) }

        var testDescription: String { "\(format): \(name)" }
    }

    /// The formats with a signature, and those with certificates.
    private static let signed: [SimulatedPasskey.Format] = [.packedSelf, .packed, .androidKey, .fidoU2F]
    private static let certified: [SimulatedPasskey.Format] = [.packed, .apple, .androidKey, .fidoU2F]

    static let ofSyntax: [StatementForgery] =
        [
            .init(.none, "that isn't empty", .notEmpty) {
                $0.changeStatement = { $0 = [(.text("alg"), .integer(-7))] }
            },
            .init(.none, "that is a list", .notAMap) { $0.changeEntries = { $0[1].1 = .array([]) } },
            .init(.fidoU2F, "with two certificates", .certificateCount(2)) { $0.changeChain = { $0.append($0[0]) } },
            .init(.apple, "with another algorithm", .algorithmMismatch) {
                $0.changeStatement = { $0.append((.text("alg"), .integer(-8))) }
            },
        ]
        + (signed + [.apple]).flatMap { format -> [StatementForgery] in
            [
                .init(format, "that is a list", .notAMap) { $0.changeEntries = { $0[1].1 = .array([]) } },
                .init(format, "with another field", .unknownField) {
                    $0.changeStatement = { $0.append((.text("ver"), .text("2.0"))) }
                },
            ]
        }
        + signed.flatMap { format -> [StatementForgery] in
            [
                .init(format, "without a signature", .unreadableField(.sig)) {
                    $0.changeStatement = { $0.removeAll { isKey($0.0, "sig") } }
                },
                .init(format, "with a text as signature", .unreadableField(.sig)) {
                    $0.changeStatement = { entries in
                        for index in entries.indices where isKey(entries[index].0, "sig") {
                            entries[index].1 = .text("")
                        }
                    }
                },
                .init(format, "with an empty signature", .malformedSignature) { $0.changeSignature = { $0 = [] } },
                .init(format, "with a longer signature", .malformedSignature) { $0.changeSignature = { $0.append(0) } },
                .init(format, "with a huge signature", .malformedSignature) {
                    $0.changeSignature = { $0 = [UInt8](repeating: 0x30, count: 600) }
                },
                .init(format, "over something else", .signatureMismatch) { $0.changeMessage = { $0[40] ^= 1 } },
                .init(format, "by another key", .signatureMismatch) { $0.attestationKey = .es256() },
            ]
        }
        + ([.packedSelf, .packed, .androidKey] as [SimulatedPasskey.Format]).flatMap { format -> [StatementForgery] in
            [
                .init(format, "without an algorithm", .unreadableField(.alg)) {
                    $0.changeStatement = { $0.removeAll { isKey($0.0, "alg") } }
                },
                .init(format, "with another algorithm", .algorithmMismatch) { $0.algorithm = .integer(-257) },
                .init(format, "with an unknown algorithm", .algorithmNotSupported(-65535)) {
                    $0.algorithm = .integer(-65535)
                },
            ]
        }
        + certified.flatMap { format -> [StatementForgery] in
            [
                .init(format, "with a text for certificates", .unreadableField(.x5c)) {
                    $0.changeStatement = { entries in
                        for index in entries.indices where isKey(entries[index].0, "x5c") {
                            entries[index].1 = .text("")
                        }
                    }
                },
                .init(format, "with a text as certificate", .unreadableField(.x5c)) {
                    $0.changeStatement = { entries in
                        for index in entries.indices where isKey(entries[index].0, "x5c") {
                            entries[index].1 = .array([.text("")])
                        }
                    }
                },
                .init(format, "without certificates", .certificateCount(0)) { $0.changeChain = { $0 = [] } },
                .init(format, "with seven certificates", .certificateCount(7)) {
                    $0.changeChain = { $0 = [[UInt8]](repeating: $0[0], count: 7) }
                },
                .init(format, "with garbage as certificate", .malformedCertificate(0)) {
                    $0.changeChain = { $0[0] = [1, 2, 3] }
                },
                .init(format, "with bytes behind the certificate", .malformedCertificate(0)) {
                    $0.changeChain = { $0[0].append(0) }
                },
                .init(format, "with a long name that isn't ASCII", .malformedCertificate(0)) {
                    $0.changeLeaf = {
                        $0.subject.append(
                            .init(.RDNAttributeType.localityName, String(repeating: "ä", count: 600)))
                    }
                },
            ]
        }

    private static func isKey(_ item: CBORItem, _ name: String) -> Bool {
        if case .text(let text) = item { text == name } else { false }
    }

    private static func remove(
        _ type: ASN1ObjectIdentifier
    ) -> @Sendable (inout PasskeyRegistrationPlan) -> Void {
        { $0.changeLeaf = { $0.subject.removeAll { $0.type == type } } }
    }

    private static func name(
        _ type: ASN1ObjectIdentifier, _ text: String
    ) -> @Sendable (inout PasskeyRegistrationPlan) -> Void {
        {
            $0.changeLeaf = { leaf in
                for index in leaf.subject.indices where leaf.subject[index].type == type {
                    leaf.subject[index].text = text
                }
            }
        }
    }

    /// Section 8.2 and 8.2.1.
    static let ofPacked: [StatementForgery] = [
        .init(.packed, "of version 1", .certificateVersion) {
            $0.changeLeaf = {
                $0.version = .v1
                $0.constraints = nil
                $0.extensions = []
            }
        },
        .init(.packed, "without a country", .certificateSubject(.country), remove(.RDNAttributeType.countryName)),
        .init(.packed, "of a long country", .certificateSubject(.country), name(.RDNAttributeType.countryName, "USA")),
        .init(
            .packed, "of a country in small letters", .certificateSubject(.country),
            name(.RDNAttributeType.countryName, "us")),
        .init(
            .packed, "without an organization", .certificateSubject(.organization),
            remove(.RDNAttributeType.organizationName)),
        .init(
            .packed, "without a unit", .certificateSubject(.organizationalUnit),
            remove(.RDNAttributeType.organizationalUnitName)),
        .init(
            .packed, "of another unit", .certificateSubject(.organizationalUnit),
            name(.RDNAttributeType.organizationalUnitName, "Authenticator attestation")),
        .init(.packed, "with two units", .certificateSubject(.organizationalUnit)) {
            $0.changeLeaf = {
                $0.subject.append(.init(.RDNAttributeType.organizationalUnitName, "Authenticator Attestation"))
            }
        },
        .init(
            .packed, "without a common name", .certificateSubject(.commonName), remove(.RDNAttributeType.commonName)),
        .init(
            .packed, "with an empty common name", .certificateSubject(.commonName),
            name(.RDNAttributeType.commonName, "")),
        .init(.packed, "without constraints", .certificateConstraints) { $0.changeLeaf = { $0.constraints = nil } },
        .init(.packed, "of an authority", .certificateConstraints) {
            $0.changeLeaf = { $0.constraints = .isCertificateAuthority(maxPathLength: nil) }
        },
        .init(.packed, "of another model", .aaguidMismatch) {
            $0.changeLeaf = { $0.extensions = [PasskeyRegistrationPlan.aaguid([UInt8](repeating: 1, count: 16))] }
        },
        .init(.packed, "with a short AAGUID", .aaguidExtensionMalformed) {
            $0.changeLeaf = { $0.extensions = [PasskeyRegistrationPlan.aaguid([UInt8](repeating: 1, count: 15))] }
        },
        .init(.packed, "with a critical AAGUID", .aaguidExtensionMalformed) { plan in
            let aaguid = plan.authenticatorData.credential?.aaguid ?? []
            plan.changeLeaf = { $0.extensions = [PasskeyRegistrationPlan.aaguid(aaguid, critical: true)] }
        },
        .init(.packed, "with a bare AAGUID", .aaguidExtensionMalformed) { plan in
            let aaguid = plan.authenticatorData.credential?.aaguid ?? []
            plan.changeLeaf = {
                $0.extensions = [
                    Certificate.Extension(oid: [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4], critical: false, value: aaguid[...])
                ]
            }
        },
        .init(.packed, "with a certificate whose key is on P-384", .algorithmMismatch) {
            $0.leafKey = SimulatedPasskeyKey.es384().certificateKey
        },
    ]

    /// Section 8.8.
    static let ofApple: [StatementForgery] = [
        .init(.apple, "without a nonce", .nonceExtensionMissing) { $0.changeLeaf = { $0.extensions = [] } },
        .init(.apple, "with a nonce of another shape", .nonceExtensionMalformed) {
            $0.changeLeaf = {
                $0.extensions = [
                    Certificate.Extension(
                        oid: [1, 2, 840, 113_635, 100, 8, 2], critical: false,
                        value: DERItem.encode([0x04], [UInt8](repeating: 1, count: 32))[...])
                ]
            }
        },
        .init(.apple, "with another nonce", .nonceMismatch) { $0.changeNonce = { $0[0] ^= 1 } },
        .init(.apple, "with another key", .credentialKeyMismatch) {
            $0.leafKey = SimulatedPasskeyKey.es256().certificateKey
        },
        .init(.apple, "with a key of another type", .credentialKeyMismatch) {
            $0.leafKey = SimulatedPasskeyKey.edDSA().certificateKey
        },
    ]

    /// Section 8.4.
    static let ofAndroid: [StatementForgery] = [
        .init(.androidKey, "with another key in certificate and signature", .credentialKeyMismatch) {
            $0.attestationKey = .es256()
            $0.leafKey = $0.attestationKey.certificateKey
        },
        .init(.androidKey, "without a key description", .keyDescriptionMissing) {
            $0.changeLeaf = { $0.extensions = [] }
        },
        .init(.androidKey, "with a surplus field", .keyDescriptionMalformed) {
            $0.changeDescription = { $0.surplus = [0x05, 0x00] }
        },
        .init(.androidKey, "with an entry twice", .keyDescriptionMalformed) {
            $0.changeDescription = { $0.hardware.append(.origin(0)) }
        },
        .init(.androidKey, "with a text as origin", .keyDescriptionMalformed) {
            $0.changeDescription = { $0.hardware[1].content = DERItem.encode([0x0C], [0x30]) }
        },
        .init(.androidKey, "with too many entries", .keyDescriptionMalformed) {
            $0.changeDescription = { plan in
                for tag in 800..<865 { plan.software.append(.init(tag, DERItem.encode([0x05], []))) }
            }
        },
        .init(.androidKey, "with another challenge", .attestationChallengeMismatch) {
            $0.changeDescription = { $0.challenge[0] ^= 1 }
        },
        .init(.androidKey, "with no challenge", .attestationChallengeMismatch) {
            $0.changeDescription = { $0.challenge = [] }
        },
        .init(.androidKey, "for all apps, by software", .keyOfAllApplications) {
            $0.changeDescription = { $0.software.append(.allApplications) }
        },
        .init(.androidKey, "for all apps, by hardware", .keyOfAllApplications) {
            $0.changeDescription = { $0.hardware.append(.allApplications) }
        },
        .init(.androidKey, "of an imported key", .keyNotGenerated) {
            $0.changeDescription = { $0.hardware[1] = .origin(2) }
        },
        .init(.androidKey, "of a key that is imported by software's word", .keyNotGenerated) {
            $0.changeDescription = { $0.software.append(.origin(2)) }
        },
        .init(.androidKey, "of a key that decrypts", .keyNotForSigning) {
            $0.changeDescription = { $0.hardware[0] = .purposes(1) }
        },
        .init(.androidKey, "of a key that also decrypts", .keyNotForSigning) {
            $0.changeDescription = { $0.hardware[0] = .purposes(1, 2) }
        },
        .init(.androidKey, "of a key without purpose", .keyNotForSigning) {
            $0.changeDescription = { $0.hardware[0] = .purposes() }
        },
    ]

    /// Section 8.6.
    static let ofU2F: [StatementForgery] = [
        .init(.fidoU2F, "with a certificate whose key is on P-384", .certificateKeyNotP256) {
            $0.leafKey = SimulatedPasskeyKey.es384().certificateKey
        },
        .init(.fidoU2F, "over the challenge of packed", .signatureMismatch) {
            $0.changeMessage = { $0.removeFirst() }
        },
    ]

    @Test(arguments: ofSyntax + ofPacked + ofApple + ofAndroid + ofU2F)
    func `is refused, with attestation required or not`(forgery: StatementForgery) async throws {
        let stage = try PasskeyStage()
        for requirement in AttestationRequirement.allCases {
            await #expect(throws: CeremonyError.attestationStatement(forgery.expected)) {
                try await stage.register(
                    forgery.format, stage.registrationVerifier(requirement), changing: forgery.change)
            }
        }
    }

    @Test func `of U2F needs a credential on P-256`() async throws {
        let stage = try PasskeyStage(.edDSA())
        await #expect(throws: CeremonyError.attestationStatement(.credentialKeyNotP256)) {
            try await stage.register(.fidoU2F)
        }
    }

    @Test func `of Apple may have the credential's algorithm beside it`() async throws {
        let stage = try PasskeyStage()
        let registration = try await stage.register(.apple, stage.registrationVerifier(.required)) {
            $0.changeStatement = { $0.append((.text("alg"), .integer(-7))) }
        }
        #expect(registration.attestation.isTrusted)
    }

    @Test func `may be signed with every algorithm`() async throws {
        let stage = try PasskeyStage()
        for key in PasskeyStage.keys {
            let registration = try await stage.register(.packed, stage.registrationVerifier(.required)) {
                $0.attestationKey = key
                $0.leafKey = key.certificateKey
            }
            #expect(registration.attestation.isTrusted)
        }
    }

    @Test func `of an unknown format isn't read, whatever it is`() async throws {
        let stage = try PasskeyStage()
        for statement in [CBORItem.map([(.text("x"), .array([.null]))]), .array([.map([]), .map([])])] {
            let registration = try await stage.register(.other("compound")) {
                $0.changeEntries = { $0[1].1 = statement }
            }
            #expect(registration.attestation == .unverified)
        }
    }
}
