import SwiftASN1
import X509

/// Android's key description, the extension 1.3.6.1.4.1.11129.2.1.17 of an attestation certificate (Web Authentication
/// Level 3, section 8.4.1; Android's documentation, "Verify hardware-backed key pairs with key attestation").
///
/// ```
/// KeyDescription ::= SEQUENCE {
///     attestationVersion        INTEGER,
///     attestationSecurityLevel  ENUMERATED,
///     keyMintVersion            INTEGER,
///     keyMintSecurityLevel      ENUMERATED,
///     attestationChallenge      OCTET STRING,
///     uniqueId                  OCTET STRING,
///     softwareEnforced          AuthorizationList,
///     hardwareEnforced          AuthorizationList }
/// ```
struct AndroidKeyDescription: Sendable {
    static let oid: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 11129, 2, 1, 17]
    private static let fieldCount = 8
    private static let challengeField = 4

    let challenge: [UInt8]
    let software: AndroidAuthorizations
    /// `teeEnforced` in Web Authentication.
    let hardware: AndroidAuthorizations

    var lists: [AndroidAuthorizations] { [software, hardware] }

    init(_ certificate: Certificate) throws(StatementFault) {
        guard let found = certificate.extensions[oid: Self.oid] else { throw .keyDescriptionMissing }
        try self.init(found.value)
    }

    /// - Parameter encoded: the extension's value.
    init(_ encoded: ArraySlice<UInt8>) throws(StatementFault) {
        do {
            let fields = try DER.parse(encoded).elements(of: .sequence)
            guard fields.count == Self.fieldCount else { throw StatementFault.keyDescriptionMalformed }
            challenge = Array(try ASN1OctetString(derEncoded: fields[Self.challengeField]).bytes)
            software = try AndroidAuthorizations(fields[Self.fieldCount - 2])
            hardware = try AndroidAuthorizations(fields[Self.fieldCount - 1])
        } catch { throw .keyDescriptionMalformed }
    }
}

/// An authorization list: what a key may be used for, each entry with a tag of its own and explicit.
struct AndroidAuthorizations: Sendable {
    /// KM_ORIGIN_GENERATED.
    private static let generated = 0
    /// KM_PURPOSE_SIGN.
    private static let sign = 2

    private enum Tag {
        static let purpose: UInt = 1
        static let allApplications: UInt = 600
        static let origin: UInt = 702
    }

    /// nil: not in this list.
    let purposes: [Int]?
    let origin: Int?
    let isForAllApplications: Bool

    var isGenerated: Bool { origin == Self.generated }
    var isForSigning: Bool { purposes == [Self.sign] }

    init(_ node: ASN1Node) throws {
        let entries = try node.elements(of: .sequence)
        guard entries.count <= WebAuthnLimits.maximumAuthorizations,
            entries.allSatisfy({ $0.identifier.tagClass == .contextSpecific }),
            Set(entries.map(\.identifier.tagNumber)).count == entries.count
        else { throw StatementFault.keyDescriptionMalformed }
        func value(_ tag: UInt) throws -> ASN1Node? {
            guard let entry = entries.first(where: { $0.identifier.tagNumber == tag }) else { return nil }
            let content = try entry.elements(of: entry.identifier)
            guard content.count == 1 else { throw StatementFault.keyDescriptionMalformed }
            return content[0]
        }
        purposes = try value(Tag.purpose)?.elements(of: .set).map { try Int(derEncoded: $0) }
        origin = try value(Tag.origin).map { try Int(derEncoded: $0) }
        isForAllApplications = entries.contains { $0.identifier.tagNumber == Tag.allApplications }
    }
}

extension ASN1Node {
    fileprivate func elements(of identifier: ASN1Identifier) throws -> [ASN1Node] {
        guard self.identifier == identifier, case .constructed(let elements) = content else {
            throw StatementFault.keyDescriptionMalformed
        }
        return Array(elements)
    }
}
