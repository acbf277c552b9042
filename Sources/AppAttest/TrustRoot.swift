import Crypto
import FoundationEssentials
import SwiftASN1
public import X509

/// Why a certificate can't be a trust root.
public enum TrustRootError: Error, Hashable, Sendable {
    /// The text is not exactly one PEM certificate.
    case unreadable
    /// The certificate is not a certificate authority of X.509 version 3.
    case notACertificateAuthority
}

/// The certificate in which a chain must end.
public struct TrustRoot: Sendable {
    let certificate: Certificate
    /// SHA-256 over the certificate's DER: 32 bytes.
    public let fingerprint: [UInt8]

    /// - Parameter pem: one certificate authority between `BEGIN CERTIFICATE` and `END CERTIFICATE`.
    public init(pem: String) throws(TrustRootError) {
        let certificate: Certificate
        do { certificate = try Certificate(pemEncoded: pem) } catch { throw .unreadable }
        guard certificate.mayIssue else { throw .notACertificateAuthority }
        self.init(certificate: certificate)
    }

    /// - Parameter certificate: a certificate authority; it need not be Apple's. No chain verifies below a certificate that isn't
    ///   an authority.
    public init(certificate: Certificate) {
        self.certificate = certificate
        fingerprint = Array(SHA256.hash(data: Self.der(of: certificate)))
    }

    /// A certificate keeps the bytes from which it was read or signed: serializing copies them and can't fail.
    private static func der(of certificate: Certificate) -> [UInt8] {
        var serializer = DER.Serializer()
        do { try serializer.serialize(certificate) } catch {
            preconditionFailure("a certificate can't be written: \(error)")
        }
        return serializer.serializedBytes
    }
}

extension Certificate {
    /// Whether RFC 5280 lets this certificate issue others: version 3 (section 6.1.4 (k)), `basicConstraints` with CA
    /// set (4.2.1.9), and `keyCertSign` where `keyUsage` is present (4.2.1.3). X509's policy accepts version 1 and
    /// doesn't look at the key usage.
    var mayIssue: Bool {
        guard version == .v3, isCertificateAuthority else { return false }
        do {
            guard let usage = try extensions.keyUsage else { return true }
            return usage.keyCertSign
        } catch { return false }
    }

    /// Whether `basicConstraints` is present, readable and marks a CA.
    var isCertificateAuthority: Bool {
        do {
            guard case .isCertificateAuthority? = try extensions.basicConstraints else { return false }
            return true
        } catch { return false }
    }
}
