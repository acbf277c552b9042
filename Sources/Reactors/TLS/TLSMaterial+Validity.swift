import COpenSSL
import Glibc

extension TLSMaterial {
    /// The period in which the server's certificate is valid (RFC 5280 §4.1.2.5), in seconds since 1970; nil if it can't be read.
    package var validity: ClosedRange<Int64>? {
        guard let leaf = SSL_CTX_get0_certificate(holder), let start = Self.seconds(X509_get0_notBefore(leaf)),
            let end = Self.seconds(X509_get0_notAfter(leaf)), start <= end
        else { return nil }
        return start...end
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(timegm(&parts))
    }
}
