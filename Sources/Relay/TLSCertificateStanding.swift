package import Admission
package import Reactors

/// Verifies client certificates for the gate with TLS's trust settings.
package struct TLSCertificateStanding: CertificateStanding {
    /// The material that new handshakes use, or an equal one.
    private let material: TLSMaterial

    package init(_ material: TLSMaterial) {
        self.material = material
    }

    package func problem(with chain: ClientCertificateChain, at time: Int64) -> String? {
        material.problem(withChain: chain.certificates, atUnixSeconds: Int(time / 1_000))
    }
}
