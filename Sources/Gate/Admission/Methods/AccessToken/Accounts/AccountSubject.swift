import Crypto
import DPoP
package import KeyStore
import StateCoding
import WireText

/// The account that an access token was issued to, and what it was signed in with. With the account's
/// standing, it also has what the account ends with.
package struct AccountSubject: Codable, Hashable, Sendable {
    package let id: AccountID
    let credential: AccountCredential
    /// The thumbprint of the key that the token is bound to.
    let key: [UInt8]
    /// ``AccountOrigin/Kind``; nil before the store was asked.
    private(set) var kind: Int64?
    /// The development token that it began with, by ``DevelopmentGrant/id``.
    private(set) var grant: String?
    /// The client certificate that it began with.
    private(set) var certificate: CertificateNumber?
    /// The SHA-256 of the certificates of its chain, in hexadecimal.
    private(set) var fingerprints: [String]?

    /// - Returns: nil for what no gateway issues.
    init?(_ claims: AccessTokenClaims) {
        guard let id = AccountID(text: claims.subject), let credential = AccountCredential(claims) else { return nil }
        self.init(id, credential, key: claims.boundKey.bytes)
    }

    init(_ id: AccountID, _ credential: AccountCredential, key: [UInt8]) {
        (self.id, self.credential, self.key) = (id, credential, key)
    }

    func noting(_ standing: AccountStanding) -> AccountSubject {
        var noted = self
        noted.kind = standing.origin.kind.rawValue
        switch AccountEnd(standing.origin) {
        case .grant(let id): noted.grant = id
        case .certificate(let proof):
            noted.certificate = proof.number
            noted.fingerprints = proof.chain?.fingerprints
        case nil: break
        }
        return noted
    }

    var method: MethodName { AccessTokenMethod.AccountNames.name(of: kind.flatMap(AccountOrigin.Kind.init)) }

    func isEnded(by revoked: RevokedCredentials) -> Bool {
        revoked.accounts.contains(id) || credential.isEnded(by: revoked)
            || grant.map(revoked.grants.contains) ?? false
    }
}

extension ClientCertificateChain {
    fileprivate var fingerprints: [String] { certificates.map { Hexadecimal.encode(Array(SHA256.hash(data: $0))) } }
}

extension AccountStanding {
    /// By which a block list may have it: itself, and the client certificate that it ends with.
    package var names: [Identity] {
        guard case .certificate(let proof) = AccountEnd(origin) else { return [.account(id)] }
        return [.account(id)] + Identity.certificates(proof.chain?.fingerprints ?? [])
    }
}

/// What an account ends with, as the store keeps it.
enum AccountEnd: Codable, Sendable {
    /// By ``DevelopmentGrant/id``.
    case grant(String)
    case certificate(ClientCertificateProof)

    /// - Returns: nil if it ends with nothing, or what is kept can't be read.
    init?(_ origin: AccountOrigin) {
        guard let bytes = origin.proof, let end = try? StateDecoder.decode(Self.self, from: bytes) else { return nil }
        self = end
    }

    /// - Returns: nil for what is too large to be kept.
    var origin: AccountOrigin? {
        guard let bytes = try? StateEncoder.bytes(of: self) else { return nil }
        return switch self {
        case .grant: AccountOrigin(.development, proof: bytes)
        case .certificate: AccountOrigin(.certificate, proof: bytes)
        }
    }
}

extension AccountOrigin {
    /// What the account ends with is what a gateway keeps.
    package var isReadable: Bool { !kind.endsWithProof || AccountEnd(self) != nil }
}

// MARK: Whether it may still be used

extension TokenSubject {
    func lookAt(_ account: AccountSubject) -> Look {
        settings.accounts == nil
            ? .known(.refused(Self.accountEnded("accounts are off")))
            : .ask(.account(account.id, with: account.credential))
    }

    /// What the account ends with is asked for last.
    func standing(of account: AccountSubject, _ found: AccountStanding?, at moment: Moment) -> Status {
        guard let found else { return .refused(Self.accountEnded("the token's account is gone")) }
        guard !found.isClosed else {
            return .refused(
                .token(.deviceBlocked, detail: "the token's account is closed", failed: FailedCheck(.account)))
        }
        if let problem = account.credential.problem(in: found) { return .refused(Self.accountEnded(problem)) }
        guard found.origin.kind.endsWithProof else { return .good(nil) }
        switch AccountEnd(found.origin) {
        case nil: return .refused(Self.accountEnded("what the account ends with can't be read"))
        case .grant where settings.development == nil: return .refused(Self.accountEnded("development tokens are off"))
        case .grant(let id): return .unfinished(.grant(id))
        case .certificate(let proof):
            guard let problem = problem(with: proof, at: moment) else { return .good(nil) }
            return .refused(Self.accountEnded("the account's client certificate: \(problem)"))
        }
    }

    private func problem(with proof: ClientCertificateProof, at moment: Moment) -> String? {
        guard let certificates = settings.accounts?.certificates, let chain = proof.chain else {
            return "client certificates are not configured"
        }
        return certificates.problem(with: chain, at: moment.unixMilliseconds)
    }

    static func accountEnded(_ detail: String) -> Refusal {
        .token(
            .invalidToken, detail: detail, reason: "the sign-in that the access token was issued for has ended",
            failed: FailedCheck(.account))
    }
}
