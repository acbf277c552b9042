import DeviceSimulation
import Foundation
import Testing
import WebAuthn

/// Genuine ceremonies, cut and changed at every byte.
@Suite("Cut and changed at every byte")
struct EveryByteTests {
    /// Whether all bits of every byte are tried, which takes minutes in a debug build (`scripts/test --full`).
    private static let isFull = ProcessInfo.processInfo.environment["PORTCULLIS_FULL_TESTS"] == "1"

    /// Every byte with one bit changed, another one from byte to byte, and with all of them.
    private static func changes(of bytes: [UInt8]) -> [[UInt8]] {
        bytes.indices.flatMap { place in
            let bits = isFull ? Array(0..<8) : [place % 8]
            return (bits.map { UInt8(1) << UInt8($0) } + [0xFF]).map { mask in
                var changed = bytes
                changed[place] ^= mask
                return changed
            }
        }
    }

    /// Runs `body` for every item, in as many tasks as keep the cores busy.
    private static func findings<Item: Sendable, Finding: Sendable>(
        _ items: [Item], _ body: @escaping @Sendable (Item) async -> Finding?
    ) async -> [Finding] {
        let size = max(1, items.count / 16)
        return await withTaskGroup(of: [Finding].self) { group in
            for start in stride(from: 0, to: items.count, by: size) {
                let part = items[start..<min(start + size, items.count)]
                group.addTask {
                    var found: [Finding] = []
                    for item in part { if let finding = await body(item) { found.append(finding) } }
                    return found
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    @Test(arguments: PasskeyStage.keys.indices)
    func `no changed authentication is accepted, and no cut one`(index: Int) async throws {
        var stage = try PasskeyStage(PasskeyStage.keys[index], countsSignatures: true)
        let record = try await stage.register().record
        let genuine = try stage.response()
        let verifier = AuthenticationVerifier(relyingParty: PasskeyStage.relyingParty)
        func isAccepted(_ response: AuthenticationResponse) -> Bool {
            (try? verifier.verify(response, challenge: PasskeyStage.challenge, credential: record)) != nil
        }
        #expect(isAccepted(genuine))
        let parts: [WritableKeyPath<AuthenticationResponse, [UInt8]>] = [
            \.clientDataJSON, \.authenticatorData, \.signature,
        ]
        for part in parts {
            let bytes = genuine[keyPath: part]
            let cut = (0..<bytes.count).map { Array(bytes.prefix($0)) } + [bytes + [0x20], bytes + [0]]
            for changed in Self.changes(of: bytes) + cut {
                var response = genuine
                response[keyPath: part] = changed
                #expect(!isAccepted(response), "\(changed)")
            }
        }
    }

    /// The formats whose statement signs the whole authenticator data, with a chain that is trusted.
    @Test(arguments: [.packedSelf, .packed, .apple, .androidKey] as [SimulatedPasskey.Format])
    func `no changed registration is accepted`(format: SimulatedPasskey.Format) async throws {
        let stage = try PasskeyStage()
        let genuine = try stage.passkey.registration(
            PasskeyStage.request, format, by: stage.vendor, at: PasskeyStage.time)
        let verifier = stage.registrationVerifier(format == .packedSelf ? .none : .required)
        @Sendable func accepted(_ clientData: [UInt8], _ object: [UInt8]) async -> VerifiedRegistration? {
            try? await verifier.verify(
                RegistrationResponse(clientDataJSON: clientData, attestationObject: object),
                challenge: PasskeyStage.challenge, at: PasskeyStage.time)
        }
        #expect(await accepted(genuine.clientDataJSON, genuine.attestationObject) != nil)
        let ofClientData = await Self.findings(Self.changes(of: genuine.clientDataJSON)) { changed in
            await accepted(changed, genuine.attestationObject) == nil ? nil : changed
        }
        #expect(ofClientData == [])
        // Without attestation required, a statement may have the name of a format that nobody knows. It attests
        // nothing.
        let ofObject = await Self.findings(Self.changes(of: genuine.attestationObject)) { changed -> [UInt8]? in
            let attestation = await accepted(genuine.clientDataJSON, changed)?.attestation
            return attestation == nil || attestation == .unverified ? nil : changed
        }
        #expect(ofObject == [])
    }

    /// U2F signs neither the flags nor the counter nor the AAGUID; a change of anything else is refused.
    @Test func `no changed registration of U2F is accepted with another credential`() async throws {
        let stage = try PasskeyStage()
        let genuine = try stage.passkey.registration(
            PasskeyStage.request, .fidoU2F, by: stage.vendor, at: PasskeyStage.time)
        let verifier = stage.registrationVerifier(.required)
        let known = try await stage.register(.fidoU2F, verifier)
        let data = try #require(genuine.attestationObject.firstRange(of: Array("authData".utf8))).upperBound + 2
        let unsigned = data + 32..<data + 53
        let accepted = await Self.findings(Self.changes(of: genuine.attestationObject)) { changed -> Int? in
            let verified = try? await verifier.verify(
                RegistrationResponse(clientDataJSON: genuine.clientDataJSON, attestationObject: changed),
                challenge: PasskeyStage.challenge, at: PasskeyStage.time)
            guard let verified else { return nil }
            let place = changed.indices.first { changed[$0] != genuine.attestationObject[$0] } ?? 0
            let isSame = verified.record.id == known.record.id && verified.record.publicKey == known.record.publicKey
            return isSame && unsigned.contains(place) ? nil : place
        }
        #expect(accepted == [])
    }

    /// Without attestation nothing signs the authenticator data: what is accepted is what the client says.
    @Test func `a changed registration without attestation is for the same challenge, origin and relying party`()
        async throws
    {
        let stage = try PasskeyStage()
        let genuine = try stage.passkey.registration(
            PasskeyStage.request, .none, by: stage.vendor, at: PasskeyStage.time)
        let verifier = stage.registrationVerifier()
        let data = try #require(genuine.attestationObject.firstRange(of: Array("authData".utf8))).upperBound + 2
        let name = try #require(genuine.attestationObject.firstRange(of: Array("none".utf8)))
        for changed in Self.changes(of: genuine.attestationObject) {
            let verified = try? await verifier.verify(
                RegistrationResponse(clientDataJSON: genuine.clientDataJSON, attestationObject: changed),
                challenge: PasskeyStage.challenge, at: PasskeyStage.time)
            guard verified != nil else { continue }
            let place = try #require(changed.indices.first { changed[$0] != genuine.attestationObject[$0] })
            // The name of the format; flags, counter, AAGUID and the credential's identifier. A coordinate can't change
            // alone.
            #expect(name.contains(place) || (data + 32..<data + 55 + 32).contains(place), "\(place)")
        }
    }

    @Test(arguments: PasskeyStage.formats)
    func `no cut registration is accepted`(format: SimulatedPasskey.Format) async throws {
        let stage = try PasskeyStage()
        let genuine = try stage.passkey.registration(
            PasskeyStage.request, format, by: stage.vendor, at: PasskeyStage.time)
        let verifier = stage.registrationVerifier()
        for length in genuine.attestationObject.indices {
            let response = RegistrationResponse(
                clientDataJSON: genuine.clientDataJSON,
                attestationObject: Array(genuine.attestationObject.prefix(length)))
            do {
                _ = try await verifier.verify(response, challenge: PasskeyStage.challenge, at: PasskeyStage.time)
                Issue.record("\(length) bytes were accepted")
            } catch CeremonyError.malformedAttestationObject {}
        }
        for length in genuine.clientDataJSON.indices {
            #expect(throws: CeremonyError.self) {
                try CollectedClientData(json: Array(genuine.clientDataJSON.prefix(length)))
            }
        }
    }

    @Test func `authenticator data ends only after its last field`() async throws {
        let stage = try PasskeyStage()
        for extensions in [nil, CBORItem.map([(.text("credProtect"), .unsigned(2))])] {
            let whole = DataLength()
            for length in 0..<600 {
                do {
                    _ = try await stage.register(.none) { plan in
                        plan.authenticatorData.extensions = extensions
                        plan.authenticatorData.changeBytes = { bytes in
                            whole.count = bytes.count
                            bytes = Array(bytes.prefix(length))
                        }
                    }
                    #expect(length >= whole.count, "\(length) of \(whole.count) bytes")
                } catch CeremonyError.malformedAuthenticatorData {
                    #expect(length < whole.count, "\(length) of \(whole.count) bytes")
                }
            }
        }
    }
}

/// Bytes of the authenticator data before a change.
private final class DataLength: @unchecked Sendable {
    var count = 0
}
