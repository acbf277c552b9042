package import CBOR
package import StrictJSON

/// Bounds on what a client can make this library read. Anything larger is refused before it costs more than reading its
/// length.
public enum WebAuthnLimits {
    /// Bytes of the client data. Browsers write 100 to 400.
    public static let maximumClientDataBytes = 8_192
    /// Nested JSON objects and arrays in it.
    public static let maximumClientDataDepth = 8
    /// JSON values in it, counting every member and every element.
    public static let maximumClientDataValues = 128
    /// Characters of a JSON number in it.
    public static let maximumNumberBytes = 32

    /// Bytes of an attestation object. The largest ones that were seen, with a SafetyNet response, have 8,500.
    public static let maximumAttestationBytes = 16_384
    /// Bytes of the authenticator data of an authentication. Without extensions it has 37.
    public static let maximumAuthenticatorDataBytes = 4_096
    /// The nesting depth of arrays and maps in CBOR, including the outermost.
    public static let maximumDepth = 8
    /// Items in one CBOR document, including keys and containers.
    public static let maximumItems = 256

    /// Bytes of a credential identifier (Web Authentication Level 3, section 6.5.1).
    public static let maximumCredentialIDBytes = 1_023
    /// Bytes of a signature: RSA with a modulus of ``maximumModulusBits``.
    public static let maximumSignatureBytes = 512
    /// Bits of the modulus of an RSA key.
    public static let minimumModulusBits = 2_048
    /// Bits of the modulus of an RSA key.
    public static let maximumModulusBits = 4_096
    /// Bytes of the public exponent of an RSA key.
    public static let maximumExponentBytes = 4

    /// Bytes of the identifier of an attestation statement format (section 8.1).
    public static let maximumFormatBytes = 32
    /// Certificates of an attestation, including the attestation certificate and its root. Android sends up to five.
    public static let maximumCertificates = 6
    /// Bytes of a certificate's subject or issuer that isn't ASCII.
    public static let maximumNameBytes = 1_024
    /// Entries of an authorization list in Android's key description.
    public static let maximumAuthorizations = 64
}

extension CBORBounds {
    static let ceremony = CBORBounds(
        maximumDepth: WebAuthnLimits.maximumDepth, maximumItems: WebAuthnLimits.maximumItems)
}

extension JSONBounds {
    static let clientData = JSONBounds(
        maximumBytes: WebAuthnLimits.maximumClientDataBytes, maximumDepth: WebAuthnLimits.maximumClientDataDepth,
        maximumValues: WebAuthnLimits.maximumClientDataValues,
        maximumNumberBytes: WebAuthnLimits.maximumNumberBytes)
}

/// Why bytes are not strict CBOR within ``WebAuthnLimits``. It contains nothing that the client sent.
public struct MalformedCBOR: Hashable, Sendable, CustomStringConvertible {
    package let fault: CBORFault

    init(_ fault: CBORFault) { self.fault = fault }

    public var description: String { "\(fault)" }
}

/// Why a text is not one strict JSON object within ``WebAuthnLimits``. It contains nothing that the client sent.
public struct MalformedJSON: Hashable, Sendable, CustomStringConvertible {
    package let defect: JSONDefect

    init(_ defect: JSONDefect) { self.defect = defect }

    public var description: String { "\(defect)" }
}
