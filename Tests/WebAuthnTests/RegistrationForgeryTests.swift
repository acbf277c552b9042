import DeviceSimulation
import SwiftASN1
import Testing
import WebAuthn
import X509

/// Forgeries of the steps that only registrations have (§7.1), the trust in certificates excepted.
@Suite("A registration")
struct RegistrationForgeryTests {
    typealias RegistrationForgery = Forgery<PasskeyRegistrationPlan>

    private static func key(
        _ change: @escaping @Sendable (inout [(CBORItem, CBORItem)]) -> Void
    ) -> @Sendable (inout PasskeyRegistrationPlan) -> Void {
        { plan in
            guard var key = plan.authenticatorData.credential?.key else { return }
            change(&key)
            plan.authenticatorData.credential?.key = key
        }
    }

    private static func malformedKey(_ fault: PublicKeyFault) -> CeremonyError {
        .malformedAuthenticatorData(.credentialKey(fault))
    }

    /// Step 13.
    static let ofObject: [RegistrationForgery] = [
        .init("not a map", .attestationObjectNotAMap) { $0.changeObject = { $0 = [0x80] } },
        .init("no format", .attestationObjectMember(.fmt)) { $0.changeEntries = { $0.remove(at: 0) } },
        .init("bytes as format", .attestationObjectMember(.fmt)) { $0.changeEntries = { $0[0].1 = .bytes([1]) } },
        .init("an empty format", .attestationObjectMember(.fmt)) { $0.changeEntries = { $0[0].1 = .text("") } },
        .init("a long format", .attestationObjectMember(.fmt)) {
            $0.changeEntries = { $0[0].1 = .text(String(repeating: "x", count: 33)) }
        },
        .init("a format with a space", .attestationObjectMember(.fmt)) {
            $0.changeEntries = { $0[0].1 = .text("no ne") }
        },
        .init("no statement", .attestationObjectMember(.attStmt)) { $0.changeEntries = { $0.remove(at: 1) } },
        .init("a text as statement", .attestationObjectMember(.attStmt)) {
            $0.changeEntries = { $0[1].1 = .text("") }
        },
        .init("no authenticator data", .attestationObjectMember(.authData)) { $0.changeEntries = { $0.remove(at: 2) } },
        .init("a text as authenticator data", .attestationObjectMember(.authData)) {
            $0.changeEntries = { $0[2].1 = .text("") }
        },
        .init("another member", .unknownAttestationObjectMember) {
            $0.changeEntries = { $0.append((.text("epAtt"), .boolean(false))) }
        },
        .init("a number as key", .unknownAttestationObjectMember) {
            $0.changeEntries = { $0.append((.unsigned(1), .boolean(false))) }
        },
    ]

    /// CBOR that isn't strict.
    static let ofCBOR: [(String, @Sendable (inout [UInt8]) -> Void)] = [
        ("empty", { $0 = [] }), ("cut", { $0.removeLast() }), ("trailing byte", { $0.append(0) }),
        ("indefinite map", { $0 = [0xBF] + $0.dropFirst() + [0xFF] }),
        ("long head", { $0 = [0xB8, 3] + $0.dropFirst() }), ("reserved head", { $0[0] = 0xBC }),
        ("tag", { $0 = [0xC1] + $0 }),
        ("member twice", { $0 = [0xA4] + $0.dropFirst() + CBORItem.text("fmt").encoded + [0x60] }),
        ("too deep", { $0 = [UInt8](repeating: 0x81, count: 8) + $0 }),
        ("too large", { $0 += [UInt8](repeating: 0, count: 16 * 1024) }),
    ]

    /// Step 13: the credential in the authenticator data.
    static let ofCredential: [RegistrationForgery] = [
        .init("no credential", .malformedAuthenticatorData(.credentialMissing)) {
            $0.authenticatorData.credential = nil
        },
        .init("an empty identifier", .malformedAuthenticatorData(.credentialIDEmpty)) {
            $0.authenticatorData.credential?.id = []
        },
        .init("an identifier longer than the data", .malformedAuthenticatorData(.truncated)) {
            $0.authenticatorData.credential?.announcedLength = 0xFFFF
        },
        .init("a key that isn't a map", malformedKey(.notAMap)) {
            $0.authenticatorData.changeBytes = { $0 = $0.prefix(37 + 18 + 32) + [0x80] }
        },
        .init("no algorithm", malformedKey(.algorithmMissing), key { $0.remove(at: 1) }),
        .init("a text as algorithm", malformedKey(.algorithmMissing), key { $0[1].1 = .text("ES256") }),
        .init("an algorithm below every integer", malformedKey(.algorithmMissing), key { $0[1].1 = .negative(.max) }),
    ]

    /// Step 20.
    static let ofKey: [RegistrationForgery] = [
        .init("ES512", .algorithmNotAllowed(-36), key { $0[1].1 = .integer(-36) }),
        .init("RSA with SHA-1", .algorithmNotAllowed(-65535), key { $0[1].1 = .integer(-65535) }),
        .init("no signature at all", .algorithmNotAllowed(0), key { $0[1].1 = .integer(0) }),
        .init("an algorithm of another key type", .publicKey(.parameters), key { $0[1].1 = .integer(-8) }),
        .init("RS256 with a point", .publicKey(.parameters), key { $0[1].1 = .integer(-257) }),
        .init("another key type", .publicKey(.parameters), key { $0[0].1 = .integer(1) }),
        .init("a text as key type", .publicKey(.parameters), key { $0[0].1 = .text("EC2") }),
        .init("no key type", .publicKey(.parameters), key { $0.remove(at: 0) }),
        .init("another curve", .publicKey(.parameters), key { $0[2].1 = .integer(2) }),
        .init("secp256k1", .publicKey(.parameters), key { $0[2].1 = .integer(8) }),
        .init("no y", .publicKey(.parameters), key { $0.removeLast() }),
        .init("a compressed point", .publicKey(.parameters), key { $0[4].1 = .boolean(true) }),
        .init("a short x", .publicKey(.parameters), key { $0[3].1 = .bytes([UInt8](repeating: 1, count: 31)) }),
        .init("a long y", .publicKey(.parameters), key { $0[4].1 = .bytes([UInt8](repeating: 1, count: 33)) }),
        .init("an optional parameter", .publicKey(.parameters), key { $0.append((.integer(2), .bytes([1]))) }),
        .init("a private key", .publicKey(.parameters), key { $0.append((.integer(-4), .bytes([1]))) }),
        .init(
            "a point off the curve", .publicKey(.notOnCurve),
            key { $0[4].1 = .bytes([UInt8](repeating: 1, count: 32)) }),
        .init("the point 0, 0", .publicKey(.notOnCurve)) { plan in
            let zero = CBORItem.bytes([UInt8](repeating: 0, count: 32))
            key {
                $0[3].1 = zero
                $0[4].1 = zero
            }(&plan)
        },
    ]

    @Test(arguments: ofObject + ofCredential + ofKey)
    func `is refused with a malformed object or key`(forgery: RegistrationForgery) async throws {
        let stage = try PasskeyStage()
        await #expect(throws: forgery.expected) { try await stage.register(changing: forgery.change) }
    }

    @Test(arguments: ofCBOR.indices)
    func `is refused if its object isn't strict CBOR`(index: Int) async throws {
        let (name, change) = Self.ofCBOR[index]
        let stage = try PasskeyStage()
        do {
            _ = try await stage.register(.packed) { $0.changeObject = change }
            Issue.record("\(name) was accepted")
        } catch CeremonyError.malformedAttestationObject {}
    }

    @Test func `is refused with an algorithm that wasn't offered`() async throws {
        for key in PasskeyStage.keys {
            let stage = try PasskeyStage(key)
            let others = CredentialAlgorithm.allCases.filter { $0.rawValue != key.algorithm }
            for offered in [others, []] {
                await #expect(throws: CeremonyError.algorithmNotAllowed(key.algorithm)) {
                    try await stage.register(.none, stage.registrationVerifier(algorithms: offered))
                }
            }
        }
    }

    /// Step 25.
    @Test(arguments: [1_024, 4_000])
    func `is refused with an identifier above 1,023 bytes`(length: Int) async throws {
        let stage = try PasskeyStage()
        await #expect(throws: CeremonyError.credentialIDTooLong(length)) {
            try await stage.register(.packed) {
                $0.authenticatorData.credential?.id = [UInt8](repeating: 7, count: length)
            }
        }
    }
}
