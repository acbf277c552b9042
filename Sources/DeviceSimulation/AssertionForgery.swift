import AppAttest
import Crypto

/// The data that an attacker sends to be admitted.
package struct AssertionForgery: Sendable {
    package let assertion: [UInt8]
    /// The counter that the verifier must have stored for the forgery to be invalid.
    package let previousCounter: UInt32
}

extension SimulatedDevice {
    /// An assertion with one defect. The device's own counter doesn't change.
    package func forgeAssertion(_ defect: AssertionDefect, clientDataHash: [UInt8]) throws -> AssertionForgery {
        var device = self
        let previous: UInt32
        switch defect {
        case .counterZero: (previous, device.counter) = (0, 0)
        case .counterEqual: (previous, device.counter) = (7, 7)
        case .counterLower: (previous, device.counter) = (7, 6)
        case .counterWrapped: (previous, device.counter) = (.max, 0)
        default:
            previous = counter
            device.counter += 1
        }
        var plan = AssertionPlan(device: device, clientDataHash: clientDataHash)
        plan.apply(defect, app: app)
        return AssertionForgery(assertion: try plan.encoded(), previousCounter: previous)
    }
}

extension AssertionPlan {
    /// Each group changes the plan if it contains the defect.
    fileprivate mutating func apply(_ defect: AssertionDefect, app: AppID) {
        applyToSigning(defect)
        applyToSignature(defect)
        applyToAuthenticatorData(defect, app: app)
        applyToFields(defect)
        changeObject = ObjectForgery.change(for: defect) ?? changeObject
    }

    private mutating func applyToSigning(_ defect: AssertionDefect) {
        let data = authenticatorData.bytes
        switch defect {
        case .otherKey: key = P256.Signing.PrivateKey()
        case .bareNonce:
            let (data, hash) = (data, clientDataHash)
            sign = { _, key in try key.signature(for: SHA256.hash(data: data + hash)) }
        case .otherChallenge: clientDataHash = Array(SHA256.hash(data: Array("another challenge".utf8)))
        case .withoutClientData: clientDataHash = []
        case .authenticatorDataChangedAfterwards: changeSignedData = { $0[36] &+= 1 }
        default: break
        }
    }

    private mutating func applyToSignature(_ defect: AssertionDefect) {
        switch defect {
        case .emptySignature: encodeSignature = { _ in [] }
        case .rawSignature: encodeSignature = { Array($0.rawRepresentation) }
        case .signatureWithTrailingByte: encodeSignature = { Array($0.derRepresentation) + [0] }
        case .signatureNotDER:
            encodeSignature = { Array($0.derRepresentation.prefix(1)) + [0x81] + $0.derRepresentation.dropFirst() }
        default: break
        }
    }

    private mutating func applyToAuthenticatorData(_ defect: AssertionDefect, app: AppID) {
        let entry = (SimulatedExtensions.categoryKey, SimulatedExtensions.category(4))
        switch defect {
        case .otherApp:
            authenticatorData.rpIDHash = Array(SHA256.hash(data: Array((app.description + ".other").utf8)))
        case .bareBundleRPIDHash:
            authenticatorData.rpIDHash = Array(SHA256.hash(data: Array(app.bundleID.utf8)))
        case .authenticatorDataTruncated: changeAuthenticatorData = { $0.removeLast($0.count - 36) }
        case .authenticatorDataWithTrailingByte: authenticatorData.appended = [0]
        case .extensionsNotAMap: authenticatorData.appended = CBORItem.array([entry.1]).encoded
        case .extensionsWithDuplicateKey: authenticatorData.appended = CBORItem.map([entry, entry]).encoded
        case .extensionsFollowedByMore:
            authenticatorData.appended = CBORItem.map([entry]).encoded + CBORItem.map([]).encoded
        default: break
        }
    }

    private mutating func applyToFields(_ defect: AssertionDefect) {
        switch defect {
        case .signatureMissing: changeEntries = { $0.removeFirst() }
        case .authenticatorDataMissing: changeEntries = { $0.removeLast() }
        case .unknownField: changeEntries = { $0.append((.text("more"), .null)) }
        case .duplicateField: changeEntries = { $0.append($0[1]) }
        case .notAMap: changeObject = { $0 = CBORItem.array([.bytes($0)]).encoded }
        default: break
        }
    }
}
