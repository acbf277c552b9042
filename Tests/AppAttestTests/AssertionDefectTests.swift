import AppAttest
import DeviceSimulation
import Testing

@Suite("Forged assertions")
struct AssertionDefectTests {
    @Test(arguments: AssertionDefect.allCases, [false, true])
    func `every defect is refused with its own error`(defect: AssertionDefect, hasExtensions: Bool) throws {
        let simulation = try Simulation(.init(extensions: hasExtensions ? SimulatedExtensions() : nil))
        let forgery = try simulation.device.forgeAssertion(defect, clientDataHash: Simulation.clientDataHash)
        #expect(throws: expected(for: defect)) {
            try simulation.verify(assertion: forgery.assertion, previousCounter: forgery.previousCounter)
        }
    }

    /// The table of the expected error for each defect.
    private func expected(for defect: AssertionDefect) -> AssertionError {
        switch defect {
        case .otherKey, .bareNonce, .otherChallenge, .withoutClientData, .authenticatorDataChangedAfterwards:
            .signatureMismatch
        case .emptySignature, .rawSignature, .signatureWithTrailingByte, .signatureNotDER: .malformedSignature
        case .otherApp, .bareBundleRPIDHash: .rpIDHashMismatch
        case .counterZero: .counterNotHigher(received: 0, previous: 0)
        case .counterEqual: .counterNotHigher(received: 7, previous: 7)
        case .counterLower: .counterNotHigher(received: 6, previous: 7)
        case .counterWrapped: .counterNotHigher(received: 0, previous: .max)
        case .authenticatorDataTruncated: .malformedAuthenticatorData(.truncated)
        case .authenticatorDataWithTrailingByte, .extensionsNotAMap:
            .malformedAuthenticatorData(.unexpectedExtensions)
        case .extensionsWithDuplicateKey: .malformedAuthenticatorData(.malformedExtensions(.duplicateKey))
        case .extensionsFollowedByMore: .malformedAuthenticatorData(.malformedExtensions(.trailingBytes))
        case .signatureMissing: .unreadableField(.signature)
        case .authenticatorDataMissing: .unreadableField(.authenticatorData)
        case .unknownField: .unknownField
        case .duplicateField: .malformedObject(.duplicateKey)
        case .notAMap: .notAMap
        case .empty, .truncated, .hugeByteString: .malformedObject(.truncated)
        case .trailingBytes: .malformedObject(.trailingBytes)
        case .indefiniteMap: .malformedObject(.indefiniteLength)
        case .nonMinimalLength: .malformedObject(.nonMinimalHead)
        case .nestedThousandDeep: .malformedObject(.tooDeep)
        case .tooLarge: .malformedObject(.tooLarge)
        }
    }

    @Test func `a stored key that is no point of P-256 is refused, whatever the assertion is`() throws {
        var simulation = try Simulation()
        let assertion = try simulation.device.assert(clientDataHash: Simulation.clientDataHash)
        var offCurve = simulation.device.publicKeyX963
        offCurve[64] ^= 1
        for key in [[], offCurve, Array(offCurve.dropLast())] {
            #expect(throws: AssertionError.invalidPublicKey) {
                try AssertionVerifier().verify(
                    assertion: assertion, clientDataHash: Simulation.clientDataHash, publicKeyX963: key,
                    app: simulation.device.app, previousCounter: 0)
            }
        }
    }
}
