/// Finds the public key in a certificate (RFC 5280 section 4.1). The certificate was verified before by the system or
/// by BoringSSL.
enum CertificateKey {
    /// - Returns: SubjectPublicKeyInfo in DER, its tag included; nil for what isn't a certificate.
    static func info(in certificate: [UInt8]) -> ArraySlice<UInt8>? {
        var outer = certificate[...]
        guard var content = element(&outer)?.content, var fields = element(&content)?.content else { return nil }
        // The version is optional and has the tag [0]; then serial number, signature, issuer, validity, subject.
        if fields.first == 0xA0 { _ = element(&fields) }
        for _ in 0..<5 { guard element(&fields) != nil else { return nil } }
        return element(&fields)?.whole
    }

    /// Takes one element from the front. Lengths of up to three bytes are enough for a certificate.
    private static func element(_ bytes: inout ArraySlice<UInt8>) -> (
        whole: ArraySlice<UInt8>, content: ArraySlice<UInt8>
    )? {
        guard bytes.count >= 2 else { return nil }
        let first = bytes[bytes.startIndex + 1]
        var header = 2
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...3).contains(count), bytes.count >= 2 + count else { return nil }
            length = bytes.dropFirst(2).prefix(count).reduce(0) { $0 << 8 | Int($1) }
            header += count
        }
        guard bytes.count >= header + length else { return nil }
        let whole = bytes.prefix(header + length)
        bytes = bytes.dropFirst(header + length)
        return (whole, whole.dropFirst(header))
    }
}
