import Crypto
package import FoundationEssentials
import StrictDER
import SwiftASN1
package import X509

/// Client data as its members, each of which a forgery may change.
package struct PasskeyClientDataPlan: Sendable {
    /// Names with their JSON.
    package var members: [(name: String, json: String)]
    /// Applied to the whole text.
    package var changeText: @Sendable (inout [UInt8]) -> Void = { _ in }

    /// Replaces, adds or, with nil, removes a member.
    package mutating func set(_ name: String, _ json: String?) {
        members.removeAll { $0.name == name }
        if let json { members.append((name, json)) }
    }

    var encoded: [UInt8] {
        let pairs = members.map { "\(PasskeyRequest.quoted($0.name)):\($0.json)" }
        var text = Array("{\(pairs.joined(separator: ","))}".utf8)
        changeText(&text)
        return text
    }
}

/// Authenticator data as separate fields (section 6.1 of Web Authentication Level 3).
package struct PasskeyDataPlan: Sendable {
    package struct Credential: Sendable {
        package var aaguid: [UInt8]
        package var id: [UInt8]
        /// nil: the length of `id`.
        package var announcedLength: Int?
        package var key: [(CBORItem, CBORItem)]

        package init(aaguid: [UInt8], id: [UInt8], key: [(CBORItem, CBORItem)]) {
            (self.aaguid, self.id, self.key) = (aaguid, id, key)
        }

        var bytes: [UInt8] {
            let length = announcedLength ?? id.count
            return aaguid + [UInt8(length >> 8), UInt8(length & 0xFF)] + id + CBORItem.map(key).encoded
        }
    }

    package var rpIDHash: [UInt8]
    package var flags: UInt8
    package var signCount: UInt32
    package var credential: Credential?
    /// Outputs of extensions; their flag is set with them.
    package var extensions: CBORItem?
    /// Applied to the encoded data.
    package var changeBytes: @Sendable (inout [UInt8]) -> Void = { _ in }

    init(_ passkey: SimulatedPasskey, rpID: String) {
        rpIDHash = Array(SHA256.hash(data: Array(rpID.utf8)))
        (flags, signCount) = (passkey.flags, passkey.signCount)
    }

    var encoded: [UInt8] {
        let all = flags | (credential == nil ? 0 : 0x40) | (extensions == nil ? 0 : 0x80)
        let counter = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: signCount >> $0) }
        var bytes = rpIDHash + [all] + counter + (credential?.bytes ?? []) + (extensions?.encoded ?? [])
        changeBytes(&bytes)
        return bytes
    }
}

/// The plan of an authentication. Unchanged, it yields a genuine one.
package struct PasskeyAuthenticationPlan: Sendable {
    package var clientData: PasskeyClientDataPlan
    package var authenticatorData: PasskeyDataPlan
    package var key: SimulatedPasskeyKey
    /// Applied to the bytes that are signed.
    package var changeMessage: @Sendable (inout [UInt8]) -> Void = { _ in }
    package var changeSignature: @Sendable (inout [UInt8]) -> Void = { _ in }

    init(_ passkey: SimulatedPasskey, _ request: PasskeyRequest) {
        clientData = PasskeyClientDataPlan(members: request.clientData("webauthn.get"))
        authenticatorData = PasskeyDataPlan(passkey, rpID: request.rpID)
        key = passkey.key
    }

    func encoded() throws -> (clientDataJSON: [UInt8], authenticatorData: [UInt8], signature: [UInt8]) {
        let (json, data) = (clientData.encoded, authenticatorData.encoded)
        var message = data + Array(SHA256.hash(data: json))
        changeMessage(&message)
        var signature = try key.sign(message)
        changeSignature(&signature)
        return (json, data, signature)
    }
}

/// The plan of a registration. Unchanged, it yields a genuine one; each forgery changes one part of it.
///
/// The order is: client data, authenticator data, certificates, signature, statement, object. A change in one step
/// affects all later steps, so that a forgery has only the defect it is named for.
package struct PasskeyRegistrationPlan: Sendable {
    package let format: SimulatedPasskey.Format
    package var vendor: SimulatedVendor
    package let time: Date
    package var clientData: PasskeyClientDataPlan
    package var authenticatorData: PasskeyDataPlan
    /// The credential's.
    package let key: SimulatedPasskeyKey
    /// Makes the statement's signature: the credential's key, or the attestation certificate's.
    package var attestationKey: SimulatedPasskeyKey
    /// The attestation certificate's key.
    package var leafKey: Certificate.PublicKey
    /// `alg` of the statement; nil: that of ``attestationKey``.
    package var algorithm: CBORItem?
    /// Applied to the attestation certificate before it is issued.
    package var changeLeaf: @Sendable (inout PasskeyCertificatePlan) throws -> Void = { _ in }
    /// Applied to Android's key description.
    package var changeDescription: @Sendable (inout AndroidKeyDescriptionPlan) -> Void = { _ in }
    /// Applied to Apple's nonce.
    package var changeNonce: @Sendable (inout [UInt8]) -> Void = { _ in }
    /// Applied to `x5c`.
    package var changeChain: @Sendable (inout [[UInt8]]) throws -> Void = { _ in }
    /// Applied to the bytes that are signed.
    package var changeMessage: @Sendable (inout [UInt8]) -> Void = { _ in }
    package var changeSignature: @Sendable (inout [UInt8]) -> Void = { _ in }
    /// Applied to the entries of the statement.
    package var changeStatement: @Sendable (inout [(CBORItem, CBORItem)]) -> Void = { _ in }
    /// Applied to the entries of the object.
    package var changeEntries: @Sendable (inout [(CBORItem, CBORItem)]) -> Void = { _ in }
    /// Applied to the finished object.
    package var changeObject: @Sendable (inout [UInt8]) -> Void = { _ in }

    init(
        _ passkey: SimulatedPasskey, _ request: PasskeyRequest, _ format: SimulatedPasskey.Format,
        _ vendor: SimulatedVendor, at time: Date
    ) throws {
        (self.format, self.vendor, self.time, key) = (format, vendor, time, passkey.key)
        clientData = PasskeyClientDataPlan(members: request.clientData("webauthn.create"))
        authenticatorData = PasskeyDataPlan(passkey, rpID: request.rpID)
        authenticatorData.credential = .init(
            aaguid: passkey.aaguid, id: passkey.credentialID, key: try passkey.key.coseEntries)
        switch format {
        case .packed, .fidoU2F: attestationKey = .es256()
        case .none, .packedSelf, .apple, .androidKey, .other: attestationKey = passkey.key
        }
        leafKey = attestationKey.certificateKey
    }
}

// The steps.
extension PasskeyRegistrationPlan {
    func encoded() throws -> (clientDataJSON: [UInt8], attestationObject: [UInt8]) {
        let (json, data) = (clientData.encoded, authenticatorData.encoded)
        let hash = Array(SHA256.hash(data: json))
        var statement = try statement(data, hash)
        changeStatement(&statement)
        var entries: [(CBORItem, CBORItem)] = [
            (.text("fmt"), .text(formatName)), (.text("attStmt"), .map(statement)), (.text("authData"), .bytes(data)),
        ]
        changeEntries(&entries)
        var object = CBORItem.map(entries).encoded
        changeObject(&object)
        return (json, object)
    }

    private var formatName: String {
        switch format {
        case .none: "none"
        case .packed, .packedSelf: "packed"
        case .apple: "apple"
        case .androidKey: "android-key"
        case .fidoU2F: "fido-u2f"
        case .other(let name): name
        }
    }

    private func statement(_ data: [UInt8], _ hash: [UInt8]) throws -> [(CBORItem, CBORItem)] {
        let algorithm = (CBORItem.text("alg"), self.algorithm ?? .integer(attestationKey.algorithm))
        switch format {
        case .none, .other: return []
        case .packedSelf: return [algorithm, try signature(over: data + hash)]
        case .packed, .androidKey: return [algorithm, try signature(over: data + hash), try chain(data, hash)]
        case .apple: return [try chain(data, hash)]
        case .fidoU2F: return [try signature(over: try messageOfU2F(hash)), try chain(data, hash)]
        }
    }

    private func signature(over bytes: [UInt8]) throws -> (CBORItem, CBORItem) {
        var message = bytes
        changeMessage(&message)
        var signature = try attestationKey.sign(message)
        changeSignature(&signature)
        return (.text("sig"), .bytes(signature))
    }

    /// Section 8.6, step 5.
    private func messageOfU2F(_ hash: [UInt8]) throws -> [UInt8] {
        guard case .es256(let key) = key else { return [] }
        return [0] + authenticatorData.rpIDHash + hash + (authenticatorData.credential?.id ?? [])
            + key.publicKey.x963Representation
    }

    private func chain(_ data: [UInt8], _ hash: [UInt8]) throws -> (CBORItem, CBORItem) {
        var plan = vendor.leaf(leafKey, by: format == .fidoU2F ? vendor.root : vendor.intermediate, at: time)
        switch format {
        case .packed: plan.extensions = [Self.aaguid(authenticatorData.credential?.aaguid ?? [])]
        case .apple:
            var nonce = Array(SHA256.hash(data: data + hash))
            changeNonce(&nonce)
            plan.extensions = [CertificatePlan.nonceExtension(NonceExtension.value(for: nonce))]
        case .androidKey:
            var description = AndroidKeyDescriptionPlan(challenge: hash)
            changeDescription(&description)
            plan.extensions = [description.certificateExtension]
        case .none, .packedSelf, .fidoU2F, .other: break
        }
        try changeLeaf(&plan)
        var chain = [try plan.issue(by: format == .fidoU2F ? vendor.rootKey : vendor.intermediateKey).derBytes]
        if format != .fidoU2F { chain.append(try vendor.intermediate.derBytes) }
        try changeChain(&chain)
        return (.text("x5c"), .array(chain.map(CBORItem.bytes)))
    }

    /// The extension id-fido-gen-ce-aaguid (section 8.2.1).
    package static func aaguid(_ bytes: [UInt8], critical: Bool = false) -> Certificate.Extension {
        let value = DERItem.encode([0x04], bytes)
        return Certificate.Extension(oid: [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4], critical: critical, value: value[...])
    }
}
