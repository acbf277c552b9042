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

/// The possible defects of an assertion. Each has a forgery with this defect only.
///
/// Each forgery is for a verifier that knows the device's key and app and has stored the forgery's `previousCounter`.
package enum AssertionDefect: String, CaseIterable, Sendable {
    // The signature.
    case otherKey
    /// The nonce is signed as a digest, without being hashed again.
    case bareNonce
    case otherChallenge
    /// Signed over the authenticator data alone.
    case withoutClientData
    case authenticatorDataChangedAfterwards
    case emptySignature
    /// r and s without DER encoding.
    case rawSignature
    case signatureWithTrailingByte
    /// One DER length in two bytes, where one is enough.
    case signatureNotDER

    // The authenticator data.
    case otherApp, bareBundleRPIDHash
    case counterZero, counterEqual, counterLower
    /// The counter has wrapped from 4,294,967,295 to 0.
    case counterWrapped
    case authenticatorDataTruncated
    case authenticatorDataWithTrailingByte
    case extensionsNotAMap, extensionsWithDuplicateKey, extensionsFollowedByMore

    // The object.
    case signatureMissing, authenticatorDataMissing, unknownField, duplicateField
    case notAMap
    case empty, truncated, trailingBytes
    case indefiniteMap, nonMinimalLength
    case nestedThousandDeep, hugeByteString, tooLarge
}

/// The plan of an assertion. Unchanged, it yields a genuine assertion; each forgery changes one part of it.
struct AssertionPlan {
    var authenticatorData: AuthenticatorDataPlan
    var clientDataHash: [UInt8]
    var key: P256.Signing.PrivateKey
    /// Applied to the authenticator data before it is signed.
    var changeAuthenticatorData: (inout [UInt8]) -> Void = { _ in }
    /// Applied to the authenticator data after it was signed.
    var changeSignedData: (inout [UInt8]) -> Void = { _ in }
    /// Signs the nonce. The nonce is the message, so it is hashed once more.
    var sign: (_ nonce: [UInt8], P256.Signing.PrivateKey) throws -> P256.Signing.ECDSASignature = { nonce, key in
        try key.signature(for: nonce)
    }
    /// Encodes the signature.
    var encodeSignature: (P256.Signing.ECDSASignature) -> [UInt8] = { Array($0.derRepresentation) }
    /// Applied to the entries of the map.
    var changeEntries: (inout [(CBORItem, CBORItem)]) -> Void = { _ in }
    /// Applied to the finished object.
    var changeObject: (inout [UInt8]) -> Void = { _ in }

    /// An assertion with the device's current counter.
    init(device: SimulatedDevice, clientDataHash: [UInt8]) {
        self.clientDataHash = clientDataHash
        key = device.key
        authenticatorData = AuthenticatorDataPlan(
            rpIDHash: device.app.rpIDHash, counter: device.counter,
            appended: device.options.extensions?.encoded ?? [])
    }

    func encoded() throws -> [UInt8] {
        var data = authenticatorData.bytes
        changeAuthenticatorData(&data)
        let nonce = Array(SHA256.hash(data: data + clientDataHash))
        let signature = try sign(nonce, key)
        changeSignedData(&data)
        var entries: [(CBORItem, CBORItem)] = [
            (.text("signature"), .bytes(encodeSignature(signature))), (.text("authenticatorData"), .bytes(data)),
        ]
        changeEntries(&entries)
        var object = CBORItem.map(entries).encoded
        changeObject(&object)
        return object
    }
}
