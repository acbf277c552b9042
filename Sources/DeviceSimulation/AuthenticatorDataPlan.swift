/// Authenticator data as separate fields, each of which a forgery may change. AppAttest's `AuthenticatorData` documents the layout.
struct AuthenticatorDataPlan {
    var rpIDHash: [UInt8]
    var flags: UInt8 = 0x40
    var counter: UInt32 = 0
    /// nil in assertions.
    var credential: CredentialPlan?
    /// The bytes after the fixed fields: none before iOS 27.
    var appended: [UInt8] = []

    var bytes: [UInt8] {
        let counterBytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
        return rpIDHash + [flags] + counterBytes + (credential?.bytes ?? []) + appended
    }
}

/// The attested credential data of an attestation.
struct CredentialPlan {
    var aaguid: [UInt8]
    var credentialID: [UInt8]
    /// nil: the length of `credentialID`.
    var announcedLength: UInt16?
    var coseKey: [UInt8]

    var bytes: [UInt8] {
        let length = announcedLength ?? UInt16(truncatingIfNeeded: credentialID.count)
        return aaguid + [UInt8(length >> 8), UInt8(truncatingIfNeeded: length)] + credentialID + coseKey
    }

    /// A P-256 key as App Attest encodes it (RFC 9053, section 7.1.1).
    /// - Parameter x963: 65 bytes.
    static func coseKey(_ x963: [UInt8], algorithm: CBORItem = .negative(6)) -> [UInt8] {
        CBORItem.map([
            (.unsigned(1), .unsigned(2)), (.unsigned(3), algorithm), (.negative(0), .unsigned(1)),
            (.negative(1), .bytes(Array(x963[1..<33]))), (.negative(2), .bytes(Array(x963[33...]))),
        ]).encoded
    }
}

/// The map that iOS 27 and macOS 27 append to authenticator data.
package struct SimulatedExtensions: Hashable, Sendable, Codable {
    package var validationCategory: UInt32?
    package var bundleVersion: String?

    package init(validationCategory: UInt32? = 4, bundleVersion: String? = "1") {
        self.validationCategory = validationCategory
        self.bundleVersion = bundleVersion
    }

    var encoded: [UInt8] {
        var entries: [(CBORItem, CBORItem)] = []
        if let bundleVersion { entries.append((.text("apple_bundle_version_01"), .text(bundleVersion))) }
        if let validationCategory { entries.append((Self.categoryKey, Self.category(validationCategory))) }
        return CBORItem.map(entries).encoded
    }

    static let categoryKey = CBORItem.text("apple_validation_category_01")

    /// Four bytes, little-endian.
    static func category(_ number: UInt32) -> CBORItem {
        .bytes([0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> $0) })
    }
}
