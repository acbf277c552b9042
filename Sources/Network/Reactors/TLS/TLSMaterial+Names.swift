import COpenSSL
package import WireText

/// The names for which the server's certificate was issued: its subjectAltName (RFC 5280 §4.2.1.6). RFC 9525 ignores
/// the common name.
extension TLSMaterial {
    /// In the certificate's order; wildcards are among them. Others than ASCII are left out.
    package var dnsNames: [String] {
        names(of: GEN_DNS).filter { $0.allSatisfy { (0x21...0x7E).contains($0) } }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    package var addresses: [IPAddress] { names(of: GEN_IPADD).compactMap(IPAddress.init(unconverted:)) }

    private func names(of type: Int32) -> [[UInt8]] {
        guard let leaf = SSL_CTX_get0_certificate(holder),
            let all = X509_get_ext_d2i(leaf, NID_subject_alt_name, nil, nil)
        else { return [] }
        let stack = OpaquePointer(all)
        defer { GENERAL_NAMES_free(stack) }
        return (0..<OPENSSL_sk_num(stack)).compactMap { index in
            OPENSSL_sk_value(stack, index).flatMap { Self.value(of: type, in: $0) }
        }
    }

    private static func value(of type: Int32, in name: UnsafeMutableRawPointer) -> [UInt8]? {
        var found: Int32 = 0
        let value = GENERAL_NAME_get0_value(name.assumingMemoryBound(to: GENERAL_NAME.self), &found)
        guard found == type, let value else { return nil }
        let text = value.assumingMemoryBound(to: ASN1_STRING.self)
        guard let bytes = ASN1_STRING_get0_data(text) else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(ASN1_STRING_length(text))))
    }
}
