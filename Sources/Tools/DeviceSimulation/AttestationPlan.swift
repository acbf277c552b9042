import AppAttest
import Crypto
import FoundationEssentials
import StrictDER
import X509

/// The plan of an attestation. Unchanged, it yields a genuine attestation; each forgery changes one part of it.
///
/// The order is: authenticator data, the nonce over it, the leaf with the nonce, the object. A change in one step
/// affects all later steps, so that a forgery has only the defect it is named for.
struct AttestationPlan {
    let device: SimulatedDevice
    var authority: SimulatedAuthority
    let time: Date
    var clientDataHash: [UInt8]
    var keyID: [UInt8]
    var authenticatorData: AuthenticatorDataPlan
    /// Applied to the authenticator data before the nonce is computed.
    var changeAuthenticatorData: (inout [UInt8]) -> Void = { _ in }
    /// The leaf's extensions that contain the nonce.
    var nonceExtensions: (_ nonce: [UInt8]) -> [Certificate.Extension] = {
        [CertificatePlan.nonceExtension(NonceExtension.value(for: $0))]
    }
    /// Applied to the leaf before it is issued.
    var changeLeaf: (inout CertificatePlan) -> Void = { _ in }
    /// The issuer's key of the leaf: the intermediate's by default.
    var leafIssuerKey: P384.Signing.PrivateKey
    /// Applied to the leaf's DER.
    var changeLeafBytes: (Certificate) throws -> [UInt8] = { try $0.derBytes }
    /// Applied to the intermediate before the same root issues it again. nil keeps the authority's own intermediate.
    var changeIntermediate: ((_ nonce: [UInt8], inout CertificatePlan) -> Void)?
    /// Applied to `x5c`.
    var changeChain: (inout [[UInt8]]) -> Void = { _ in }
    var format = CBORItem.text("apple-appattest")
    var receipt: CBORItem? = .bytes(Array("a receipt that nobody reads".utf8))
    /// Applied to the entries of the outer map.
    var changeEntries: (inout [(CBORItem, CBORItem)]) -> Void = { _ in }
    /// Applied to the finished object.
    var changeObject: (inout [UInt8]) -> Void = { _ in }

    init(device: SimulatedDevice, authority: SimulatedAuthority, clientDataHash: [UInt8], time: Date) {
        self.device = device
        self.authority = authority
        self.time = time
        self.clientDataHash = clientDataHash
        keyID = device.keyID
        leafIssuerKey = authority.intermediateKey
        let environment = AttestationEnvironment(rawValue: device.options.environment) ?? .production
        authenticatorData = AuthenticatorDataPlan(
            rpIDHash: device.app.rpIDHash,
            credential: CredentialPlan(
                aaguid: environment.aaguid, credentialID: device.keyID,
                coseKey: CredentialPlan.coseKey(device.publicKeyX963)),
            appended: device.options.extensions?.encoded ?? [])
    }

    /// Makes another authority issue all certificates.
    mutating func use(_ other: SimulatedAuthority) {
        authority = other
        leafIssuerKey = other.intermediateKey
    }

    func encoded() throws -> [UInt8] {
        var data = authenticatorData.bytes
        changeAuthenticatorData(&data)
        let nonce = Array(SHA256.hash(data: data + clientDataHash))
        let chain = try chain(nonce: nonce)
        var statement: [(CBORItem, CBORItem)] = [(.text("x5c"), .array(chain.map(CBORItem.bytes)))]
        if let receipt { statement.append((.text("receipt"), receipt)) }
        var entries: [(CBORItem, CBORItem)] = [
            (.text("fmt"), format), (.text("attStmt"), .map(statement)), (.text("authData"), .bytes(data)),
        ]
        changeEntries(&entries)
        var object = CBORItem.map(entries).encoded
        changeObject(&object)
        return object
    }

    private func chain(nonce: [UInt8]) throws -> [[UInt8]] {
        var plan = CertificatePlan.leaf(
            authority.names, keyID: keyID, key: Certificate.PublicKey(device.key.publicKey), at: time,
            lifetime: device.options.leafLifetime)
        plan.extensions = nonceExtensions(nonce)
        changeLeaf(&plan)
        let leaf = try changeLeafBytes(try plan.issue(by: leafIssuerKey))
        var chain = [leaf, try intermediate(nonce: nonce).derBytes]
        changeChain(&chain)
        return chain
    }

    private func intermediate(nonce: [UInt8]) throws -> Certificate {
        guard let changeIntermediate else { return authority.intermediate }
        var plan = CertificatePlan.intermediate(
            authority.names, key: authority.intermediateKey.publicKey, at: time)
        changeIntermediate(nonce, &plan)
        return try plan.issue(by: authority.rootKey)
    }
}

/// Authenticator data as separate fields, each of which a forgery may change. AppAttest's `AuthenticatorData` documents
/// the layout.
struct AuthenticatorDataPlan {
    var rpIDHash: [UInt8]
    var flags: UInt8 = 0x40
    var counter: UInt32 = 0
    /// nil in assertions.
    var credential: CredentialPlan?
    /// The bytes after the fixed fields: none before iOS 27.
    var appended: [UInt8] = []

    var bytes: [UInt8] {
        let counterBytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
        return rpIDHash + [flags] + counterBytes + (credential?.bytes ?? []) + appended
    }
}

/// The attested credential data of an attestation.
struct CredentialPlan {
    var aaguid: [UInt8]
    var credentialID: [UInt8]
    /// nil: the length of `credentialID`.
    var announcedLength: UInt16?
    var coseKey: [UInt8]

    var bytes: [UInt8] {
        let length = announcedLength ?? UInt16(truncatingIfNeeded: credentialID.count)
        return aaguid + [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + credentialID + coseKey
    }

    /// A P-256 key as App Attest encodes it (RFC 9053, section 7.1.1).
    /// - Parameter x963: 65 bytes.
    static func coseKey(_ x963: [UInt8], algorithm: CBORItem = .negative(6)) -> [UInt8] {
        CBORItem.map([
            (.unsigned(1), .unsigned(2)), (.unsigned(3), algorithm), (.negative(0), .unsigned(1)),
            (.negative(1), .bytes(Array(x963[1..<33]))), (.negative(2), .bytes(Array(x963[33...]))),
        ]).encoded
    }
}

/// The map that iOS 27 and macOS 27 append to authenticator data.
package struct SimulatedExtensions: Hashable, Sendable, Codable {
    package var validationCategory: UInt32?
    package var bundleVersion: String?

    package init(validationCategory: UInt32? = 4, bundleVersion: String? = "1") {
        self.validationCategory = validationCategory
        self.bundleVersion = bundleVersion
    }

    var encoded: [UInt8] {
        var entries: [(CBORItem, CBORItem)] = []
        if let bundleVersion { entries.append((.text("apple_bundle_version_01"), .text(bundleVersion))) }
        if let validationCategory { entries.append((Self.categoryKey, Self.category(validationCategory))) }
        return CBORItem.map(entries).encoded
    }

    static let categoryKey = CBORItem.text("apple_validation_category_01")

    /// Four bytes, little-endian.
    static func category(_ number: UInt32) -> CBORItem {
        .bytes([0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> $0) })
    }
}
