import Crypto
import Foundation
import NIOSSL

extension DevCertificates.Identity {
    /// For a TLS server that presents this certificate.
    func serverConfiguration() throws -> TLSConfiguration {
        TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
    }

    /// SHA-256 of the public key (SPKI), in base64.
    package func pin() throws -> String {
        guard let first = try NIOSSLCertificate.fromPEMFile(certificate).first else {
            throw EdgeTestError("no certificate in \(certificate)")
        }
        return base64(try SHA256.hash(data: first.extractPublicKey().toSPKIBytes()))
    }

    private func base64(_ digest: SHA256.Digest) -> String { Data(digest).base64EncodedString() }
}
