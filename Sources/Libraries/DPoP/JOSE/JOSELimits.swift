/// Bounds on what a peer can make this library read. Anything larger is refused before it costs more than reading its
/// length.
public enum JOSELimits {
    /// Bytes of a compact serialization (RFC 7515 section 7.1): proofs and access tokens alike. Also the longest JSON
    /// text of a JWK or a JWK set. A proof of a mobile client has 500 to 700 bytes.
    public static let maximumBytes = 8_192
    /// Nested JSON objects and arrays. A proof needs two, an access token two, a JWK set three.
    public static let maximumDepth = 8
    /// JSON values in one text, counting every member and every element.
    public static let maximumValues = 128
    /// Characters of a JSON number.
    public static let maximumNumberBytes = 32
    /// The largest magnitude of a NumericDate (RFC 7519 section 2), in seconds: up to here a `Double` holds every
    /// integer exactly.
    public static let maximumNumericDate = 9_007_199_254_740_992.0
}
