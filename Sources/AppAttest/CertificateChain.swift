import Crypto
import FoundationEssentials
package import SwiftASN1
import X509
@_spi(FixedExpiryValidationTime) import X509

/// Apple's step 1: the chain of leaf, intermediate and trust root.
///
/// swift-certificates checks signatures, names, validity, critical extensions and constraints (RFC 5280, section 6.1). This type
/// checks the rest: exactly this chain, in strict DER, through an authority that may issue.
struct CertificateChain {
    let leaf: Certificate
    let intermediate: Certificate
    let root: Certificate

    init(leaf: [UInt8], intermediate: [UInt8], root: TrustRoot) throws(AttestationError) {
        self.leaf = try Self.certificate(leaf, at: .leaf)
        self.intermediate = try Self.certificate(intermediate, at: .intermediate)
        self.root = root.certificate
        // The leaf's signature is checked with a key that isn't trusted yet. Apple's is on P-384; with RSA the sender could choose
        // how long the check takes.
        guard Self.isECDSA(self.intermediate.publicKey) else { throw .intermediateKeyNotECDSA }
    }

    private static func isECDSA(_ key: Certificate.PublicKey) -> Bool {
        P384.Signing.PublicKey(key) != nil || P256.Signing.PublicKey(key) != nil
    }

    /// - Parameter time: the time at which all three certificates must be valid.
    func verify(at time: Date) async throws(AttestationError) {
        try checkRange(of: time)
        var verifier = Verifier(rootCertificates: CertificateStore([root])) {
            RFC5280Policy(fixedExpiryValidationTime: time)
        }
        let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore([intermediate]))
        switch result {
        case .couldNotValidate(let failures):
            throw failures.isEmpty ? unbuildable() : refusal(at: time)
        case .validCertificate(let chain):
            // The verifier also accepts shorter chains: a leaf issued by the root itself, or the root as leaf.
            guard Array(chain) == [leaf, intermediate, root] else { throw .untrustedChain }
        }
        guard intermediate.mayIssue else { throw .intermediateNotCertificateAuthority }
        guard !leaf.isCertificateAuthority else { throw .leafIsCertificateAuthority }
    }

    /// Seconds of 9999-12-31T23:59:59Z, the latest time that a certificate can contain (RFC 5280, section 4.1.2.5).
    private static let latestTime: TimeInterval = 253_402_300_799

    /// Refuses times that can't be written as a GeneralizedTime.
    private func checkRange(of time: Date) throws(AttestationError) {
        guard time.timeIntervalSince1970 >= 0 else { throw .certificateNotYetValid(.leaf) }
        guard time.timeIntervalSince1970 <= Self.latestTime else { throw .certificateExpired(.leaf) }
    }
}

// Selects the error. The verifier has already refused: the code below only finds the error's name.
extension CertificateChain {
    /// No chain to the root could be built at all.
    private func unbuildable() -> AttestationError {
        let known = RFC5280Policy().verifyingCriticalExtensions
        for (certificate, position) in [(leaf, ChainPosition.leaf), (intermediate, .intermediate)]
        where certificate.extensions.contains(where: { $0.critical && !known.contains($0.oid) }) {
            return .unknownCriticalExtension(position)
        }
        return .untrustedChain
    }

    /// A chain was built, but violates RFC 5280's rules.
    private func refusal(at time: Date) -> AttestationError {
        for (certificate, position) in [(leaf, ChainPosition.leaf), (intermediate, .intermediate), (root, .root)] {
            if time < certificate.notValidBefore { return .certificateNotYetValid(position) }
            if time > certificate.notValidAfter { return .certificateExpired(position) }
        }
        return intermediate.mayIssue ? .untrustedChain : .intermediateNotCertificateAuthority
    }
}

// Reads a certificate, more strictly than X509 does.
extension CertificateChain {
    private static func certificate(
        _ bytes: [UInt8], at position: ChainPosition
    ) throws(AttestationError) -> Certificate {
        do {
            let node = try DER.parse(bytes)
            guard try hasPlainNames(node) else { throw AttestationError.malformedCertificate(position) }
            let certificate = try Certificate(derEncoded: node)
            guard try hasStrictSignature(certificate, in: node) else {
                throw AttestationError.malformedCertificate(position)
            }
            return certificate
        } catch let error as CertificateError where error.code == .duplicateOID {
            throw .duplicateExtension(position)
        } catch { throw .malformedCertificate(position) }
    }

    /// Whether the texts of issuer and subject are ASCII, as Apple's are. X509 hashes and compares names as `String`, which takes quadratic time
    /// for other text, and it does so before any signature is verified.
    private static func hasPlainNames(_ node: ASN1Node) throws -> Bool {
        let signed = try children(of: try children(of: node).first ?? node)
        // TBSCertificate (RFC 5280, section 4.1): version where it isn't 1, serial number, signature, issuer, validity, subject.
        let issuer = signed.first?.identifier == versionTag ? 3 : 2
        guard signed.count > issuer + 2 else { return false }
        return try [signed[issuer], signed[issuer + 2]].allSatisfy { name in
            // Name (section 4.1.2.4): a sequence of sets of attributes, each a type and a value.
            try children(of: name).flatMap(children).allSatisfy { attribute in
                guard case .primitive(let value)? = try children(of: attribute).last?.content else { return false }
                return value.allSatisfy { $0 < 0x80 }
            }
        }
    }

    private static let versionTag = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)

    /// Whether the two parts that aren't signed have their only valid form: the outer algorithm equals the signed one (RFC 5280,
    /// section 4.1.1.2), and the signature is a bit string of whole bytes.
    private static func hasStrictSignature(_ certificate: Certificate, in node: ASN1Node) throws -> Bool {
        let parts = try children(of: node)
        guard parts.count == 3 else { return false }
        // TBSCertificate: version (absent in version 1), serial number, signature algorithm …
        let signed = try children(of: parts[0])
        let index = signed.first?.identifier == versionTag ? 2 : 1
        guard signed.count > index, signed[index].encodedBytes == parts[1].encodedBytes else { return false }
        guard case .primitive(let content) = parts[2].content else { return false }
        return content.first == 0 && content.dropFirst().elementsEqual(certificate.signature.rawRepresentation)
    }

    private static func children(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let collection) = node.content else { return [] }
        return Array(collection)
    }
}

/// The leaf's extension 1.2.840.113635.100.8.2, which contains the nonce of an attestation (Apple's step 4).
///
/// ```
/// 30 24            SEQUENCE, 36 bytes
///    A1 22         [1], 34 bytes
///       04 20      OCTET STRING, 32 bytes
///          nonce
/// ```
///
/// It has exactly one DER encoding, so it is compared with that encoding.
package enum NonceExtension {
    package static let oid: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 8, 2]

    private static let prefix: [UInt8] = [0x30, 0x24, 0xa1, 0x22, 0x04, 0x20]
    private static let nonceLength = 32

    /// The value of the extension for a nonce of 32 bytes.
    package static func value(for nonce: [UInt8]) -> [UInt8] { prefix + nonce }

    /// The nonce in a certificate. X509 refuses a certificate that has an extension twice.
    static func nonce(in leaf: Certificate) throws(AttestationError) -> [UInt8] {
        guard let found = leaf.extensions[oid: oid] else { throw .nonceExtensionMissing }
        let value = found.value
        guard value.count == prefix.count + nonceLength, value.starts(with: prefix) else {
            throw .nonceExtensionMalformed
        }
        return Array(value.suffix(nonceLength))
    }
}
