/// A part of a compact serialization.
public enum JOSEPart: String, Hashable, Sendable, CaseIterable {
    case header, payload, signature
}

/// Why a text isn't the JSON object that was expected. Offsets count bytes from the beginning of the text.
public enum JSONFault: Error, Hashable, Sendable {
    case unexpectedEnd
    case unexpectedByte(at: Int)
    /// A control character, an unknown escape, half a surrogate pair, or bytes that aren't UTF-8.
    case malformedString(at: Int)
    /// Not a JSON number, or longer than ``JOSELimits/maximumNumberBytes``.
    case malformedNumber(at: Int)
    /// Longer than ``JOSELimits/maximumBytes``.
    case tooLong
    /// Nested deeper than ``JOSELimits/maximumDepth``.
    case tooDeep
    /// More than ``JOSELimits/maximumValues``.
    case tooManyValues
    /// One object has two members with the same name (RFC 7515 section 4, RFC 7519 section 4).
    case duplicateMember(at: Int)
    /// JSON, but not an object.
    case notAnObject
}

/// Why a text isn't a JWS that is accepted here. Nothing in it is secret or was sent by the peer.
public enum JOSEError: Error, Hashable, Sendable {
    /// Longer than ``JOSELimits/maximumBytes``.
    case tooLong
    /// Not three parts between two dots: a JWE has five, an unsecured JWS has an empty third one.
    case partCount
    /// A part isn't base64url without padding, in its one canonical form.
    case malformedBase64URL(JOSEPart)
    /// A part isn't a strict JSON object.
    case malformedJSON(JOSEPart, JSONFault)
    /// The signature isn't r and s in 32 bytes each (RFC 7518 section 3.4).
    case signatureLength
    /// `typ` is absent or has another value.
    case type
    /// `alg` is absent or not `ES256`.
    case algorithm
    /// The header has `crit` or `b64`: no extension is understood here (RFC 7515 section 4.1.11, RFC 7797).
    case criticalHeader
}
