/// A passkey: the credential record of Web Authentication Level 3, section 4, with what its player and its operator
/// see.
package struct Passkey: Hashable, Sendable {
    /// SHA-256 of ``credentialID``.
    package let mark: PasskeyMark
    /// 1 to ``AccountLimits/maximumCredentialIDBytes`` bytes.
    package let credentialID: [UInt8]
    /// A COSE_Key, as the authenticator wrote it.
    package let publicKey: [UInt8]
    package var signCount: UInt32
    package var isBackupEligible: Bool
    package var isBackedUp: Bool
    /// Whether the authenticator verified the user when it was made.
    package let isUserVerified: Bool
    /// The model of the authenticator, 16 bytes, or zeros.
    package let aaguid: [UInt8]
    /// What is known of the authenticator: `none`, `self`, `unverified`, `untrusted` or the name of a format that was
    /// trusted.
    package let attestation: String
    /// The player's own words, as a device's.
    package let label: String
    package let madeAt: Int64
    package var lastUsedAt: Int64?

    package init(
        mark: PasskeyMark, credentialID: [UInt8], publicKey: [UInt8], signCount: UInt32, isBackupEligible: Bool,
        isBackedUp: Bool, isUserVerified: Bool, aaguid: [UInt8], attestation: String, label: String, madeAt: Int64,
        lastUsedAt: Int64? = nil
    ) {
        (self.mark, self.credentialID, self.publicKey, self.signCount) = (mark, credentialID, publicKey, signCount)
        (self.isBackupEligible, self.isBackedUp, self.isUserVerified) = (isBackupEligible, isBackedUp, isUserVerified)
        (self.aaguid, self.attestation, self.label) = (aaguid, attestation, label)
        (self.madeAt, self.lastUsedAt) = (madeAt, lastUsedAt)
    }

    /// Web Authentication Level 3, section 7.2, step 22: a counter has to rise, unless the authenticator has none.
    package static func mayFollow(_ counter: UInt32, after stored: UInt32) -> Bool {
        counter > stored || counter == 0 && stored == 0
    }

    /// This passkey after a use that may follow.
    func used(_ use: PasskeyUse) -> Passkey {
        var used = self
        (used.signCount, used.lastUsedAt) = (use.signCount, use.time)
        (used.isBackupEligible, used.isBackedUp) = (use.isBackupEligible, use.isBackedUp)
        return used
    }
}

/// One use of a passkey whose signature is right.
package struct PasskeyUse: Hashable, Sendable {
    package let mark: PasskeyMark
    package let signCount: UInt32
    package let isBackupEligible: Bool
    package let isBackedUp: Bool
    /// Unix milliseconds.
    package let time: Int64

    package init(mark: PasskeyMark, signCount: UInt32, isBackupEligible: Bool, isBackedUp: Bool, time: Int64) {
        (self.mark, self.signCount, self.time) = (mark, signCount, time)
        (self.isBackupEligible, self.isBackedUp) = (isBackupEligible, isBackedUp)
    }
}

/// A passkey, and whose it is.
package struct FoundPasskey: Hashable, Sendable {
    package let passkey: Passkey
    /// With this passkey, and nothing else of the account's.
    package let account: AccountStanding

    package init(_ passkey: Passkey, of account: AccountStanding) {
        self.passkey = passkey
        self.account = AccountStanding(
            id: account.id, origin: account.origin, isClosed: account.isClosed, passkeys: [passkey.mark])
    }
}

package enum AccountLimits {
    /// Of an account.
    package static let maximumPasskeys = 10
    /// Of an account.
    package static let maximumDevices = 16
    /// `MAX_ACCOUNTS`
    package static let defaultMaximumAccounts = 100_000
    /// Of the label of a device or passkey.
    package static let maximumLabelBytes = 64
    package static let maximumCredentialIDBytes = 1_023
    /// Of a new passkey: Web Authentication Level 3, section 4, asks for as many.
    package static let minimumCredentialIDBytes = 16
    /// Of a COSE_Key. One of RSA with 4,096 bits has 530.
    package static let maximumPublicKeyBytes = 1_024
    package static let aaguidBytes = 16
    package static let maximumAttestationBytes = 32
    /// How long an account that anyone could make stays if nobody ever signs in: 90 days.
    package static let unusedMilliseconds: Int64 = 90 * 86_400_000
    /// How long a store tells that a passkey was removed, or an account: 30 days. All gateways have heard of it after a
    /// second.
    package static let endKeptMilliseconds: Int64 = 30 * 86_400_000
    /// How long a gateway remembers it: no access token lives longer. Later the store alone says it.
    package static let endRememberedMilliseconds: Int64 = 3_600_000
    /// Accounts in one answer of a store.
    package static let largestPage = 50
    /// Unused accounts that one transaction removes, and as many old ends.
    package static let maximumExpired = 500
}
