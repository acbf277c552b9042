import AppAttest
import DPoP
import Foundation
import RelayCore
import StrictJSON
import Testing
import WebAuthn

/// The stored inputs: seeds of every kind, and inputs that once revealed a defect. libFuzzer begins with them.
@Suite("The fuzz corpus")
struct CorpusTests {
    /// Bytes of one input, so that each stays small enough to understand.
    static let maximumBytes = 8_192

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Corpus")

    private static func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }.sorted()
    }

    @Test func `has a folder for every target, and no other`() throws {
        #expect(try Self.names(in: Self.folder) == FuzzTarget.all.map(\.name).sorted())
    }

    /// Otherwise nothing would come as far as the promises about what is verified.
    @Test func `has an attestation and an assertion that verify`() async throws {
        func seed(_ name: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent(name)))
        }
        let attestation = try await AttestSample.verifier.verify(
            attestation: try seed("attestation/genuine"), keyID: AttestSample.keyID,
            clientDataHash: AttestSample.clientDataHash, at: AttestSample.time)
        #expect(attestation.publicKeyX963 == AttestSample.publicKeyX963)
        let assertion = try AssertionVerifier().verify(
            assertion: try seed("assertion/genuine"), clientDataHash: AttestSample.clientDataHash,
            publicKeyX963: attestation.publicKeyX963, app: attestation.app, previousCounter: 0)
        #expect(assertion.counter == AttestSample.counter)
    }

    @Test func `has a proof and an access token that verify`() throws {
        func seed(_ name: String) throws -> String {
            String(decoding: try Data(contentsOf: Self.folder.appendingPathComponent(name)), as: UTF8.self)
        }
        for name in ["genuine", "other-claims"] {
            let proof = try DPoPVerifier().verify(
                DPoPSample.proofRequest(try seed("dpop-proof/\(name)")), at: DPoPSample.time,
                spending: MemoryReplayStore())
            #expect(proof.key == DPoPSample.deviceKey)
        }
        for name in ["genuine", "audiences"] {
            let field = "Bearer " + (try seed("access-token/\(name)"))
            let token = try #require(try PresentedToken.read(authorization: [field]))
            let verified = try DPoPSample.tokenVerifier.verify(token, at: DPoPSample.time)
            #expect(verified.claims.boundKey == DPoPSample.deviceKey.thumbprint)
        }
    }

    @Test func `has passkeys of every format that register, and one that signs in`() async throws {
        func seed(_ name: String) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: Self.folder.appendingPathComponent(name)))
        }
        for name in ["packed", "apple", "android", "u2f", "extensions"] {
            let registration = try await PasskeySample.registrations.verify(
                RegistrationResponse(
                    clientDataJSON: PasskeySample.registrationClientData,
                    attestationObject: try seed("passkey-registration/\(name)")),
                challenge: PasskeySample.challenge, at: PasskeySample.time)
            #expect(registration.record.publicKey == PasskeySample.record.publicKey)
        }
        let bytes = try seed("passkey-authentication/genuine")
        let end = bytes.count - PasskeySample.signature.count
        #expect(bytes[end...].elementsEqual(PasskeySample.signature))
        let data = Array(bytes[(end - 37)..<end])
        let clientData = Array(bytes[2..<(end - 39)])
        #expect(data + PasskeySample.hash(clientData) == PasskeySample.signedBytes)
        let authentication = try PasskeySample.authentications.verify(
            AuthenticationResponse(
                clientDataJSON: clientData, authenticatorData: data, signature: PasskeySample.signature),
            challenge: PasskeySample.challenge, credential: PasskeySample.record)
        #expect(authentication.record.signCount == 1)
    }

    /// All of it is JSON to the one reader, or isn't.
    @Test func `keeps the promises of JSON, whichever reader it is for`() throws {
        guard case .immediate(let check) = jsonFuzzTarget.check else {
            throw FuzzViolation(description: "it answers at once")
        }
        var texts = 0
        for name in try Self.names(in: Self.folder) {
            let folder = Self.folder.appendingPathComponent(name)
            for file in try Self.names(in: folder) {
                let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(file)))
                #expect(throws: Never.self, "\(name)/\(file)") { try check(bytes) }
                texts += JSONReader.isValid(bytes[...]) ? 1 : 0
            }
        }
        #expect(texts > 25)
    }

    @Test func `detects a broken reader`() {
        #expect(throws: FuzzViolation.self) { try require(1 + 1 == 3, "sums are right") }
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func `violates no property of any reader`(name: String) async throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let folder = Self.folder.appendingPathComponent(name)
        let names = try Self.names(in: folder)
        #expect(!names.isEmpty)
        for file in names {
            let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(file)))
            #expect(bytes.count <= Self.maximumBytes, "\(file)")
            for input in [bytes, [], Array(bytes.dropLast(bytes.count / 2))] {
                await #expect(throws: Never.self, "\(name)/\(file)") {
                    switch target.check {
                    case .immediate(let check): try check(input)
                    case .awaiting(let check): try await check(input)
                    }
                }
            }
        }
    }
}
