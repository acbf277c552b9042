import DeviceSimulation
import Testing
import WebAuthn

@Suite("A passkey")
struct CeremonyTests {
    @Test(arguments: PasskeyStage.keys.indices, PasskeyStage.formats)
    func `of every algorithm registers with every format that can have it, and signs in`(
        index: Int, format: SimulatedPasskey.Format
    ) async throws {
        let key = PasskeyStage.keys[index]
        // U2F has P-256 alone.
        guard format != .fidoU2F || key.algorithm == -7 else { return }
        var stage = try PasskeyStage(key)
        let registration = try await stage.register(format)
        #expect(registration.record.id == stage.passkey.credentialID)
        #expect(registration.record.publicKey.algorithm.rawValue == key.algorithm)
        #expect(registration.record.isBackupEligible && registration.record.isBackedUp)
        #expect(registration.record.isUserVerificationInitialized && registration.isUserVerified)
        #expect(registration.aaguid == stage.passkey.aaguid)
        #expect(registration.origin == "https://play.mud.example")
        let authentication = try stage.signIn(registration.record)
        #expect(authentication.record == registration.record)
        #expect(authentication.isUserVerified && authentication.origin == "https://play.mud.example")
    }

    @Test func `is attested as far as its statement and the anchors reach`() async throws {
        let stage = try PasskeyStage()
        #expect(try await stage.register(.none).attestation == .none)
        #expect(try await stage.register(.packedSelf).attestation == .selfSigned)
        #expect(try await stage.register(.other("tpm")).attestation == .unverified)
        #expect(try await stage.register(.other("android-safetynet")).attestation == .unverified)
        #expect(try await stage.register(.other("Packed")).attestation == .unverified)
        let formats: [(SimulatedPasskey.Format, AttestationFormat)] = [
            (.packed, .packed), (.apple, .apple), (.androidKey, .androidKey), (.fidoU2F, .fidoU2F),
        ]
        for (format, name) in formats {
            let trusted = try await stage.register(format).attestation
            guard case .trusted(name, let anchor) = trusted, trusted.isTrusted else {
                Issue.record("\(trusted)")
                continue
            }
            #expect(anchor.count == 32)
            let untrusted = try await stage.register(format, stage.registrationVerifier(anchors: [:])).attestation
            #expect(untrusted == .untrusted(name, .noAnchor) && !untrusted.isTrusted)
        }
    }

    @Test func `is read again from its stored key`() async throws {
        for key in PasskeyStage.keys {
            let stage = try PasskeyStage(key)
            let publicKey = try await stage.register().record.publicKey
            let read = try CredentialPublicKey(cose: publicKey.cose)
            #expect(read == publicKey && read.hashValue == publicKey.hashValue)
            #expect(read.algorithm == publicKey.algorithm)
        }
    }

    @Test func `may have a counter that stays at 0, or one that grows`() async throws {
        var synchronised = try PasskeyStage()
        var record = try await synchronised.register().record
        for _ in 0..<3 { record = try synchronised.signIn(record).record }
        #expect(record.signCount == 0)

        var counting = try PasskeyStage(countsSignatures: true)
        record = try await counting.register().record
        for expected in 1...3 as ClosedRange<UInt32> {
            record = try counting.signIn(record).record
            #expect(record.signCount == expected)
        }
    }

    @Test(
        arguments: [
            // Received, stored, and whether it is accepted.
            (0, 0, true), (1, 0, true), (2, 1, true), (7, 3, true), (.max, .max - 1, true), (1, 1, false),
            (1, 2, false),
            (0, 1, false), (0, .max, false), (.max, .max, false),
        ] as [(UInt32, UInt32, Bool)])
    func `signs in only with a higher counter, if either is above 0`(
        received: UInt32, stored: UInt32, isAccepted: Bool
    ) async throws {
        var stage = try PasskeyStage()
        let record = try await stage.register().record.with(signCount: stored)
        let result = Result { try stage.signIn(record) { $0.authenticatorData.signCount = received } }
        if isAccepted {
            #expect(try result.get().record.signCount == received)
        } else {
            let refusal = CeremonyError.counterNotHigher(received: received, previous: stored)
            #expect(throws: refusal) { try result.get() }
        }
    }

    @Test func `whose eligibility for backups has changed signs in, and the change is told`() async throws {
        var stage = try PasskeyStage()
        let record = try await stage.register().record
        let changed = try stage.signIn(record.with(isBackupEligible: false))
        #expect(changed.isBackupEligibilityChanged && changed.record.isBackupEligible)
        let lost = try stage.signIn(record) { $0.authenticatorData.flags = 0x05 }
        #expect(lost.isBackupEligibilityChanged && !lost.record.isBackupEligible && !lost.record.isBackedUp)
        #expect(try !stage.signIn(record).isBackupEligibilityChanged)
    }

    @Test func `keeps what it knew of user verification`() async throws {
        var stage = try PasskeyStage()
        stage.passkey.flags = 0x01
        let lenient = AuthenticationVerifier(relyingParty: PasskeyStage.relyingParty, requiresUserVerification: false)
        let record = try await stage.register(
            .none, stage.registrationVerifier(requiresUserVerification: false)
        ).record
        #expect(!record.isUserVerificationInitialized)
        #expect(try !stage.signIn(record, lenient).isUserVerified)
        stage.passkey.flags = 0x05
        let verified = try stage.signIn(record, lenient)
        #expect(verified.isUserVerified && !verified.record.isUserVerificationInitialized)
    }

    @Test func `may have outputs of extensions, and its credential beside an authentication`() async throws {
        var stage = try PasskeyStage()
        let outputs = CBORItem.map([(.text("credProtect"), .unsigned(2)), (.text("hmac-secret"), .boolean(true))])
        let record = try await stage.register(.packed) { $0.authenticatorData.extensions = outputs }.record
        let credential = PasskeyDataPlan.Credential(
            aaguid: stage.passkey.aaguid, id: stage.passkey.credentialID, key: try stage.passkey.key.coseEntries)
        _ = try stage.signIn(record) {
            $0.authenticatorData.extensions = outputs
            $0.authenticatorData.credential = credential
        }
    }

    @Test func `may have an identifier of 1 to 1,023 bytes`() async throws {
        let stage = try PasskeyStage()
        for length in [1, 16, 1_023] {
            let id = [UInt8](repeating: 7, count: length)
            let registration = try await stage.register(.packed) { $0.authenticatorData.credential?.id = id }
            #expect(registration.record.id == id)
        }
    }

    @Test func `is made and used in frames of expected pages only`() async throws {
        var stage = try PasskeyStage()
        let record = try await stage.register().record
        let portal = RelyingParty(
            id: "mud.example", origins: ["https://play.mud.example"], topOrigins: ["https://portal.example"])
        // Browsers of Level 2 don't tell the top origin.
        for topOrigin in ["https://portal.example", nil] {
            var framed = PasskeyStage.request
            (framed.isCrossOrigin, framed.topOrigin) = (true, topOrigin)
            _ = try await stage.register(.none, stage.registrationVerifier(relyingParty: portal), request: framed)
            _ = try stage.signIn(record, AuthenticationVerifier(relyingParty: portal), request: framed)
            await #expect(throws: CeremonyError.crossOriginNotAllowed) {
                try await stage.register(request: framed)
            }
            #expect(throws: CeremonyError.crossOriginNotAllowed) { try stage.signIn(record, request: framed) }
        }
        var foreign = PasskeyStage.request
        (foreign.isCrossOrigin, foreign.topOrigin) = (true, "https://evil.example")
        await #expect(throws: CeremonyError.topOriginNotAllowed) {
            try await stage.register(.none, stage.registrationVerifier(relyingParty: portal), request: foreign)
        }
        #expect(throws: CeremonyError.topOriginNotAllowed) {
            try stage.signIn(record, AuthenticationVerifier(relyingParty: portal), request: foreign)
        }
    }

    @Test func `is made and used where the member crossOrigin is missing`() async throws {
        var stage = try PasskeyStage()
        var request = PasskeyStage.request
        request.isCrossOrigin = nil
        let record = try await stage.register(request: request).record
        _ = try stage.signIn(record, request: request)
    }

    @Test func `is valid for each of the origins, native apps among them`() async throws {
        var stage = try PasskeyStage()
        let apk = "android:apk-key-hash:dYS2Y3SRa2jXvP0HhVEMdVLVRtUIhSNDJ2ckOtyvKYE"
        let relyingParty = RelyingParty(
            id: "mud.example", origins: ["https://mud.example", apk, "https://play.mud.example:8443"])
        for origin in relyingParty.origins {
            var request = PasskeyStage.request
            request.origin = origin
            let registration = try await stage.register(
                .none, stage.registrationVerifier(relyingParty: relyingParty), request: request)
            #expect(registration.origin == origin)
            let verifier = AuthenticationVerifier(relyingParty: relyingParty)
            #expect(try stage.signIn(registration.record, verifier, request: request).origin == origin)
        }
    }
}
