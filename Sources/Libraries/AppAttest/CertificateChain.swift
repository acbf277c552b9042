import Crypto
import StrictDER
import X509
@_spi(FixedExpiryValidationTime) import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Apple's step 1: the chain of leaf, intermediate and trust root.
///
/// swift-certificates checks signatures, names, validity, critical extensions and constraints (RFC 5280, section 6.1).
/// This type checks the rest: exactly this chain, in strict DER, through an authority that may issue.
struct CertificateChain {
    let leaf: Certificate
    let intermediate: Certificate
    let root: Certificate

    init(leaf: [UInt8], intermediate: [UInt8], root: TrustRoot) throws(AttestationError) {
        self.leaf = try Self.certificate(leaf, at: .leaf)
        self.intermediate = try Self.certificate(intermediate, at: .intermediate)
        self.root = root.certificate
        // The leaf's signature is checked with a key that isn't trusted yet. Apple's is on P-384; with RSA the sender
        // could choose how long the check takes.
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

    /// Refuses times that can't be written as a GeneralizedTime.
    private func checkRange(of time: Date) throws(AttestationError) {
        guard time.timeIntervalSince1970 >= 0 else { throw .certificateNotYetValid(.leaf) }
        guard time.timeIntervalSince1970 <= StrictCertificate.latestTime else { throw .certificateExpired(.leaf) }
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

extension CertificateChain {
    /// Apple's names are ASCII.
    private static func certificate(
        _ bytes: [UInt8], at position: ChainPosition
    ) throws(AttestationError) -> Certificate {
        do { return try StrictCertificate.read(bytes, names: .ascii) } catch {
            switch error {
            case .malformed: throw .malformedCertificate(position)
            case .duplicateExtension: throw .duplicateExtension(position)
            }
        }
    }
}
