import Admission
import AppAttest
import Crypto
import DPoP
package import KeyStore
import KeyStorePostgreSQL
import Observability
import RelayCore
import Settings
import WireText

/// What registrations, assertions and the operator's commands store, and so what every record of a store is.
///
/// A gateway believes its store (docs/THREAT-MODEL.md), so a record that none of them can have made was damaged, or
/// forged.
package struct RegistrationRules: RecordRules {
    /// Of the clock of the gateway that stored a time, in milliseconds.
    static let clockTolerance: Int64 = 86_400_000
    /// From the publication of a signing key to its first use, in milliseconds.
    static let longestPublication: Int64 = 366 * 86_400_000
    private static let dayMilliseconds: Int64 = 86_400_000
    /// The operator's tickets last for 30 days, and the next ones of their sessions for a day longer.
    private static let longestTicket = 31 * dayMilliseconds + clockTolerance

    /// Unix milliseconds.
    private let now: Int64

    package init(now: Int64) { self.now = now }

    static var current: Self { Self(now: Timestamp.now().unixMilliseconds) }

    package func faults(of record: StoreRecord) -> [String] {
        var faults = Faults()
        switch record {
        case .key(let key) where key.isErased: checkErased(key, &faults)
        case .key(let key): check(key, &faults)
        case .token(let token): check(token, &faults)
        case .signingKey(let key): check(key, &faults)
        case .revokedSigningKey(let key):
            faults.expect(Self.isThumbprint(key.id), "its name is no thumbprint")
            faults.expect(isTime(key.revokedAt), "the time of its revocation is impossible")
        case .secret(let secret): check(secret, &faults)
        case .ticket(let ticket):
            faults.expect(
                TicketOffice.isNextTicket(ticket), "its client or its session can't be read, or is another one")
            faults.expect(
                ticket.expires >= 0 && ticket.expires <= now + Self.longestTicket, "the time of its end is impossible")
        case .blocked(let entry, let reason, let addedAt): checkBlocked(entry, reason, addedAt, &faults)
        case .account(let account): check(account, &faults)
        }
        return faults.all
    }

    struct Faults {
        private(set) var all: [String] = []

        mutating func expect(_ isGood: @autoclosure () -> Bool, _ fault: String) { if !isGood() { all.append(fault) } }
    }

    // MARK: Device keys

    private func check(_ key: DeviceKey, _ faults: inout Faults) {
        faults.expect(Self.isPoint(key.publicKeyX963), "its public key is no point of P-256 in 65 bytes")
        faults.expect(
            Array(SHA256.hash(data: key.publicKeyX963)) == key.id.bytes,
            "its identifier isn't the SHA-256 of its public key")
        faults.expect(Self.isApp(key.app), "its app is no App ID")
        faults.expect(Self.isEnvironment(key.environment), "its environment is none of App Attest's")
        faults.expect(
            key.trustRoot.count == RecordLimits.trustRootBytes, "its trust root isn't the SHA-256 of a certificate")
        faults.expect(
            key.receipt.count <= RecordLimits.attestationBytes
                && (key.bundleVersion?.utf8.count ?? 0) <= RecordLimits.attestationBytes,
            "its receipt or its app's version is longer than an attestation")
        checkHistory(key, &faults)
    }

    private func checkHistory(_ key: DeviceKey, _ faults: inout Faults) {
        faults.expect(
            key.counter <= DeviceKey.largestCounter,
            "its counter is higher than any device's can be (\(DeviceKey.largestCounter)), and would lock it out")
        // An assertion sets both, and nothing else sets either.
        faults.expect(
            (key.counter > 0) == (key.lastUsedAt != nil),
            "its counter and the time of its last use contradict each other")
        faults.expect(isTime(key.registeredAt), "the time of its registration is impossible")
        for (time, name) in [(key.lastUsedAt, "last use"), (key.revokedAt, "revocation")] {
            guard let time else { continue }
            faults.expect(isTime(time), "the time of its \(name) is impossible")
            faults.expect(
                follows(time, key.registeredAt), "the time of its \(name) is before that of its registration")
        }
        checkRevocation(key, &faults)
    }

    private func checkRevocation(_ key: DeviceKey, _ faults: inout Faults) {
        faults.expect(
            key.isRevoked || key.revocationReason == nil, "it has the reason of a revocation, and isn't revoked")
        faults.expect(
            (key.revocationReason?.utf8.count ?? 0) <= RecordLimits.reasonBytes,
            "the reason of its revocation has more than \(RecordLimits.reasonBytes) bytes")
    }

    /// Of an erased key only the revocation is left.
    private func checkErased(_ key: DeviceKey, _ faults: inout Faults) {
        let isEmpty =
            key.app.utf8.isEmpty && key.environment.utf8.isEmpty && key.trustRoot.isEmpty && key.counter == 0
            && key.receipt.isEmpty && key.validationCategory == nil && key.bundleVersion == nil
            && key.registeredAt == 0 && key.lastUsedAt == nil
        faults.expect(isEmpty, "it has no public key, and isn't erased")
        faults.expect(
            key.revokedAt.map(isTime) == true
                && key.revocationReason.map { $0.utf8.elementsEqual(DeviceKey.erasedReason.utf8) } == true,
            "it has no public key, and no revocation that keeps it out")
    }

    private static func isPoint(_ bytes: [UInt8]) -> Bool {
        bytes.count == RecordLimits.publicKeyBytes && (try? P256.Signing.PublicKey(x963Representation: bytes)) != nil
    }

    private static func isApp(_ text: String) -> Bool {
        text.utf8.count <= RecordLimits.appBytes && AppID(text) != nil
    }

    private static func isEnvironment(_ text: String) -> Bool {
        AttestationEnvironment.allCases.contains { $0.rawValue.utf8.elementsEqual(text.utf8) }
    }

    // MARK: Tokens and secrets

    private func check(_ transferred: TransferredToken, _ faults: inout Faults) {
        let (token, places) = (transferred.token, transferred.places)
        faults.expect(DevelopmentTokenAdministration.isName(token.name), "its name isn't one that a token can have")
        faults.expect(
            token.routes.map(DevelopmentTokenAdministration.areRoutes) ?? true,
            "its routes aren't ones that a token can have")
        faults.expect(
            (1...DevelopmentToken.largestDeviceLimit).contains(token.maximumDevices)
                && places.count <= token.maximumDevices, "it has more devices than a token can have")
        let longest = Int64(DevelopmentTokenAdministration.maximumDays) * Self.dayMilliseconds
        faults.expect(
            isTime(token.issuedAt) && token.issuedAt <= token.expiresAt && token.expiresAt - token.issuedAt <= longest,
            "the times of its issue and its end are impossible")
        for time in [token.revokedAt, token.lastUsedAt].compactMap(\.self) {
            faults.expect(
                isTime(time) && follows(time, token.issuedAt), "the time of its revocation or last use is impossible")
        }
        for place in places {
            let isGood =
                place.device.count == KeyID.length && isTime(place.firstUsedAt) && isTime(place.lastUsedAt)
                && follows(place.lastUsedAt, place.firstUsedAt)
            guard isGood else { return faults.expect(false, "a device of it, or the time of its use, is impossible") }
        }
    }

    private func check(_ key: StoredSigningKey, _ faults: inout Faults) {
        let name = SigningKey(rawRepresentation: key.secret)?.keyID
        faults.expect(name != nil, "it is no private key of P-256")
        faults.expect(
            name?.utf8.elementsEqual(key.id.utf8) ?? true, "its name isn't the thumbprint of its public key")
        faults.expect(
            isTime(key.publishedAt) && key.signsFrom >= key.publishedAt
                && key.signsFrom - key.publishedAt <= Self.longestPublication,
            "the times of its publication and its first use are impossible")
    }

    /// The SHA-256 of a public key in base64url (RFC 7638).
    private static func isThumbprint(_ text: String) -> Bool {
        text.utf8.count <= RecordLimits.signingKeyNameBytes && Base64URL.decode(text)?.count == SHA256.byteCount
    }

    private func check(_ secret: NamedSecret, _ faults: inout Faults) {
        faults.expect(
            (1...RecordLimits.secretNameBytes).contains(secret.name.utf8.count)
                && secret.name.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "its name is none of a secret")
        faults.expect((1...RecordLimits.secretBytes).contains(secret.value.count), "its length is impossible")
        if secret.name.utf8.elementsEqual(TokenKeys.nonceSecretName.utf8) {
            faults.expect(secret.value.count >= TokenKeys.nonceSecretBytes, "it is too short")
        }
        if secret.name.utf8.starts(with: FleetSecrets.Generation.namePrefix.utf8) {
            faults.expect(
                FleetSecrets.Generation(name: secret.name, stored: secret.value) != nil,
                "it is no generation of the fleet's secrets")
        }
    }

    private func checkBlocked(_ entry: String, _ reason: String?, _ addedAt: Int64, _ faults: inout Faults) {
        let fits =
            entry.utf8.count <= FleetBlockList.maximumEntryBytes
            && (reason?.utf8.count ?? 0) <= FleetBlockList.maximumReasonBytes
        faults.expect(fits, "it or its reason is too long")
        if fits {
            let leftOut = BlockList.reading([entry], kinds: [ConfiguredMethod].all.blockListKinds).leftOut
            faults.expect(leftOut == 0, "it can't be read, so it blocks nobody")
        }
        faults.expect(isTime(addedAt), "its time is impossible")
    }

    // MARK: Times

    /// A gateway without a clock begins in 1970, and one that is ahead by more than a day is wrong.
    func isTime(_ milliseconds: Int64) -> Bool {
        milliseconds >= 0 && milliseconds <= now.addingReportingOverflow(Self.clockTolerance).partialValue
    }

    /// Clocks are set back.
    func follows(_ later: Int64, _ earlier: Int64) -> Bool {
        let (limit, overflows) = earlier.subtractingReportingOverflow(Self.clockTolerance)
        return overflows || later >= limit
    }
}
