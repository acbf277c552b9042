import CBOR

/// Why authenticator data is malformed (Web Authentication Level 3, section 6.1).
public enum AuthenticatorDataFault: Error, Hashable, Sendable {
    /// Longer than ``WebAuthnLimits/maximumAuthenticatorDataBytes``, in an authentication.
    case tooLarge
    /// The data ends inside a field that its flags announce.
    case truncated
    /// Bytes follow the last field that its flags announce.
    case trailingBytes
    /// A registration without a credential: the flag AT is not set.
    case credentialMissing
    /// The credential identifier is empty.
    case credentialIDEmpty
    /// The bytes behind the credential identifier are not a COSE key with an algorithm.
    case credentialKey(PublicKeyFault)
    /// The extension outputs are not strict CBOR.
    case malformedExtensions(MalformedCBOR)
    /// The extension outputs are CBOR, but not a map with text keys.
    case unexpectedExtensions
}

/// The authenticator data of Web Authentication (section 6.1).
///
/// ```
///  0                  32     33          37           53       55
///  ├──────────────────┼──────┼───────────┼────────────┼────────┼───────────────┼──────────────┼────────────╌╌
///  │ rpIdHash         │flags │ signCount │ aaguid     │ length │ credentialId  │ COSE key     │ extensions
///  │ 32 bytes         │ 1    │ 4, big-e. │ 16         │ 2, b-e.│ length        │ CBOR         │ CBOR map
///  ├──────────────────┴──────┴───────────┼────────────┴────────┴───────────────┴──────────────┼────────────╌╌
///  │ always                              │ with AT                                            │ with ED
/// ```
///
/// The flags alone determine the fields. Some authenticators add the credential to authentications, too.
struct AuthenticatorData: Sendable {
    let rpIDHash: [UInt8]
    let flags: AuthenticatorFlags
    let signCount: UInt32
    let credential: AttestedCredential?

    static let headerLength = 37

    init(_ bytes: [UInt8]) throws(AuthenticatorDataFault) {
        guard bytes.count >= Self.headerLength else { throw .truncated }
        rpIDHash = Array(bytes[..<32])
        flags = AuthenticatorFlags(rawValue: bytes[32])
        signCount = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[Self.headerLength...]
        credential = flags.contains(.attestedCredential) ? try AttestedCredential(consuming: &rest) : nil
        if flags.contains(.extensions) { try Self.skipExtensions(&rest) }
        guard rest.isEmpty else { throw .trailingBytes }
    }

    /// Outputs of extensions are ignored, as §7.1 step 28 and §7.2 step 23 allow: none is asked for.
    private static func skipExtensions(_ bytes: inout ArraySlice<UInt8>) throws(AuthenticatorDataFault) {
        let outputs: CBORValue
        do { (outputs, bytes) = try CBORDecoder.decodePrefix(of: bytes, within: .ceremony) } catch {
            throw .malformedExtensions(MalformedCBOR(error))
        }
        guard case .map(let map) = outputs else { throw .unexpectedExtensions }
        let hasTextKeys = map.entries.allSatisfy { if case .text = $0.key { true } else { false } }
        guard hasTextKeys else { throw .unexpectedExtensions }
    }
}

/// The flags of authenticator data (section 6.1). Bits 1 and 5 are reserved and ignored.
struct AuthenticatorFlags: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// UP: the authenticator has tested that a user is present.
    static let userPresent = Self(rawValue: 1 << 0)
    /// UV: the authenticator has verified the user.
    static let userVerified = Self(rawValue: 1 << 2)
    /// BE: the credential may be backed up.
    static let backupEligible = Self(rawValue: 1 << 3)
    /// BS: the credential is backed up.
    static let backedUp = Self(rawValue: 1 << 4)
    /// AT: a credential follows.
    static let attestedCredential = Self(rawValue: 1 << 6)
    /// ED: outputs of extensions follow.
    static let extensions = Self(rawValue: 1 << 7)
}

/// The attested credential data (section 6.5.1).
struct AttestedCredential: Sendable {
    /// 16 bytes.
    let aaguid: [UInt8]
    /// Not empty. §7.1 step 25 limits its length.
    let id: [UInt8]
    let key: COSEKey

    private static let aaguidLength = 16

    init(consuming bytes: inout ArraySlice<UInt8>) throws(AuthenticatorDataFault) {
        guard bytes.count >= Self.aaguidLength + 2 else { throw .truncated }
        aaguid = Array(bytes.prefix(Self.aaguidLength))
        bytes = bytes.dropFirst(Self.aaguidLength)
        let length = bytes.prefix(2).reduce(0) { $0 << 8 | Int($1) }
        bytes = bytes.dropFirst(2)
        guard length > 0 else { throw .credentialIDEmpty }
        guard bytes.count >= length else { throw .truncated }
        id = Array(bytes.prefix(length))
        bytes = bytes.dropFirst(length)
        do { key = try COSEKey(consuming: &bytes) } catch { throw .credentialKey(error) }
    }
}
