import AppAttest
import DeviceSimulation
import Testing

@Suite("Forged attestations")
struct AttestationDefectTests {
    @Test(arguments: AttestationDefect.allCases, [false, true])
    func `every defect is refused with its own error`(defect: AttestationDefect, hasExtensions: Bool) async throws {
        let simulation = try Simulation(.init(extensions: hasExtensions ? SimulatedExtensions() : nil))
        let forgery = try simulation.device.forgeAttestation(
            defect, clientDataHash: Simulation.clientDataHash, by: simulation.authority, at: Simulation.time)
        await #expect(throws: expected(for: defect)) {
            try await simulation.verify(forgery.attestation, keyID: forgery.keyID)
        }
    }

    /// The table of the expected error for each defect.
    private func expected(for defect: AttestationDefect) -> AttestationError {
        switch defect {
        case .otherRoot, .sameNamesOtherKeys, .leafSignedByOtherKey: .untrustedChain
        case .noCertificates: .certificateCount(0)
        case .oneCertificate: .certificateCount(1)
        case .threeCertificates: .certificateCount(3)
        case .intermediateFirst, .leafIssuedByRoot, .rootAsLeaf: .untrustedChain
        case .leafExpired: .certificateExpired(.leaf)
        case .leafNotYetValid: .certificateNotYetValid(.leaf)
        case .intermediateExpired: .certificateExpired(.intermediate)
        case .intermediateNotYetValid: .certificateNotYetValid(.intermediate)
        case .intermediateNotAnAuthority, .intermediateWithoutConstraints, .intermediateOfVersion1,
            .intermediateMayNotSign:
            .intermediateNotCertificateAuthority
        case .intermediateKeyOnCurve25519: .intermediateKeyNotECDSA
        case .leafIsAnAuthority: .leafIsCertificateAuthority
        case .unknownCriticalExtensionInLeaf: .unknownCriticalExtension(.leaf)
        case .unknownCriticalExtensionInIntermediate: .unknownCriticalExtension(.intermediate)
        case .garbageAsIntermediate, .intermediateNameNotASCII: .malformedCertificate(.intermediate)
        case .garbageAsLeaf, .trailingBytesAfterLeaf, .leafSignatureWithUnusedBit, .leafAlgorithmsDiffer,
            .leafPointNotOnCurve, .leafNameNotASCII:
            .malformedCertificate(.leaf)
        case .leafKeyOnP384: .leafKeyNotP256
        case .nonceExtensionMissing, .nonceExtensionInIntermediate: .nonceExtensionMissing
        case .nonceExtensionTwice: .duplicateExtension(.leaf)
        case .nonceExtensionOfOtherShape, .nonceExtensionWithTrailingBytes: .nonceExtensionMalformed
        case .nonceOfOtherChallenge, .nonceWithoutClientData: .nonceMismatch
        case .keyIDOfOtherKey: .keyIDMismatch
        default: expectedOfAuthenticatorData(for: defect)
        }
    }

    private func expectedOfAuthenticatorData(for defect: AttestationDefect) -> AttestationError {
        switch defect {
        case .bareBundleRPIDHash, .otherTeamRPIDHash: .rpIDHashMismatch
        case .counterNotZero: .counterNotZero(1)
        case .developmentAAGUID: .environmentNotAllowed(.development)
        case .sandboxAAGUID: .environmentNotAllowed(.sandbox)
        case .unknownAAGUID: .unknownEnvironment
        case .credentialIDOfOtherKey: .credentialIDMismatch
        case .credentialIDTooShort: .malformedAuthenticatorData(.credentialIDLength(31))
        case .credentialIDLengthBeyondEnd: .malformedAuthenticatorData(.credentialIDLength(65535))
        case .coseKeyOfOtherKey, .coseKeyNotOnCurve: .credentialKeyMismatch
        case .coseKeyOfOtherAlgorithm, .coseKeyWithMoreEntries: .malformedAuthenticatorData(.malformedCredentialKey)
        case .authenticatorDataTruncated: .malformedAuthenticatorData(.truncated)
        case .authenticatorDataWithTrailingByte, .extensionsNotAMap, .validationCategoryOfFiveBytes,
            .validationCategoryAboveUInt32:
            .malformedAuthenticatorData(.unexpectedExtensions)
        case .extensionsWithDuplicateKey: .malformedAuthenticatorData(.malformedExtensions(.duplicateKey))
        case .extensionsFollowedByMore: .malformedAuthenticatorData(.malformedExtensions(.trailingBytes))
        default: expectedOfObject(for: defect)
        }
    }

    private func expectedOfObject(for defect: AttestationDefect) -> AttestationError {
        switch defect {
        case .otherFormat: .unknownFormat
        case .authenticatorDataMissing: .unreadableField(.authData)
        case .statementMissing: .unreadableField(.attStmt)
        case .chainMissing, .chainOfTexts: .unreadableField(.x5c)
        case .unknownField, .unknownStatementField: .unknownField
        case .empty, .truncated, .hugeByteString, .hugeArray, .hugeMap: .malformedObject(.truncated)
        case .trailingBytes: .malformedObject(.trailingBytes)
        case .duplicateField: .malformedObject(.duplicateKey)
        case .indefiniteMap, .indefiniteBytes: .malformedObject(.indefiniteLength)
        case .nonMinimalLength: .malformedObject(.nonMinimalHead)
        case .reservedLength: .malformedObject(.reservedHead)
        case .invalidUTF8: .malformedObject(.invalidUTF8)
        case .bytesAsKey: .malformedObject(.unsupportedKey)
        case .nestedThousandDeep: .malformedObject(.tooDeep)
        case .tooLarge: .malformedObject(.tooLarge)
        // Tags and floating point; a defect missing from the table fails here.
        default: .malformedObject(.unsupportedType)
        }
    }

    @Test func `with those of assertions there are more than thirty forgeries, all different`() throws {
        let simulation = try Simulation()
        let forgeries = try AttestationDefect.allCases.map {
            try simulation.device.forgeAttestation(
                $0, clientDataHash: Simulation.clientDataHash, by: simulation.authority, at: Simulation.time
            ).attestation
        }
        #expect(Set(forgeries).count == forgeries.count)
        #expect(AttestationDefect.allCases.count + AssertionDefect.allCases.count >= 30)
    }

    @Test func `twenty bytes that announce 16 MiB are twenty bytes`() throws {
        let simulation = try Simulation()
        for defect in [AttestationDefect.hugeByteString, .hugeArray, .hugeMap] {
            let forgery = try simulation.device.forgeAttestation(
                defect, clientDataHash: Simulation.clientDataHash, by: simulation.authority, at: Simulation.time)
            #expect(forgery.attestation.count == 20)
        }
    }
}
