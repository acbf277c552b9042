/// The CBOR map that iOS 27 and macOS 27 append to authenticator data. The nonce covers it, so it is as trustworthy as the rest.
/// Older systems append nothing, which reads as an empty map.
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
