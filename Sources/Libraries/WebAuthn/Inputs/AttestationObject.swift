import CBOR

/// The members of an attestation object.
public enum AttestationObjectMember: String, Hashable, Sendable, CaseIterable {
    case fmt, attStmt, authData
}

/// An attestation object (Web Authentication Level 3, section 6.5.4), read and not verified.
///
/// ```
/// {"fmt": text, "attStmt": map or array, "authData": bytes}
/// ```
struct AttestationObject: Sendable {
    let format: String
    let statement: CBORValue
    /// The bytes as received: what is signed is composed of them, never of a new encoding.
    let authenticatorData: [UInt8]

    /// - Parameter bytes: CBOR, at most ``WebAuthnLimits/maximumAttestationBytes``.
    init(_ bytes: [UInt8]) throws(CeremonyError) {
        let object = try Self.map(bytes)
        guard object.hasOnly("fmt", "attStmt", "authData") else { throw .unknownAttestationObjectMember }
        guard case .text(let format)? = object["fmt"], Self.isFormat(format) else {
            throw .attestationObjectMember(.fmt)
        }
        guard let statement = object["attStmt"], Self.isStatement(statement) else {
            throw .attestationObjectMember(.attStmt)
        }
        guard let data = object["authData"]?.bytes else { throw .attestationObjectMember(.authData) }
        (self.format, self.statement, authenticatorData) = (format, statement, data)
    }

    private static func map(_ bytes: [UInt8]) throws(CeremonyError) -> CBORMap {
        let value: CBORValue
        do {
            value = try CBORDecoder.decode(
                bytes, maximumBytes: WebAuthnLimits.maximumAttestationBytes, within: .ceremony)
        } catch { throw .malformedAttestationObject(MalformedCBOR(error)) }
        guard case .map(let map) = value else { throw .attestationObjectNotAMap }
        return map
    }

    /// Section 8.1: "a maximum of 32 octets in length and MUST consist only of printable USASCII characters, excluding
    /// backslash and doublequote".
    private static func isFormat(_ text: String) -> Bool {
        (1...WebAuthnLimits.maximumFormatBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "\"")
            }
    }

    private static func isStatement(_ value: CBORValue) -> Bool {
        switch value {
        case .map, .array: true
        default: false
        }
    }
}
