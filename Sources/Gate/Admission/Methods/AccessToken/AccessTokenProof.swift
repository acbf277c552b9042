import DPoP
package import FoundationEssentials
package import KeyStore
import WireText

/// The data kept of a verified access token, for comparing it with revocations.
package struct AccessTokenProof: AdmissionProof {
    /// The subject that the token was issued to.
    package enum Subject: Codable, Hashable, Sendable {
        /// An attested device.
        case device(KeyID)
        /// The bearer of a development token.
        case grant(String)
        /// A player who has signed in.
        case account(AccountSubject)
        /// None of these; the gateway issues no such token.
        case unknown
    }

    package private(set) var subject: Subject
    /// The `kid` of the key that signed the token.
    package let signingKeyID: String
    package let expiresAt: Date
    /// `client_id`.
    package let app: String
    /// The routes of the development token.
    package var routes: Set<String>?
    /// That the device has joined.
    private(set) var deviceAccount: AccountID?
    /// `sub`.
    private let name: String
    private let isDevelopment: Bool

    init(_ token: VerifiedAccessToken) {
        let claims = token.claims
        name = claims.subject
        app = claims.app
        isDevelopment = claims.isDevelopment
        signingKeyID = token.keyID
        expiresAt = claims.expiresAt
        subject = Self.subject(claims)
    }

    private static func subject(_ claims: AccessTokenClaims) -> Subject {
        if claims.isOfAccount { return AccountSubject(claims).map(Subject.account) ?? .unknown }
        return claims.isDevelopment
            ? TokenSubjectName.grant(in: claims.subject).map(Subject.grant) ?? .unknown
            : KeyID(text: claims.subject).map(Subject.device) ?? .unknown
    }

    /// What the store says of the account; without it nobody knows which routes are open to it.
    mutating func note(_ standing: AccountStanding) {
        guard case .account(let account) = subject else { return }
        subject = .account(account.noting(standing))
    }

    /// The device's account.
    mutating func note(_ account: AccountID?) { deviceAccount = account }

    package var isLarge: Bool { false }

    /// By its subject, or by the key that signed the token.
    package func isRevoked(by revocations: Revocations) -> Bool {
        switch revocations {
        case .store(let revoked): revoked.signingKeys.contains(signingKeyID) || isSubjectRevoked(by: revoked)
        case .certificates(let isRevoked):
            if case .account(let account) = subject { account.certificate.map(isRevoked) ?? false } else { false }
        }
    }

    private func isSubjectRevoked(by revoked: RevokedCredentials) -> Bool {
        switch subject {
        case .device(let key): revoked.have(key, in: deviceAccount)
        case .grant(let id): revoked.grants.contains(id)
        case .account(let account): account.isEnded(by: revoked)
        case .unknown: true
        }
    }

    package static var expiry: ProofExpiry<AccessTokenProof> { .withToken { $0.expiresAt } }

    package var identity: Identity {
        if case .account(let account) = subject { return Identity(method: account.method, subject: name) }
        return Identity(
            method: isDevelopment ? AccessTokenMethod.developmentName : AccessTokenMethod.name, subject: name)
    }

    package func name(for name: MethodName) -> MethodName {
        if case .account(let account) = subject { account.method } else { name }
    }

    package var account: AccountID? {
        if case .account(let account) = subject { account.id } else { deviceAccount }
    }

    /// The device that has signed the player in, too.
    package var origins: [Identity] {
        guard case .account(let account) = subject else { return [] }
        let device = account.credential.device.map { Identity.device($0) }
        return Identity.certificates(account.fingerprints ?? []) + [device].compactMap(\.self)
    }

    package var accountEvidence: AccountEvidence? {
        switch subject {
        case .device(let key): .device(key, isFresh: false)
        case .grant(let id): AccountEnd.grant(id).origin.map(AccountEvidence.origin)
        case .account(let account): .account(account.id, key: account.key, family: account.credential.family)
        case .unknown: nil
        }
    }
}

/// The `sub` of an access token.
enum TokenSubjectName {
    private static let separator: Unicode.Scalar = "."

    /// An attested device: the identifier of its key.
    static func device(_ id: KeyID) -> String { id.base64 }

    /// A device with a development token: the grant, and the device's key. Neither contains the separator.
    static func development(_ grant: DevelopmentGrant, _ key: JWKThumbprint) -> String {
        "\(grant.id)\(separator)\(key.text)"
    }

    /// All that a device can have, for the erasure of what is stored about it.
    ///
    /// - Parameter thumbprint: of the device's key, or the identifier of its attested key.
    static func all(of thumbprint: KeyID, grants: [String]) -> [Identity] {
        [Identity(method: AccessTokenMethod.name, subject: device(thumbprint))]
            + grants.map { grant in
                Identity(
                    method: AccessTokenMethod.developmentName,
                    subject: "\(grant)\(separator)\(Base64URL.encode(thumbprint.bytes))")
            }
    }

    static func grant(in subject: String) -> String? {
        let parts = subject.splitAtBytes { $0 == UInt8(ascii: separator) }
        guard parts.count == 2, !parts[0].utf8.isEmpty else { return nil }
        return String(parts[0])
    }
}
