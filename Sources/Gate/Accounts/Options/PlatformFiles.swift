import WireText

/// An app on Android: its package, and the SHA-256 of a certificate that signs it.
package struct AndroidApp: Hashable, Sendable {
    package static let fingerprintBytes = 32

    package let package: String
    package let fingerprint: [UInt8]

    /// - Returns: nil for another number of bytes than ``fingerprintBytes``.
    package init?(package name: String, fingerprint: [UInt8]) {
        guard fingerprint.count == Self.fingerprintBytes else { return nil }
        (package, self.fingerprint) = (name, fingerprint)
    }

    /// The origin that its system writes into the client data.
    package var origin: String { "android:apk-key-hash:\(Base64URL.encode(fingerprint))" }

    /// `AB:CD:…`, as asset links have it.
    var fingerprintText: String {
        fingerprint.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }
}

/// The files in `/.well-known/` by which platforms find out which apps and pages may use a domain's passkeys. A file
/// without entries isn't there.
package struct PlatformFiles: Sendable {
    /// `apple-app-site-association`
    package let appleAssociation: [UInt8]?
    /// `assetlinks.json`
    package let assetLinks: [UInt8]?
    /// `webauthn`: related origins (Web Authentication Level 3, section 5.11).
    package let relatedOrigins: [UInt8]?

    /// - Parameters:
    ///   - apps: of Apple's systems, `TEAMID.bundle.identifier`.
    ///   - origins: of pages, `https://…`.
    package init(apps: [String], androidApps: [AndroidApp], origins: [String]) {
        appleAssociation = apps.isEmpty ? nil : Self.appleAssociation(apps)
        assetLinks = androidApps.isEmpty ? nil : Self.assetLinks(androidApps)
        relatedOrigins = origins.isEmpty ? nil : Self.object { $0.member("origins", origins) }
    }

    private static func object(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        write(&writer)
        return writer.object
    }

    private static func appleAssociation(_ apps: [String]) -> [UInt8] {
        object { $0.member("webcredentials", json: object { $0.member("apps", apps) }) }
    }

    /// Android lets an app use passkeys only if it may handle the domain's addresses, too; its password managers look
    /// for the other relation.
    private static let relations = [
        "delegate_permission/common.handle_all_urls", "delegate_permission/common.get_login_creds",
    ]

    private static func assetLinks(_ apps: [AndroidApp]) -> [UInt8] {
        let statements = apps.map { app in
            object {
                $0.member("relation", relations)
                $0.member(
                    "target",
                    json: object {
                        $0.member("namespace", "android_app")
                        $0.member("package_name", app.package)
                        $0.member("sha256_cert_fingerprints", [app.fingerprintText])
                    })
            }
        }
        return Array("[".utf8) + Array(statements.joined(separator: ",".utf8)) + Array("]".utf8)
    }
}
