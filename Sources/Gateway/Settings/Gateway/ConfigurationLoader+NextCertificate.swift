import FoundationEssentials
import SwiftASN1
import WireText
import X509

extension GatewayConfiguration.CertificateKeys {
    /// - Returns: nil if the file can't be read, or has no certificate.
    package static func key(inFile path: String) -> [UInt8]? {
        guard let text = try? NamedFile.text(path),
            let document = try? PEMDocument.parseMultiple(pemString: text).first(where: {
                $0.discriminator.hasSameBytes(as: "CERTIFICATE")
            })
        else { return nil }
        return try? Certificate(pemDocument: document).publicKey.serializeAsPEM().derBytes
    }
}

/// NEXT_CERT_PATH: clients that pin keys know that of the certificate in use, and the announced one.
extension ConfigurationLoader {
    /// - Parameter path: of TLS_CERT_PATH.
    mutating func certificateKeys(_ path: String) -> GatewayConfiguration.CertificateKeys {
        let settings = settings.inboundTLS
        let next = read(settings.nextCertificatePath).flatMap { certificates(settings.nextCertificatePath, $0).first }
        guard !hasFailed(settings.certificatePath), let inUse = certificates(settings.certificatePath, path).first
        else {
            return GatewayConfiguration.CertificateKeys()
        }
        if let next { warnIfNotAnnounced(inUse, next) }
        return GatewayConfiguration.CertificateKeys(
            inUse: Self.keyInfo(of: inUse), next: next.flatMap { Self.keyInfo(of: $0) })
    }

    /// Files don't tell whether a certificate is the one before the announced one, or has replaced it: as a rule the
    /// one before is older. A reload compares keys alone (`CertificateKeys.refuse`).
    private mutating func warnIfNotAnnounced(_ inUse: Certificate, _ next: Certificate) {
        guard inUse.notValidBefore >= next.notValidBefore, inUse.publicKey != next.publicKey else { return }
        warn(
            settings.inboundTLS.certificatePath,
            "isn't older than the certificate of NEXT_CERT_PATH, and has another key: if that is new, clients that pin keys refuse it.",
            isGuess: true)
    }

    private static func keyInfo(of certificate: Certificate) -> [UInt8]? {
        try? certificate.publicKey.serializeAsPEM().derBytes
    }
}
