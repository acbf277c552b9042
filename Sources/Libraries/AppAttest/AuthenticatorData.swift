import CBOR

/// Why authenticator data is malformed.
public enum AuthenticatorDataError: Error, Hashable, Sendable {
    /// The data ends inside its fixed fields.
    case truncated
    /// The credential identifier is not 32 bytes long.
    case credentialIDLength(UInt16)
    /// The bytes after the credential identifier are not a COSE key for ES256 on P-256.
    case malformedCredentialKey
    /// The bytes after the fixed fields are not strict CBOR.
    case malformedExtensions(CBORError)
    /// The bytes after the fixed fields are CBOR, but not a map of texts with the values that Apple writes.
    case unexpectedExtensions
}

/// The authenticator data of Web Authentication (section 6.1) as App Attest writes it.
///
/// ```
///  0                  32     33          37           53       55              55+32          55+32+77
///  ├──────────────────┼──────┼───────────┼────────────┼────────┼───────────────┼──────────────┼────────────╌╌
///  │ rpIdHash         │flags │ counter   │ aaguid     │ length │ credentialId  │ COSE key     │ extensions
///  │ 32 bytes         │ 1    │ 4, big-e. │ 16         │ 2, b-e.│ 32            │ 77, CBOR     │ CBOR map
///  ├──────────────────┴──────┴───────────┼────────────┴────────┴───────────────┴──────────────┼────────────╌╌
///  │ in attestations and assertions      │ in attestations only                               │ iOS 27 on, both
/// ```
///
/// The kind of object alone determines the fields. The flags are unreliable: assertions have AT set without a
/// credential, and the appended map occurs with and without ED. The length is unreliable too: iOS 27 appends a map.
package struct AuthenticatorData: Hashable, Sendable {
    package let rpIDHash: [UInt8]
    /// Kept for reference; no decision depends on them.
    package let flags: UInt8
    package let counter: UInt32
    /// Only in attestations.
    package let credential: AttestedCredential?
    package let extensions: AuthenticatorExtensions

    package static let headerLength = 37

    /// Reads the authenticator data of an attestation.
    package init(attestation bytes: [UInt8]) throws(AuthenticatorDataError) {
        try self.init(bytes, hasCredential: true)
    }

    /// Reads the authenticator data of an assertion.
    package init(assertion bytes: [UInt8]) throws(AuthenticatorDataError) {
        try self.init(bytes, hasCredential: false)
    }

    private init(_ bytes: [UInt8], hasCredential: Bool) throws(AuthenticatorDataError) {
        guard bytes.count >= Self.headerLength else { throw .truncated }
        rpIDHash = Array(bytes[..<32])
        flags = bytes[32]
        counter = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[Self.headerLength...]
        credential = hasCredential ? try AttestedCredential(consuming: &rest) : nil
        extensions = try AuthenticatorExtensions(rest)
    }
}

/// The attested credential data (Web Authentication, section 6.5.2).
package struct AttestedCredential: Hashable, Sendable {
    package let aaguid: [UInt8]
    /// 32 bytes.
    package let credentialID: [UInt8]
    /// The credential's key as 65 bytes, uncompressed X9.63. Not checked to be on the curve.
    package let publicKeyX963: [UInt8]

    package static let credentialIDLength = 32

    init(consuming bytes: inout ArraySlice<UInt8>) throws(AuthenticatorDataError) {
        guard bytes.count >= 18 else { throw .truncated }
        aaguid = Array(bytes.prefix(16))
        let length = bytes.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | UInt16($1) }
        guard length == Self.credentialIDLength else { throw .credentialIDLength(length) }
        bytes = bytes.dropFirst(18)
        guard bytes.count >= Self.credentialIDLength else { throw .truncated }
        credentialID = Array(bytes.prefix(Self.credentialIDLength))
        bytes = bytes.dropFirst(Self.credentialIDLength)
        publicKeyX963 = try Self.coseKey(consuming: &bytes)
    }

    /// A COSE key of exactly five entries (RFC 9053, section 7.1.1): kty EC2, alg ES256, crv P-256, x and y.
    private static func coseKey(consuming bytes: inout ArraySlice<UInt8>) throws(AuthenticatorDataError) -> [UInt8] {
        let key: CBORValue
        do { (key, bytes) = try CBORDecoder.decodePrefix(of: bytes) } catch { throw .malformedCredentialKey }
        guard case .map(let map) = key, map.entries.count == 5,
            map[1] == CBORValue(2), map[3] == CBORValue(-7), map[-1] == CBORValue(1),
            let x = map[-2]?.bytes, let y = map[-3]?.bytes, x.count == 32, y.count == 32
        else { throw .malformedCredentialKey }
        return [0x04] + x + y
    }
}

/// The CBOR map that iOS 27 and macOS 27 append to authenticator data. The nonce covers it, so it is as trustworthy as
/// the rest. Older systems append nothing, which reads as an empty map.
///
/// Keys other than the two below are accepted and not interpreted: macOS also writes `apple_cd_hash_…`.
package struct AuthenticatorExtensions: Hashable, Sendable {
    /// How the app was signed and distributed (`apple_validation_category_01`).
    package let validationCategory: UInt32?
    /// `CFBundleVersion` of the app (`apple_bundle_version_01`).
    package let bundleVersion: String?

    static let validationCategoryKey = "apple_validation_category_01"
    static let bundleVersionKey = "apple_bundle_version_01"

    init(_ bytes: ArraySlice<UInt8>) throws(AuthenticatorDataError) {
        guard let map = try Self.map(bytes) else {
            validationCategory = nil
            bundleVersion = nil
            return
        }
        validationCategory = try map[Self.validationCategoryKey].map(Self.category)
        bundleVersion = try map[Self.bundleVersionKey].map(Self.version)
    }

    /// The appended map, which may have only text keys; nil if nothing is appended.
    private static func map(_ bytes: ArraySlice<UInt8>) throws(AuthenticatorDataError) -> CBORMap? {
        if bytes.isEmpty { return nil }
        let value: CBORValue
        do {
            value = try CBORDecoder.decode(Array(bytes), maximumBytes: CBORLimits.maximumAttestationBytes)
        } catch { throw .malformedExtensions(error) }
        guard case .map(let map) = value else { throw .unexpectedExtensions }
        let hasTextKeys = map.entries.allSatisfy { if case .text = $0.key { true } else { false } }
        guard hasTextKeys else { throw .unexpectedExtensions }
        return map
    }

    /// Encoded as four bytes in little-endian order; Apple's guide specifies an unsigned integer.
    private static func category(_ value: CBORValue) throws(AuthenticatorDataError) -> UInt32 {
        switch value {
        case .bytes(let bytes) where bytes.count == 4:
            return bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
        case .unsigned(let number):
            guard let category = UInt32(exactly: number) else { throw .unexpectedExtensions }
            return category
        default: throw .unexpectedExtensions
        }
    }

    private static func version(_ value: CBORValue) throws(AuthenticatorDataError) -> String {
        guard case .text(let text) = value else { throw .unexpectedExtensions }
        return text
    }
}
