package import Accounts
import Admission
import KeyStore
import RelayCore
import SwiftASN1
package import WebAuthn
import WireText
package import X509

extension GatewayConfiguration {
    /// The relying party of players' passkeys.
    package struct Passkeys: Sendable, Equatable {
        package let relyingPartyID: String
        package let pages: [String]
        /// Of apps on iOS, by default: it isn't a page unless it is named as one.
        package let appOrigin: String?
        package let androidApps: [AndroidApp]
        /// The trust anchors by format; nil: no authenticator has to prove its model.
        package let anchors: [AttestationFormat: [Certificate]]?

        /// As clients write them.
        package var origins: [String] { pages + [appOrigin].compactMap(\.self) + androidApps.map(\.origin) }
    }
}

/// Accounts: a domain for the passkeys, and what may use them.
extension ConfigurationLoader {
    /// Nil: there are no accounts.
    mutating func passkeys() -> GatewayConfiguration.Passkeys? {
        let accounts = read(\.accounts)
        guard let id = accounts.relyingPartyID else {
            refuseWithoutDomain(accounts)
            return nil
        }
        guard let origin = read(settings.tickets.publicOrigin) else {
            refuse(
                settings.accounts.relyingPartyID, "is set without PUBLIC_ORIGIN",
                "Set PUBLIC_ORIGIN to the origin that clients use, like https://\(id).",
                involving: [settings.accounts.relyingPartyID, settings.tickets.publicOrigin])
            return nil
        }
        checkOrigin(origin)
        if accounts.origins.contains(where: Self.isAtAddress) { refuseAddresses() }
        refuseWithSecret()
        let pages = accounts.origins.isEmpty ? [origin] : accounts.origins
        let appOrigin = "https://" + id
        let hasAppOrigin = accounts.origins.isEmpty && !appOrigin.hasSameBytes(as: origin)
        checkPages(hasAppOrigin ? pages + [appOrigin] : pages, id)
        if accounts.signUp == .open { warnOfOpenSignUp() }
        var known: Set<String> = []
        return GatewayConfiguration.Passkeys(
            relyingPartyID: id, pages: pages.filter { known.insert($0).inserted },
            appOrigin: hasAppOrigin ? appOrigin : nil, androidApps: accounts.androidApps,
            anchors: anchors(accounts.attestation))
    }

    /// Browsers offer passkeys at no address, and without TLS on this machine only.
    private mutating func checkOrigin(_ origin: String) {
        let (host, isAddress) = (WebOrigin(origin)?.host ?? "", Self.isAtAddress(origin))
        let isPlain = !origin.utf8.starts(with: "https://".utf8) && !host.hasSameBytes(as: "localhost")
        guard isAddress || isPlain else { return }
        refuse(
            settings.tickets.publicOrigin,
            isAddress ? "is an IP address, where no passkey works" : "has no TLS, without which no passkey works",
            "Set it to the https origin of the domain, or remove PASSKEY_RP_ID.",
            involving: [settings.accounts.relyingPartyID, settings.tickets.publicOrigin])
    }

    private mutating func refuseAddresses() {
        refuse(
            settings.accounts.origins, "holds a page at an IP address, where no passkey works",
            "Name pages by their domains.")
    }

    private static func isAtAddress(_ origin: String) -> Bool {
        let host = WebOrigin(origin)?.host ?? ""
        return NetworkHost.ipv4(host) != nil || host.utf8.first == UInt8(ascii: "[")
    }

    /// No page and no app of a player has one.
    private mutating func refuseWithSecret() {
        guard read(settings.gate.authMode) == .sharedSecret else { return }
        refuse(
            settings.accounts.relyingPartyID, "is set while AUTH_MODE is shared-secret",
            "Remove one of the two: players who sign in have no shared secret.",
            involving: [settings.accounts.relyingPartyID, settings.gate.authMode])
    }

    /// What was meant for accounts would have no effect. A default that is written out does no harm.
    private mutating func refuseWithoutDomain(_ values: SectionValues<AccountSection>) {
        let accounts = settings.accounts
        let others: [(any AnySetting, isMeant: Bool)] = [
            (accounts.origins, !values.origins.isEmpty), (accounts.androidApps, !values.androidApps.isEmpty),
            (accounts.attestation, values.attestation != .none), (accounts.signUp, values.signUp == .open),
            (accounts.signUpsPerHour, values.signUpsPerHour != SignUpLimits.defaultPerHour),
            (accounts.maximumAccounts, values.maximumAccounts != AccountLimits.defaultMaximumAccounts),
        ]
        for (setting, isMeant) in others where isMeant {
            refuse(
                setting, "is set without PASSKEY_RP_ID", "Set PASSKEY_RP_ID to the domain of the passkeys.",
                involving: [accounts.relyingPartyID, setting])
        }
    }

    /// Browsers use passkeys on a page of the domain or below it, and on pages that its file names.
    private mutating func checkPages(_ pages: [String], _ id: String) {
        for page in pages where !page.utf8.starts(with: "https://".utf8) {
            warn(settings.accounts.origins, "holds \(page): browsers offer passkeys on pages with https only.")
        }
        let isOwn = pages.contains { page in
            guard let host = WebOrigin(page)?.host else { return false }
            return host.hasSameBytes(as: id) || host.utf8.count > id.utf8.count && host.hasSuffix("." + id)
        }
        if !isOwn { warn(settings.accounts.origins, "has no page of the domain \(id), which PASSKEY_RP_ID names.") }
    }

    private mutating func warnOfOpenSignUp() {
        warn(
            settings.accounts.signUp,
            "is open: anyone may make an account. Only routes with admit=passkey are open to these accounts.")
        let names = read(settings.target.routes).contains { $0.options.admit?.methods?.contains("passkey") == true }
        if !names {
            warn(
                settings.target.routes,
                "has no route with admit=passkey: accounts that anyone made are admitted nowhere.")
        }
    }

    private mutating func anchors(_ attestation: PasskeyAttestation) -> [AttestationFormat: [Certificate]]? {
        guard case .required(let directory) = attestation else { return nil }
        var anchors: [AttestationFormat: [Certificate]] = [:]
        for format in AttestationFormat.allCases {
            let path = "\(directory)/\(format.rawValue).pem"
            guard NamedFile.resolved(path) != nil else { continue }
            do {
                let text = try NamedFile.text(path, subject: "names a directory whose \(format.rawValue).pem ")
                let roots = try PEMDocument.parseMultiple(pemString: text).map { try Certificate(pemDocument: $0) }
                guard !roots.isEmpty else { throw NoCertificate() }
                anchors[format] = roots
            } catch let problem as SettingProblem {
                fail(settings.accounts.attestation, problem.problem, problem.remedy)
            } catch {
                fail(
                    settings.accounts.attestation,
                    "names a directory whose \(format.rawValue).pem holds something else than certificates",
                    "Check it with `openssl x509 -in FILE -text`.")
            }
        }
        if anchors.isEmpty, !hasFailed(settings.accounts.attestation) {
            fail(
                settings.accounts.attestation, "names a directory without root certificates",
                "Put packed.pem, apple.pem, android-key.pem or fido-u2f.pem there.")
        }
        return anchors
    }

    private struct NoCertificate: Error {}
}
