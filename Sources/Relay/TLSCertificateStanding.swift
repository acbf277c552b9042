package import Admission
package import Reactors

/// Answers the gate's question about client certificates from what TLS trusts.
package struct TLSCertificateStanding: CertificateStanding {
    /// The one that new handshakes go by, or one of the same contents.
    private let material: TLSMaterial

    package init(_ material: TLSMaterial) {
        self.material = material
    }

    package func problem(with chain: ClientCertificateChain, at time: Int64) -> String? {
        material.problem(withChain: chain.certificates, atUnixSeconds: Int(time / 1_000))
    }
}
