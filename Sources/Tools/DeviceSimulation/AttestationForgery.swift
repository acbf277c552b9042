import AppAttest
import Crypto
package import FoundationEssentials
import StrictDER
import X509

/// The data that an attacker sends to register a key.
package struct AttestationForgery: Sendable {
    package let attestation: [UInt8]
    package let keyID: [UInt8]
}

extension SimulatedDevice {
    /// An attestation with one defect.
    /// - Parameter authority: the authority that the verifier trusts.
    package func forgeAttestation(
        _ defect: AttestationDefect, clientDataHash: [UInt8], by authority: SimulatedAuthority, at time: Date
    ) throws -> AttestationForgery {
        var plan = AttestationPlan(device: self, authority: authority, clientDataHash: clientDataHash, time: time)
        try plan.apply(defect)
        return AttestationForgery(attestation: try plan.encoded(), keyID: plan.keyID)
    }
}

extension AttestationPlan {
    /// Each group changes the plan if it contains the defect.
    fileprivate mutating func apply(_ defect: AttestationDefect) throws {
        try applyToAuthority(defect)
        try applyToChain(defect)
        applyToValidity(defect)
        applyToConstraints(defect)
        applyToCertificateBytes(defect)
        applyToNonce(defect)
        applyToCredential(defect)
        applyToAuthenticatorData(defect)
        applyToExtensions(defect)
        applyToFields(defect)
        changeObject = ObjectForgery.change(for: defect) ?? changeObject
    }

    private mutating func applyToAuthority(_ defect: AttestationDefect) throws {
        switch defect {
        case .otherRoot:
            use(try SimulatedAuthority(at: time, names: .init(root: "Another Root", intermediate: "Another CA")))
        case .sameNamesOtherKeys:
            use(try SimulatedAuthority(at: time, names: authority.names))
        case .leafSignedByOtherKey: leafIssuerKey = P384.Signing.PrivateKey()
        default: break
        }
    }

    private mutating func applyToChain(_ defect: AttestationDefect) throws {
        let root = try authority.root.derBytes
        switch defect {
        case .noCertificates: changeChain = { $0 = [] }
        case .oneCertificate: changeChain = { $0.removeLast() }
        case .threeCertificates: changeChain = { $0.append(root) }
        case .intermediateFirst: changeChain = { $0.reverse() }
        case .rootAsLeaf: changeChain = { $0[0] = root }
        case .leafIssuedByRoot:
            leafIssuerKey = authority.rootKey
            changeLeaf = { [names = authority.names] in $0.issuer = names.root }
        default: break
        }
    }

    private mutating func applyToValidity(_ defect: AttestationDefect) {
        let (before, after) = (time - 60, time + 60)
        switch defect {
        case .leafExpired: changeLeaf = { $0.notAfter = before }
        case .leafNotYetValid: changeLeaf = { $0.notBefore = after }
        case .intermediateExpired: changeIntermediate = { $1.notAfter = before }
        case .intermediateNotYetValid: changeIntermediate = { $1.notBefore = after }
        default: break
        }
    }

    private mutating func applyToConstraints(_ defect: AttestationDefect) {
        switch defect {
        case .intermediateNotAnAuthority: changeIntermediate = { $1.constraints = .notCertificateAuthority }
        case .intermediateWithoutConstraints: changeIntermediate = { $1.constraints = nil }
        case .intermediateOfVersion1:
            changeIntermediate = {
                $1.version = .v1
                $1.constraints = nil
                $1.usage = nil
            }
        case .intermediateMayNotSign: changeIntermediate = { $1.usage = KeyUsage(digitalSignature: true) }
        case .intermediateKeyOnCurve25519:
            changeIntermediate = { $1.key = Certificate.PublicKey(Curve25519.Signing.PrivateKey().publicKey) }
        case .leafNameNotASCII: changeLeaf = { $0.subject += "\u{345}\u{300}" }
        case .intermediateNameNotASCII: changeIntermediate = { $1.subject += "\u{345}\u{300}" }
        case .leafIsAnAuthority:
            changeLeaf = { $0.constraints = .isCertificateAuthority(maxPathLength: 0) }
        case .unknownCriticalExtensionInLeaf:
            changeLeaf = { $0.extensions.append(CertificatePlan.unknownExtension(critical: true)) }
        case .unknownCriticalExtensionInIntermediate:
            changeIntermediate = { $1.extensions.append(CertificatePlan.unknownExtension(critical: true)) }
        default: break
        }
    }

    private mutating func applyToCertificateBytes(_ defect: AttestationDefect) {
        let issuer = leafIssuerKey
        let point = device.publicKeyX963
        switch defect {
        case .garbageAsLeaf: changeChain = { $0[0] = Array("not a certificate".utf8) }
        case .garbageAsIntermediate: changeChain = { $0[1] = Array("not a certificate".utf8) }
        case .trailingBytesAfterLeaf: changeLeafBytes = { try $0.derBytes + [0] }
        case .leafSignatureWithUnusedBit:
            changeLeafBytes = { try DERForgery.withUnusedBit($0, signedBy: issuer) }
        case .leafAlgorithmsDiffer: changeLeafBytes = DERForgery.withAlgorithmParameters
        case .leafKeyOnP384:
            let key = P384.Signing.PrivateKey().publicKey
            keyID = Array(SHA256.hash(data: key.x963Representation))
            changeLeaf = { $0.key = Certificate.PublicKey(key) }
        case .leafPointNotOnCurve:
            changeLeafBytes = { try $0.resigned(by: issuer) { DERForgery.increment(lastByteOf: point, in: &$0) } }
        default: break
        }
    }

    private mutating func applyToNonce(_ defect: AttestationDefect) {
        let issuer = leafIssuerKey
        let data = authenticatorData.bytes
        switch defect {
        case .nonceExtensionMissing: nonceExtensions = { _ in [] }
        case .nonceExtensionTwice:
            // X509 doesn't write an extension twice: an extension with another name is written and renamed.
            nonceExtensions = { nonce in
                let value = NonceExtension.value(for: nonce)
                return [
                    CertificatePlan.nonceExtension(value),
                    Certificate.Extension(oid: DERForgery.otherOID, critical: false, value: value[...]),
                ]
            }
            changeLeafBytes = { try $0.resigned(by: issuer, changing: DERForgery.renameOtherToNonce) }
        case .nonceExtensionInIntermediate:
            nonceExtensions = { _ in [] }
            changeIntermediate = {
                $1.extensions.append(CertificatePlan.nonceExtension(NonceExtension.value(for: $0)))
            }
        case .nonceExtensionOfOtherShape:
            nonceExtensions = { [CertificatePlan.nonceExtension([0x04, 0x20] + $0)] }
        case .nonceExtensionWithTrailingBytes:
            nonceExtensions = { [CertificatePlan.nonceExtension(NonceExtension.value(for: $0) + [0])] }
        case .nonceOfOtherChallenge: clientDataHash = Array(SHA256.hash(data: Array("another challenge".utf8)))
        case .nonceWithoutClientData:
            let nonce = Array(SHA256.hash(data: data))
            nonceExtensions = { _ in [CertificatePlan.nonceExtension(NonceExtension.value(for: nonce))] }
        default: break
        }
    }

    private mutating func applyToCredential(_ defect: AttestationDefect) {
        let other = SimulatedDevice(app: device.app)
        var offCurve = device.publicKeyX963
        offCurve[64] ^= 1
        switch defect {
        case .keyIDOfOtherKey:
            keyID = other.keyID
            authenticatorData.credential?.credentialID = other.keyID
        case .credentialIDOfOtherKey: authenticatorData.credential?.credentialID = other.keyID
        case .credentialIDTooShort: authenticatorData.credential?.credentialID.removeLast()
        case .credentialIDLengthBeyondEnd: authenticatorData.credential?.announcedLength = 0xffff
        case .coseKeyOfOtherKey:
            authenticatorData.credential?.coseKey = CredentialPlan.coseKey(other.publicKeyX963)
        case .coseKeyNotOnCurve: authenticatorData.credential?.coseKey = CredentialPlan.coseKey(offCurve)
        case .coseKeyOfOtherAlgorithm:
            authenticatorData.credential?.coseKey = CredentialPlan.coseKey(
                device.publicKeyX963, algorithm: .negative(34))
        case .coseKeyWithMoreEntries:
            authenticatorData.credential?.coseKey[0] += 1
            authenticatorData.credential?.coseKey += CBORItem.negative(3).encoded + CBORItem.null.encoded
        default: break
        }
    }

    private mutating func applyToAuthenticatorData(_ defect: AttestationDefect) {
        let team = device.app.teamID.first == "Z" ? "A" : "Z"
        let other = team + device.app.description.dropFirst()
        switch defect {
        case .bareBundleRPIDHash: authenticatorData.rpIDHash = Array(SHA256.hash(data: device.app.bundleID.bytes))
        case .otherTeamRPIDHash: authenticatorData.rpIDHash = Array(SHA256.hash(data: other.bytes))
        case .counterNotZero: authenticatorData.counter = 1
        case .developmentAAGUID:
            authenticatorData.credential?.aaguid = AttestationEnvironment.development.aaguid
        case .sandboxAAGUID: authenticatorData.credential?.aaguid = AttestationEnvironment.sandbox.aaguid
        case .unknownAAGUID: authenticatorData.credential?.aaguid = Array("appattest1234567".utf8)
        case .authenticatorDataTruncated: changeAuthenticatorData = { $0.removeLast($0.count - 54) }
        case .authenticatorDataWithTrailingByte: authenticatorData.appended = [0]
        default: break
        }
    }

    private mutating func applyToExtensions(_ defect: AttestationDefect) {
        let key = SimulatedExtensions.categoryKey
        let category = SimulatedExtensions.category(4)
        switch defect {
        case .extensionsNotAMap: authenticatorData.appended = CBORItem.array([category]).encoded
        case .extensionsWithDuplicateKey:
            authenticatorData.appended = CBORItem.map([(key, category), (key, category)]).encoded
        case .extensionsFollowedByMore:
            authenticatorData.appended = CBORItem.map([(key, category)]).encoded + CBORItem.map([]).encoded
        case .validationCategoryOfFiveBytes:
            authenticatorData.appended = CBORItem.map([(key, .bytes([4, 0, 0, 0, 0]))]).encoded
        case .validationCategoryAboveUInt32:
            authenticatorData.appended = CBORItem.map([(key, .unsigned(1 << 32))]).encoded
        default: break
        }
    }

    private mutating func applyToFields(_ defect: AttestationDefect) {
        switch defect {
        case .otherFormat: format = .text("packed")
        case .authenticatorDataMissing: changeEntries = { $0.removeLast() }
        case .statementMissing: changeEntries = { $0.remove(at: 1) }
        case .chainMissing: changeEntries = { $0[1].1 = .map([]) }
        case .unknownField: changeEntries = { $0.append((.text("more"), .null)) }
        case .unknownStatementField:
            changeEntries = { $0[1].1 = .map([(.text("x5c"), .array([])), (.text("alg"), .null)]) }
        case .chainOfTexts: changeEntries = { $0[1].1 = .map([(.text("x5c"), .array([.text("a"), .text("b")]))]) }
        case .duplicateField: changeEntries = { $0.append($0[2]) }
        default: break
        }
    }
}

extension StringProtocol {
    fileprivate var bytes: [UInt8] { Array(utf8) }
}
