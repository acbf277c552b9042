import AppAttest
import Crypto
import FoundationEssentials
import X509

/// An attestation before it is made. Untouched it becomes a genuine one; every forgery changes it in one place.
///
/// Authenticator data first, then the nonce over it, then the leaf that carries the nonce, then the object: a change in
/// one is seen by all that follow, so that a forgery is wrong in the one way that it is named for.
struct AttestationPlan {
    let device: SimulatedDevice
    var authority: SimulatedAuthority
    let time: Date
    var clientDataHash: [UInt8]
    var keyID: [UInt8]
    var authenticatorData: AuthenticatorDataPlan
    /// Applied to the authenticator data before the nonce is made.
    var changeAuthenticatorData: (inout [UInt8]) -> Void = { _ in }
    /// The leaf's extensions that carry the nonce.
    var nonceExtensions: (_ nonce: [UInt8]) -> [Certificate.Extension] = {
        [CertificatePlan.nonceExtension(NonceExtension.value(for: $0))]
    }
    /// Applied to the leaf before it is issued.
    var changeLeaf: (inout CertificatePlan) -> Void = { _ in }
    /// Who issues the leaf: the intermediate by default.
    var leafIssuerKey: P384.Signing.PrivateKey
    /// Applied to the leaf's DER.
    var changeLeafBytes: (Certificate) throws -> [UInt8] = { try $0.derBytes }
    /// Applied to the intermediate before it is issued again by the same root. nil keeps the authority's own.
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

    /// Lets another authority issue everything.
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
