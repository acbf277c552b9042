import Crypto
import StrictDER
import SwiftASN1
public import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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

    /// - Parameter certificate: a certificate authority; it need not be Apple's. No chain verifies below a certificate
    ///   that isn't an authority.
    public init(certificate: Certificate) {
        self.certificate = certificate
        fingerprint = Array(SHA256.hash(data: certificate.encodedDER))
    }
}

extension TrustRoot {
    /// Apple App Attestation Root CA: P-384, valid from 2020-03-18 to 2045-03-15, SHA-256 fingerprint
    /// `1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932`. Apple publishes it on its page of private
    /// PKI certificates. It is part of the code, so that no file can replace it.
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
