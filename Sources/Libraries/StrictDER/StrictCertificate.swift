import SwiftASN1
package import X509

/// Why bytes aren't a certificate that is accepted here.
package enum CertificateFault: Error, Hashable, Sendable {
    /// Not a certificate in strict DER, its algorithm or key can't be read (including a point off the curve), or its
    /// names may cost too much.
    case malformed
    /// The certificate has one extension twice (RFC 5280, section 4.2).
    case duplicateExtension
}

/// Reads a certificate, more strictly than X509 does.
package enum StrictCertificate {
    /// The names that are accepted in issuer and subject. X509 hashes and compares names as `String`, which takes
    /// quadratic time for text that isn't ASCII, and it does so before any signature is verified.
    package enum NameRule: Hashable, Sendable {
        /// Only ASCII.
        case ascii
        /// ASCII, or each of the two names has at most so many bytes.
        case asciiOrAtMost(Int)
    }

    /// Seconds of 9999-12-31T23:59:59Z, the latest time that a certificate can contain (RFC 5280, section 4.1.2.5).
    package static let latestTime = 253_402_300_799.0

    package static func read(_ bytes: [UInt8], names: NameRule) throws(CertificateFault) -> Certificate {
        do {
            let node = try DER.parse(bytes)
            guard try hasNames(node, names) else { throw CertificateFault.malformed }
            let certificate = try Certificate(derEncoded: node)
            guard try hasStrictSignature(certificate, in: node) else { throw CertificateFault.malformed }
            return certificate
        } catch let error as CertificateError where error.code == .duplicateOID {
            throw .duplicateExtension
        } catch { throw .malformed }
    }

    private static func hasNames(_ node: ASN1Node, _ rule: NameRule) throws -> Bool {
        let signed = try children(of: try children(of: node).first ?? node)
        // TBSCertificate (RFC 5280, section 4.1): version where it isn't 1, serial number, signature, issuer, validity,
        // subject.
        let issuer = signed.first?.identifier == versionTag ? 3 : 2
        guard signed.count > issuer + 2 else { return false }
        return try [signed[issuer], signed[issuer + 2]].allSatisfy { name in
            switch rule {
            case .ascii: try isASCII(name)
            case .asciiOrAtMost(let bytes): try name.encodedBytes.count <= bytes || isASCII(name)
            }
        }
    }

    private static func isASCII(_ name: ASN1Node) throws -> Bool {
        // Name (section 4.1.2.4): a sequence of sets of attributes, each a type and a value.
        try children(of: name).flatMap(children).allSatisfy { attribute in
            guard case .primitive(let value)? = try children(of: attribute).last?.content else { return false }
            return value.allSatisfy { $0 < 0x80 }
        }
    }

    private static let versionTag = ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific)

    /// Whether the two parts that aren't signed have their only valid form: the outer algorithm equals the signed one
    /// (RFC 5280, section 4.1.1.2), and the signature is a bit string of whole bytes.
    private static func hasStrictSignature(_ certificate: Certificate, in node: ASN1Node) throws -> Bool {
        let parts = try children(of: node)
        guard parts.count == 3 else { return false }
        // TBSCertificate: version (absent in version 1), serial number, signature algorithm …
        let signed = try children(of: parts[0])
        let index = signed.first?.identifier == versionTag ? 2 : 1
        guard signed.count > index, signed[index].encodedBytes == parts[1].encodedBytes else { return false }
        guard case .primitive(let content) = parts[2].content else { return false }
        return content.first == 0 && content.dropFirst().elementsEqual(certificate.signature.rawRepresentation)
    }

    private static func children(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let collection) = node.content else { return [] }
        return Array(collection)
    }
}

extension Certificate {
    /// Whether RFC 5280 lets this certificate issue others: version 3 (section 6.1.4 (k)), `basicConstraints` with CA
    /// set (4.2.1.9), and `keyCertSign` where `keyUsage` is present (4.2.1.3). X509's policy accepts version 1 and
    /// doesn't look at the key usage.
    package var mayIssue: Bool {
        guard version == .v3, isCertificateAuthority else { return false }
        do {
            guard let usage = try extensions.keyUsage else { return true }
            return usage.keyCertSign
        } catch { return false }
    }

    /// Whether `basicConstraints` is present, readable and marks a CA.
    package var isCertificateAuthority: Bool {
        do {
            guard case .isCertificateAuthority? = try extensions.basicConstraints else { return false }
            return true
        } catch { return false }
    }

    /// The certificate's DER. A certificate keeps the bytes from which it was read or signed: serializing copies them
    /// and can't fail.
    package var encodedDER: [UInt8] {
        var serializer = DER.Serializer()
        do { try serializer.serialize(self) } catch {
            preconditionFailure("a certificate can't be written: \(error)")
        }
        return serializer.serializedBytes
    }
}
