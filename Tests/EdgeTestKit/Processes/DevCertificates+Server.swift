import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import X509

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

extension DevCertificates {
    /// A server's certificate (localhost) of the CA of `server`, valid from and to the given seconds, counted from now.
    package func server(
        from start: Int, to end: Int, in folder: TemporaryDirectory
    ) throws -> Identity {
        let name = "server\(start)-\(end)"
        let identity = Identity(certificate: folder.file(name + ".crt"), key: folder.file(name + ".key"))
        let now = Date.now
        let key = P256.Signing.PrivateKey()
        let issuer = try Certificate(pemEncoded: String(contentsOfFile: serverCA, encoding: .utf8))
        let issuerKey = try Certificate.PrivateKey(
            pemEncoded: String(contentsOfFile: serverCAKey, encoding: .utf8))
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
            notValidBefore: now.addingTimeInterval(Double(start)), notValidAfter: now.addingTimeInterval(Double(end)),
            issuer: issuer.subject, subject: DistinguishedName { CommonName("localhost") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions { SubjectAlternativeNames([.dnsName("localhost")]) },
            issuerPrivateKey: issuerKey)
        try Data(certificate.serializeAsPEM().pemString.utf8).write(to: URL(fileURLWithPath: identity.certificate))
        try Data(key.pemRepresentation.utf8).write(to: URL(fileURLWithPath: identity.key))
        return identity
    }
}
