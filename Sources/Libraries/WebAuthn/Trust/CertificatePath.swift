import Crypto
import CryptoExtras
import StrictDER
import X509
@_spi(FixedExpiryValidationTime) import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The certificates of an attestation statement, in their order: the attestation certificate, and those that lead to a
/// trust anchor.
struct CertificatePath: Sendable {
    /// At least one.
    let certificates: [Certificate]

    var leaf: Certificate { certificates[0] }

    /// - Parameter encoded: 1 to ``WebAuthnLimits/maximumCertificates`` certificates in DER.
    init(_ encoded: [[UInt8]]) throws(StatementFault) {
        var certificates: [Certificate] = []
        for (index, bytes) in encoded.enumerated() { certificates.append(try Self.certificate(bytes, at: index)) }
        self.certificates = certificates
    }

    private static func certificate(_ bytes: [UInt8], at index: Int) throws(StatementFault) -> Certificate {
        let certificate: Certificate
        do {
            certificate = try StrictCertificate.read(bytes, names: .asciiOrAtMost(WebAuthnLimits.maximumNameBytes))
        } catch {
            switch error {
            case .malformed: throw .malformedCertificate(index)
            case .duplicateExtension: throw .duplicateExtension(index)
            }
        }
        // The size of an RSA key decides how long it takes to verify a signature. X509 refuses those below 2,048 bits.
        if let bits = _RSA.Signing.PublicKey(certificate.publicKey)?.keySizeInBits, !VerifyingKey.isModulus(bits: bits)
        {
            throw .modulus(index, bits: bits)
        }
        return certificate
    }

    /// "Verify that the public key in the first certificate in x5c matches the credentialPublicKey" (section 8.4),
    /// "that the credential public key equals the Subject Public Key of credCert" (section 8.8, step 5).
    func verifyLeafKey(is publicKey: CredentialPublicKey) throws(StatementFault) {
        guard let key = VerifyingKey(leaf.publicKey, for: publicKey.algorithm), key == publicKey.key else {
            throw .credentialKeyMismatch
        }
    }
}

extension AttestationEvidence {
    /// §7.1 step 24: "use the X.509 certificates returned as the attestation trust path … to verify that the
    /// attestation public key either correctly chains up to an acceptable root certificate, or is itself an acceptable
    /// certificate".
    func assess(_ anchors: [Certificate], at time: Date) async -> CredentialAttestation {
        switch self {
        case .none: return .none
        case .selfSigned: return .selfSigned
        case .unverified: return .unverified
        case .certified(let statement):
            do {
                let anchor = try await statement.path.verify(to: anchors, at: time)
                guard statement.isInHardware else { return .untrusted(statement.format, .keyNotInHardware) }
                return .trusted(statement.format, anchor: Array(SHA256.hash(data: anchor.encodedDER)))
            } catch { return .untrusted(statement.format, error) }
        }
    }
}

/// The path from the attestation certificate to an anchor.
///
/// swift-certificates checks signatures, names, validity, critical extensions and constraints (RFC 5280, section 6.1).
/// The rest is checked here: every certificate of the statement is part of the path, none was signed with SHA-1, and
/// the names leave one path.
extension CertificatePath {
    /// - Returns: the anchor.
    func verify(to anchors: [Certificate], at time: Date) async throws(TrustFault) -> Certificate {
        guard !anchors.isEmpty else { throw .noAnchor }
        try checkRange(of: time)
        if certificates.count == 1, anchors.contains(leaf) {
            guard let fault = invalidity(at: time) else { return leaf }
            throw fault
        }
        try checkSubjects()
        let below = endsInAnchor(anchors) ? Array(certificates.dropLast()) : certificates
        var verifier = Verifier(rootCertificates: CertificateStore(anchors)) {
            RFC5280Policy(fixedExpiryValidationTime: time)
        }
        let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore(below.dropFirst()))
        guard case .validCertificate(let chain) = result, let anchor = chain.last else { throw refusal(at: time) }
        // The verifier also accepts shorter chains.
        guard Array(chain.dropLast()) == below, below.count == certificates.count || isLast(anchor) else {
            throw .untrustedChain
        }
        try checkPermissions(of: below)
        return anchor
    }

    /// Refuses times that can't be written as a GeneralizedTime.
    private func checkRange(of time: Date) throws(TrustFault) {
        guard time.timeIntervalSince1970 >= 0 else { throw .certificateNotYetValid(0) }
        guard time.timeIntervalSince1970 <= StrictCertificate.latestTime else { throw .certificateExpired(0) }
    }

    /// With one certificate for each name there is one path at most: the sender can't choose how many the verifier
    /// tries.
    private func checkSubjects() throws(TrustFault) {
        guard Set(certificates.map(\.subject)).count == certificates.count else { throw .untrustedChain }
    }

    /// Android sends its root along, and has renewed it.
    private func endsInAnchor(_ anchors: [Certificate]) -> Bool {
        certificates.count > 1 && anchors.contains(where: isLast)
    }

    /// Whether the last certificate is this anchor, or an earlier or later copy of it: with its name and its key, and
    /// signed with it.
    private func isLast(_ anchor: Certificate) -> Bool {
        let last = certificates[certificates.count - 1]
        return anchor == last
            || anchor.subject == last.subject && anchor.publicKey == last.publicKey && last.issuer == last.subject
                && anchor.publicKey.isValidSignature(last.signature, for: last)
    }

    private func checkPermissions(of below: [Certificate]) throws(TrustFault) {
        for (index, certificate) in below.enumerated() {
            guard index == 0 || certificate.mayIssue else { throw .notCertificateAuthority(index) }
            guard certificate.signatureAlgorithm != .sha1WithRSAEncryption else { throw .weakSignature(index) }
        }
        guard !leaf.isCertificateAuthority else { throw .leafIsCertificateAuthority }
    }

    private func invalidity(at time: Date) -> TrustFault? {
        for (index, certificate) in certificates.enumerated() {
            if time < certificate.notValidBefore { return .certificateNotYetValid(index) }
            if time > certificate.notValidAfter { return .certificateExpired(index) }
        }
        return nil
    }

    /// Selects the error. The verifier has already refused: this only finds the error's name.
    private func refusal(at time: Date) -> TrustFault {
        if let fault = invalidity(at: time) { return fault }
        let known = RFC5280Policy().verifyingCriticalExtensions
        let unknown = certificates.firstIndex { $0.extensions.contains { $0.critical && !known.contains($0.oid) } }
        return unknown.map { .unknownCriticalExtension($0) } ?? .untrustedChain
    }
}
