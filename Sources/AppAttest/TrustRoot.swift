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

extension TrustRoot {
    /// Apple App Attestation Root CA: P-384, valid from 2020-03-18 to 2045-03-15, SHA-256 fingerprint
    /// `1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932`. Apple publishes it on its page of private PKI
    /// certificates. It is part of the code, so that no file can replace it.
    public static let apple: TrustRoot = {
        do { return try TrustRoot(pem: appleRootPEM) } catch {
            preconditionFailure("the embedded root certificate can't be read: \(error)")
        }
    }()

    private static let appleRootPEM = """
        -----BEGIN CERTIFICATE-----
        MIICITCCAaegAwIBAgIQC/O+DvHN0uD7jG5yH2IXmDAKBggqhkjOPQQDAzBSMSYw
        JAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRpb24gUm9vdCBDQTETMBEGA1UECgwK
        QXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODMyNTNa
        Fw00NTAzMTUwMDAwMDBaMFIxJjAkBgNVBAMMHUFwcGxlIEFwcCBBdHRlc3RhdGlv
        biBSb290IENBMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9y
        bmlhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAERTHhmLW07ATaFQIEVwTtT4dyctdh
        NbJhFs/Ii2FdCgAHGbpphY3+d8qjuDngIN3WVhQUBHAoMeQ/cLiP1sOUtgjqK9au
        Yen1mMEvRq9Sk3Jm5X8U62H+xTD3FE9TgS41o0IwQDAPBgNVHRMBAf8EBTADAQH/
        MB0GA1UdDgQWBBSskRBTM72+aEH/pwyp5frq5eWKoTAOBgNVHQ8BAf8EBAMCAQYw
        CgYIKoZIzj0EAwMDaAAwZQIwQgFGnByvsiVbpTKwSga0kP0e8EeDS4+sQmTvb7vn
        53O5+FRXgeLhpJ06ysC5PrOyAjEAp5U4xDgEgllF7En3VcE3iexZZtKeYnpqtijV
        oyFraWVIyd/dganmrduC1bmTBGwD
        -----END CERTIFICATE-----
        """
}
