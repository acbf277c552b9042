import Admission
import FoundationEssentials
import SwiftASN1
import WireText
import X509

/// Checks of the PEM files that settings name. They find an operator's mistakes: another file, a key that isn't the
/// certificate's, a certificate that is about to expire. OpenSSL checks the rest.
extension ConfigurationLoader {
    /// Every start warns if a certificate expires within this many days.
    static let certificateWarningDays = 30
    static let revocationListWarningDays = 7

    /// A setting, and the path that is its value.
    typealias FileSetting = (setting: LiveSetting<String?>, path: String)

    /// - Returns: the names of the server's certificate; none after an error.
    @discardableResult
    mutating func checkServerCertificate(_ certificate: FileSetting, _ keyFile: FileSetting) -> ServerNames {
        let pair = NamedFile.pair(certificate.path, keyFile.path)
        let chain = certificates(certificate.setting, pair.first)
        let key = privateKey((keyFile.setting, pair.second))
        if NamedFile.isReadableByEverybody(keyFile.path) {
            warn(keyFile.setting, "all users of this machine can read the key: chmod o= it.")
        }
        guard let leaf = chain.first else { return ServerNames() }
        for element in chain { warnOfExpiry(certificate.setting, element) }
        if let key, key.publicKey != leaf.publicKey {
            fail(
                keyFile.setting, "isn't the key of the first certificate in \(certificate.setting.name)",
                "Name the key that belongs to it, and put the server's certificate before its intermediates.")
        }
        return Self.names(of: leaf)
    }

    private static func names(of certificate: Certificate) -> ServerNames {
        var (names, addresses): ([String], [IPAddress]) = ([], [])
        for name in (try? certificate.extensions.subjectAlternativeNames).map({ Array($0) }) ?? [] {
            switch name {
            case .dnsName(let text): names.append(text)
            case .ipAddress(let octets):
                if let address = IPAddress(bytes: Array(octets.bytes)) { addresses.append(address) }
            default: break
            }
        }
        return ServerNames(dnsNames: names, addresses: addresses)
    }

    mutating func checkClientAuthorities(_ file: FileSetting, revocationLists lists: FileSetting?) {
        let authorities = certificates(file.setting, file.path)
        for authority in authorities {
            warnOfExpiry(file.setting, authority)
            warnIfNoAuthority(file.setting, authority)
        }
        if let lists, !authorities.isEmpty { checkRevocationLists(lists, of: authorities, in: file.setting) }
    }

    mutating func checkTargetAuthorities(_ path: String) {
        for authority in certificates(settings.target.authorityPath, path) {
            warnOfExpiry(settings.target.authorityPath, authority)
        }
    }

    /// Version 1 certificates have no extensions that could state this; they pass.
    private mutating func warnIfNoAuthority(_ setting: LiveSetting<String?>, _ certificate: Certificate) {
        guard certificate.version == .v3 else { return }
        if case .isCertificateAuthority = (try? certificate.extensions.basicConstraints) ?? .notCertificateAuthority {
            return
        }
        warn(
            setting,
            "\(certificate.subject) isn't a certificate authority; use the CA that issued the clients' certificates.")
    }

    /// The text of a file with exactly one certificate.
    mutating func checkedRoot(_ path: String) -> String? {
        guard let text = text(of: settings.attestation.rootPath, path) else { return nil }
        let found = certificates(settings.attestation.rootPath, path)
        guard let root = found.first else { return nil }
        guard found.count == 1 else {
            fail(
                settings.attestation.rootPath, "names a file with \(found.count) certificates",
                "Name a file with only the root.")
            return nil
        }
        warnOfExpiry(settings.attestation.rootPath, root)
        return text
    }

    // MARK: Reading PEM

    /// All certificates of a file; empty after an error.
    mutating func certificates(_ setting: LiveSetting<String?>, _ path: String) -> [Certificate] {
        do {
            return try documents(setting, path, named: ["CERTIFICATE"]).map { try Certificate(pemDocument: $0) }
        } catch {
            fail(setting, "holds a certificate that can't be read", "Check it with `openssl x509 -in FILE -text`.")
            return []
        }
    }

    private mutating func privateKey(_ file: FileSetting) -> Certificate.PrivateKey? {
        let kinds = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"]
        guard let document = documents(file.setting, file.path, named: kinds).first else { return nil }
        do {
            return try Certificate.PrivateKey(pemDocument: document)
        } catch {
            fail(
                file.setting, "names a key that can't be read",
                "Use an RSA key of 2048 bits or more, or an EC key on P-256, P-384 or P-521.")
            return nil
        }
    }

    /// PEM documents of certain kinds, in the file's order; empty after an error, which says why.
    mutating func documents(_ setting: LiveSetting<String?>, _ path: String, named kinds: [String]) -> [PEMDocument] {
        guard let text = text(of: setting, path) else { return [] }
        let all = try? PEMDocument.parseMultiple(pemString: text)
        let wanted = (all ?? []).filter { kinds.contains($0.discriminator) }
        guard wanted.isEmpty else { return wanted }
        if Self.isEncrypted(text) {
            fail(
                setting, "names an encrypted key, whose passphrase nobody could enter",
                "Decrypt it with `openssl pkey -in FILE -out FILE`, and chmod 600 it.")
        } else if all == nil {
            fail(
                setting, "names a file that isn't well-formed PEM",
                "Write it again with openssl, in lines of 64 characters.")
        } else {
            fail(setting, "names a file without a \(kinds[0]) in PEM", "Check that it is the right file.")
        }
        return []
    }

    /// In PKCS #8 (RFC 5958), or in OpenSSL's older form, whose header lines (RFC 1421) no reader of RFC 7468 accepts.
    private static func isEncrypted(_ text: String) -> Bool {
        text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED")
    }

    // MARK: Expiry

    private mutating func warnOfExpiry(_ setting: LiveSetting<String?>, _ certificate: Certificate) {
        let name = "the certificate of \(certificate.subject)"
        if now < certificate.notValidBefore {
            warn(setting, "\(name) isn't valid yet; it will be at \(Self.shown(certificate.notValidBefore)).")
        } else {
            warnOfExpiry(
                setting, name, at: certificate.notValidAfter, days: Self.certificateWarningDays,
                "Clients will refuse it.")
        }
    }

    mutating func warnOfExpiry(
        _ setting: LiveSetting<String?>, _ name: String, at end: Date, days: Int, _ consequence: String
    ) {
        if end < now {
            warn(setting, "\(name) expired at \(Self.shown(end)). \(consequence)")
        } else if end.timeIntervalSince(now) < Double(days) * 86_400 {
            warn(setting, "\(name) expires at \(Self.shown(end)).")
        }
    }

    static func shown(_ date: Date) -> String {
        date.formatted(.iso8601)
    }
}
