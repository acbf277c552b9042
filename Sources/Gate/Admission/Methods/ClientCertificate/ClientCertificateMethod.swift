package import KeyStore
import WireText

/// For debug clients: a certificate that was verified against the configured client CA on this connection.
///
/// TLS also accepts connections with a certificate that failed verification, and a resumed TLS session repeats an old
/// result. Both are refused here.
package struct ClientCertificateMethod: AdmissionMethod {
    /// All machines of a team may have the same certificate.
    package static let name = MethodName(
        label: "debug_certificate", route: "cert", proxy: "client_certificate", holders: .several)

    package static let blockListKind = BlockListKind(
        word: "certificate", methods: name, problem: "holds no fingerprint",
        remedy: "Write the SHA-256 of the certificate as 64 hexadecimal digits."
    ) { Hexadecimal.decode($0, count: 32).map(Hexadecimal.encode) }

    /// `nil`: a presented certificate is ignored.
    package let status: (any CertificateStatus)?

    package init(status: (any CertificateStatus)?) { self.status = status }

    package typealias Proof = ClientCertificateProof

    package var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name], fields: CredentialFieldNames(), cost: 1,
            needsSharedSecret: true, challenge: nil, exemption: nil)
    }

    package func credential(in request: AdmissionRequest) -> ClientCertificate? {
        status == nil ? nil : request.certificate
    }

    package func claim(of certificate: ClientCertificate) -> Claim { Claim(.certificate(sha256: certificate.sha256)) }

    package func verify(_ certificate: ClientCertificate, of request: AdmissionRequest) -> Inquiry<Verification> {
        .known(verification(of: certificate, at: request.moment))
    }

    private func verification(of certificate: ClientCertificate, at moment: Moment) -> Verification {
        guard certificate.isVerified else {
            return .refused(
                .invalidClientCertificate, "client certificate did not verify",
                FailedCheck(
                    .certificateVerified,
                    expected: "a certificate of an authority in MTLS_CLIENT_CA_PATH, valid and on no revocation list",
                    received: certificate.nameForLog))
        }
        guard !certificate.isResumedSession else {
            return .refused(
                .invalidClientCertificate, "TLS session was resumed, so the certificate was not checked",
                FailedCheck(.certificateFresh, expected: "a full TLS handshake", received: "a resumed TLS session"))
        }
        // TLS checked the dates when the connection began; the certificate may have expired since.
        if let notAfter = certificate.notAfter, notAfter < moment.unixMilliseconds {
            return .refused(
                .invalidClientCertificate, "client certificate has expired since", FailedCheck(.certificateLifetime))
        }
        return .verified(
            .certificate(sha256: certificate.sha256), proof: ClientCertificateProof(certificate))
    }

    /// TLS has refused revoked ones, and a refused certificate is never admitted all the same.
    package func revocation(of certificate: ClientCertificate) -> Inquiry<Refusal?> { .known(nil) }

    package func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> {
        .known(refusal(of: principal, at: moment))
    }

    private func refusal(of principal: Principal, at moment: Moment) -> Refusal? {
        guard let status else { return Refusal(.invalidTicket, detail: "client certificates are not configured") }
        guard let chain = (principal.proof as? ClientCertificateProof)?.chain else {
            return Refusal(
                .invalidClientCertificate, detail: "the chain is too large to be kept and verified again")
        }
        return status.problem(with: chain, at: moment.unixMilliseconds).map {
            Refusal(.invalidTicket, detail: "client certificate: \($0)")
        }
    }
}

/// The data needed to verify a client certificate again, and to find it when it is revoked.
package struct ClientCertificateProof: AdmissionProof {
    let chain: ClientCertificateChain?
    package let number: CertificateNumber?
    package let subject: String

    init(_ certificate: ClientCertificate) {
        chain = certificate.chain
        number = certificate.number
        subject = certificate.subject
    }

    package var isLarge: Bool { true }
    package var routes: Set<String>? { nil }

    package func isRevoked(by revocations: Revocations) -> Bool {
        switch revocations {
        case .store: false
        case .certificates(let isRevoked): number.map(isRevoked) ?? false
        }
    }

    package func name(for name: MethodName) -> MethodName { name }

    /// An account can't end with a chain that isn't kept.
    package var accountEvidence: AccountEvidence? {
        chain == nil ? nil : AccountEnd.certificate(self).origin.map(AccountEvidence.origin)
    }

    package var account: AccountID? { nil }
    package var origins: [Identity] { [] }

    /// A session may outlive its certificate, as TLS connections do.
    package static var expiry: ProofExpiry<ClientCertificateProof> { .never }
}

extension Identity {
    /// - Parameter sha256: of the certificate's DER encoding.
    package static func certificate(sha256: [UInt8]) -> Identity {
        Identity(method: ClientCertificateMethod.name, subject: Hexadecimal.encode(sha256))
    }

    /// - Parameter fingerprints: in hexadecimal.
    static func certificates(_ fingerprints: [String]) -> [Identity] {
        fingerprints.map { Identity(method: ClientCertificateMethod.name, subject: $0) }
    }
}
