package import DPoP
package import FoundationEssentials
package import KeyStore
import Synchronization

/// The keys that sign access tokens, and the server's nonces, as stored. Shared by all reactors; its owner updates it
/// when the store has changed.
package final class TokenKeys: Sendable {
    /// The size of the stored secret for nonces.
    package static let nonceSecretBytes = ServerNonces.minimumSecretBytes
    /// Its name in the store.
    package static let nonceSecretName = "dpop-nonce"

    private let nonces: ServerNonces
    private let state: Mutex<State>
    private let tokens = VerifiedTokens()

    private struct State {
        var set: SigningKeySet
        var revoked: Set<String>
        /// Those of the life that was asked about last.
        var nonces: ServerNonces
    }

    /// - Returns: nil if the secret is too short, or the stored keys can't be read.
    package init?(_ stored: StoredSigningKeys, schedule: SigningKeySchedule, nonceSecret: [UInt8]) {
        guard let nonces = ServerNonces(secret: nonceSecret), let set = SigningKeySet(stored, schedule: schedule) else {
            return nil
        }
        self.nonces = nonces
        state = Mutex(State(set: set, revoked: Set(stored.revoked.map(\.id)), nonces: nonces))
    }

    /// The server's nonces in one life of the replay stores.
    func nonces(of life: ReplayLife) -> ServerNonces {
        state.withLock { state in
            if state.nonces.life != life.id { state.nonces = nonces.bound(to: life) }
            return state.nonces
        }
    }

    /// A revoked key stays revoked, even if an older state of the store arrives later or a key can't be read.
    ///
    /// - Returns: false if the stored keys can't be read; the keys are then unchanged, except that revoked ones are
    ///   removed.
    @discardableResult
    package func replace(_ stored: StoredSigningKeys) -> Bool {
        state.withLock { state in
            let set = SigningKeySet(stored, schedule: state.set.schedule)
            state.revoked.formUnion(stored.revoked.map(\.id))
            let keys = (set ?? state.set).keys.filter { !state.revoked.contains($0.key.keyID) }
            guard let good = SigningKeySet(keys, schedule: state.set.schedule) else { return false }
            state.set = good
            return set != nil
        }
    }

    /// For a reload.
    package func setSchedule(_ schedule: SigningKeySchedule) {
        state.withLock { state in
            guard let set = SigningKeySet(state.set.keys, schedule: schedule) else { return }
            state.set = set
        }
    }

    package func isRotationDue(at time: Date) -> Bool { state.withLock { $0.set.isRotationDue(at: time) } }

    package func signer(at time: Date) -> SigningKey? { state.withLock { $0.set.signer(at: time) } }

    package func published(at time: Date) -> JWKSet { state.withLock { $0.set.published(at: time) } }

    package var revoked: Set<String> { state.withLock { $0.revoked } }

    package func isRevoked(_ keyID: String) -> Bool { state.withLock { $0.revoked.contains(keyID) } }

    /// Verifies a token. A signature is verified once; issuer and audience may change with a reload, so they are
    /// compared at each use.
    func verify(
        _ token: PresentedToken, issuer: String, audience: String, at time: Date
    ) throws(AccessTokenRefusal) -> VerifiedAccessToken {
        let published = published(at: time)
        let verified = try tokens.verified(token, at: time, signedBy: published) { () throws(AccessTokenRefusal) in
            try AccessTokenVerifier(issuer: issuer, audience: audience, keys: published).verify(token, at: time)
        }
        let claims = verified.claims
        guard claims.issuer.utf8.elementsEqual(issuer.utf8) else { throw .wrongIssuer }
        guard claims.audience.contains(where: { $0.utf8.elementsEqual(audience.utf8) }) else { throw .wrongAudience }
        return verified
    }
}

extension SigningKeySet {
    /// - Returns: nil if a key can't be read, or there are too many.
    init?(_ stored: StoredSigningKeys, schedule: SigningKeySchedule) {
        let keys = stored.keys.compactMap(ScheduledKey.init)
        guard keys.count == stored.keys.count else { return nil }
        self.init(keys, schedule: schedule)
    }

    /// The keys for the store.
    var stored: [StoredSigningKey] {
        keys.map {
            StoredSigningKey(
                id: $0.key.keyID, secret: $0.key.rawRepresentation, publishedAt: $0.publishedAt.unixMilliseconds,
                signsFrom: $0.signsFrom.unixMilliseconds)
        }
    }
}

extension ScheduledKey {
    fileprivate init?(_ stored: StoredSigningKey) {
        guard let key = SigningKey(rawRepresentation: stored.secret), key.keyID == stored.id else { return nil }
        self.init(
            key: key, publishedAt: Date(unixMilliseconds: stored.publishedAt),
            signsFrom: Date(unixMilliseconds: stored.signsFrom))
    }
}

extension Date {
    init(unixMilliseconds: Int64) { self.init(timeIntervalSince1970: Double(unixMilliseconds) / 1_000) }

    var unixMilliseconds: Int64 { Int64((timeIntervalSince1970 * 1_000).rounded(.down)) }
}
