import CBOR
import DeviceSimulation
import StrictDER
import SwiftASN1
import Testing
import WebAuthn
import X509

/// Every limit, at it and above it, that no other suite tries.
@Suite("The limits of Web Authentication")
struct LimitTests {
    /// The client data of a request, filled up to so many bytes.
    private func clientData(bytes: Int) -> [UInt8] {
        let empty = Array(#"{"type":"webauthn.get","challenge":"","origin":"","x":""}"#.utf8)
        return Array(empty.dropLast(2)) + [UInt8](repeating: UInt8(ascii: "x"), count: bytes - empty.count)
            + Array("\"}".utf8)
    }

    private func defect(_ bytes: [UInt8]) -> String? {
        do throws(CeremonyError) {
            _ = try CollectedClientData(json: bytes)
            return nil
        } catch .malformedClientData(let malformed) { return malformed.description } catch { return "\(error)" }
    }

    private func defect(member json: String) -> String? {
        defect(Array(#"{"type":"","challenge":"","origin":"","x":\#(json)}"#.utf8))
    }

    @Test func `client data has at most 8,192 bytes`() {
        let atLimit = clientData(bytes: WebAuthnLimits.maximumClientDataBytes)
        #expect(atLimit.count == 8_192 && defect(atLimit) == nil)
        #expect(defect(clientData(bytes: WebAuthnLimits.maximumClientDataBytes + 1)) == "tooLong")
    }

    @Test func `client data is at most 8 deep`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        // The object is the first level.
        #expect(defect(member: nested(WebAuthnLimits.maximumClientDataDepth - 1)) == nil)
        #expect(defect(member: nested(WebAuthnLimits.maximumClientDataDepth)) == "tooDeep")
    }

    @Test func `client data has at most 128 values`() {
        func list(_ count: Int) -> String { "[" + [String](repeating: "0", count: count).joined(separator: ",") + "]" }
        // The object, three texts and the list are values too.
        #expect(defect(member: list(WebAuthnLimits.maximumClientDataValues - 5)) == nil)
        #expect(defect(member: list(WebAuthnLimits.maximumClientDataValues - 4)) == "tooManyValues")
    }

    @Test func `a number in client data has at most 32 characters`() {
        #expect(defect(member: String(repeating: "1", count: WebAuthnLimits.maximumNumberBytes)) == nil)
        let above = defect(member: String(repeating: "1", count: WebAuthnLimits.maximumNumberBytes + 1))
        #expect(above?.hasPrefix("malformedNumber") == true)
    }

    /// - Returns: the refusal of an object whose statement of an unknown format is `statement`.
    private func refusal(_ statement: CBORItem) async throws -> CeremonyError? {
        let stage = try PasskeyStage()
        do {
            _ = try await stage.register(.other("x")) { $0.changeEntries = { $0[1].1 = statement } }
            return nil
        } catch let error as CeremonyError { return error }
    }

    @Test func `an attestation object has at most 16 KiB`() async throws {
        let stage = try PasskeyStage()
        func object(_ filling: Int) throws -> RegistrationResponse {
            let made = try stage.passkey.registration(
                PasskeyStage.request, .other("x"), by: stage.vendor, at: PasskeyStage.time
            ) {
                $0.changeStatement = { $0 = [(.text("x"), .bytes([UInt8](repeating: 0, count: filling)))] }
            }
            return RegistrationResponse(clientDataJSON: made.clientDataJSON, attestationObject: made.attestationObject)
        }
        let filling = 16_000
        let room = WebAuthnLimits.maximumAttestationBytes - (try object(filling).attestationObject.count)
        let atLimit = try object(filling + room)
        #expect(atLimit.attestationObject.count == 16_384)
        let verifier = stage.registrationVerifier()
        _ = try await verifier.verify(atLimit, challenge: PasskeyStage.challenge, at: PasskeyStage.time)
        do {
            _ = try await verifier.verify(
                object(filling + room + 1), challenge: PasskeyStage.challenge, at: PasskeyStage.time)
            Issue.record("it was accepted")
        } catch CeremonyError.malformedAttestationObject(let malformed) { #expect(malformed.description == "tooLarge") }
    }

    @Test func `CBOR is at most 8 deep, and has at most 256 items`() async throws {
        func nested(_ depth: Int) -> CBORItem { (1..<depth).reduce(.array([])) { inner, _ in .array([inner]) } }
        // The object's map is the first level.
        #expect(try await refusal(nested(WebAuthnLimits.maximumDepth - 1)) == nil)
        guard case .malformedAttestationObject(let deep)? = try await refusal(nested(WebAuthnLimits.maximumDepth))
        else {
            Issue.record("it was accepted")
            return
        }
        #expect(deep.description == "tooDeep" && deep.fault == .tooDeep)
        // The map, three keys, two other values, and the list itself.
        let room = WebAuthnLimits.maximumItems - 7
        func list(_ count: Int) -> CBORItem { .array([CBORItem](repeating: .null, count: count)) }
        #expect(try await refusal(list(room)) == nil)
        guard case .malformedAttestationObject(let many)? = try await refusal(list(room + 1)) else {
            Issue.record("it was accepted")
            return
        }
        #expect(many.description == "tooManyItems")
    }

    @Test func `authenticator data of an authentication has at most 4 KiB`() async throws {
        var stage = try PasskeyStage()
        let record = try await stage.register().record
        func outputs(_ total: Int) -> CBORItem {
            // 37 bytes before the map, and 6 of it around the bytes.
            .map([(.text("x"), .bytes([UInt8](repeating: 0, count: total - 37 - 6)))])
        }
        let limit = WebAuthnLimits.maximumAuthenticatorDataBytes
        #expect(
            try stage.response { $0.authenticatorData.extensions = outputs(limit) }.authenticatorData.count == limit)
        _ = try stage.signIn(record) { $0.authenticatorData.extensions = outputs(limit) }
        #expect(throws: CeremonyError.malformedAuthenticatorData(.tooLarge)) {
            try stage.signIn(record) { $0.authenticatorData.extensions = outputs(limit + 1) }
        }
    }

    @Test func `the name of a format has at most 32 characters`() async throws {
        let stage = try PasskeyStage()
        let name = String(repeating: "x", count: WebAuthnLimits.maximumFormatBytes)
        #expect(try await stage.register(.other(name)).attestation == .unverified)
        await #expect(throws: CeremonyError.attestationObjectMember(.fmt)) {
            try await stage.register(.other(name + "x"))
        }
    }

    @Test func `a statement has at most 6 certificates`() async throws {
        let stage = try PasskeyStage()
        for count in [WebAuthnLimits.maximumCertificates, WebAuthnLimits.maximumCertificates + 1] {
            let change: (inout PasskeyRegistrationPlan) -> Void = { plan in
                plan.changeChain = { $0 = [$0[0]] + [[UInt8]](repeating: $0[1], count: count - 1) }
            }
            if count <= WebAuthnLimits.maximumCertificates {
                #expect(try await stage.register(.packed, changing: change).attestation.fault == .untrustedChain)
            } else {
                await #expect(throws: CeremonyError.attestationStatement(.certificateCount(count))) {
                    try await stage.register(.packed, changing: change)
                }
            }
        }
    }

    /// The subject's bytes with a unit of so many letters, of which each has two.
    @Test func `a name that isn't ASCII has at most 1,024 bytes`() async throws {
        let stage = try PasskeyStage()
        func place(_ letters: Int, _ letter: String) -> @Sendable (inout PasskeyRegistrationPlan) -> Void {
            {
                $0.changeLeaf = {
                    $0.subject.append(
                        .init(.RDNAttributeType.localityName, String(repeating: letter, count: letters)))
                }
            }
        }
        let verifier = stage.registrationVerifier(.required)
        _ = try await stage.register(.packed, verifier, changing: place(4_000, "a"))
        // The other attributes and the heads take 126 bytes.
        var accepted = 0
        for letters in 440...460 {
            do {
                _ = try await stage.register(.packed, verifier, changing: place(letters, "ä"))
                accepted = letters
            } catch CeremonyError.attestationStatement(.malformedCertificate(0)) {}
        }
        #expect((441..<460).contains(accepted))
    }

    @Test func `an authorization list has at most 64 entries`() async throws {
        let stage = try PasskeyStage()
        for count in [WebAuthnLimits.maximumAuthorizations, WebAuthnLimits.maximumAuthorizations + 1] {
            let change: (inout PasskeyRegistrationPlan) -> Void = { plan in
                plan.changeDescription = { description in
                    let missing = count - description.software.count
                    description.software += (800..<800 + missing).map { .init($0, DERItem.encode([0x05], [])) }
                }
            }
            if count <= WebAuthnLimits.maximumAuthorizations {
                #expect(try await stage.register(.androidKey, changing: change).attestation.isTrusted)
            } else {
                await #expect(throws: CeremonyError.attestationStatement(.keyDescriptionMalformed)) {
                    try await stage.register(.androidKey, changing: change)
                }
            }
        }
    }
}
