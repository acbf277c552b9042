package import KeyStore

/// What takes proofs back, as one source of it stands now. After each change of a source, the proof of every session is
/// asked (``AdmissionProof/isRevoked(by:)``).
package enum Revocations: Sendable {
    /// The operator's revocations in the key store.
    case store(RevokedCredentials)
    /// The revocation lists for client certificates.
    case certificates(isRevoked: @Sendable (CertificateNumber) -> Bool)
}

/// What a store has revoked, for looking many proofs up.
package struct RevokedCredentials: Sendable {
    /// Devices' keys.
    package let keys: Set<KeyID>
    /// Development tokens, by ``DevelopmentGrant/id``.
    package let grants: Set<String>
    /// Accounts that were closed or removed.
    package let accounts: Set<AccountID>
    /// Passkeys that were removed.
    package let passkeys: Set<PasskeyMark>
    /// Families of refresh tokens that were ended.
    package let families: Set<RefreshFamilyID>
    /// Devices that were removed from their accounts.
    package let departures: Set<DeviceDeparture>
    /// Signing keys, by `kid`.
    package let signingKeys: Set<String>

    package init(_ revocations: StoreRevocations) {
        keys = revocations.keys
        grants = revocations.grants
        accounts = revocations.accounts
        passkeys = revocations.passkeys
        families = revocations.families
        departures = revocations.departures
        signingKeys = Set(revocations.signingKeys.revoked.map(\.id))
    }

    package var isEmpty: Bool {
        keys.isEmpty && grants.isEmpty && signingKeys.isEmpty && accounts.isEmpty && passkeys.isEmpty
            && families.isEmpty && departures.isEmpty
    }

    /// Of a device that was admitted with its account, if it had joined one.
    func have(_ key: KeyID, in account: AccountID?) -> Bool {
        guard !keys.contains(key) else { return true }
        guard let account else { return false }
        return accounts.contains(account) || departures.contains(DeviceDeparture(of: key, from: account))
    }
}
