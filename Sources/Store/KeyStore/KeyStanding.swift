/// The data of a key for the check of an assertion: `DeviceKey` without its receipt (several kilobytes) and its
/// history.
package struct KeyStanding: Sendable, Equatable {
    package let id: KeyID
    /// X9.62 uncompressed point on P-256, 65 bytes.
    package let publicKeyX963: [UInt8]
    /// `TEAMID.bundle.identifier`: the only app that this key may be used for.
    package let app: String
    /// The raw value of the attestation's environment.
    package let environment: String
    /// SHA-256 of the trust root that the attestation led to, 32 bytes.
    package let trustRoot: [UInt8]
    /// The highest assertion counter admitted so far.
    package let counter: UInt32
    package let isRevoked: Bool
    /// ``KeyMaintenance/beginErasure(of:at:)`` was called, and ``KeyMaintenance/finishErasure(of:holders:)`` not yet.
    /// Such a key is revoked, but nobody's decision keeps it out.
    package let isBeingErased: Bool
    /// That the device has joined, unless it is closed.
    package let account: AccountID?

    package init(
        id: KeyID, publicKeyX963: [UInt8], app: String, environment: String, trustRoot: [UInt8], counter: UInt32,
        isRevoked: Bool, isBeingErased: Bool = false, account: AccountID? = nil
    ) {
        self.id = id
        self.publicKeyX963 = publicKeyX963
        self.app = app
        self.environment = environment
        self.trustRoot = trustRoot
        self.counter = counter
        self.isRevoked = isRevoked
        self.isBeingErased = isBeingErased
        self.account = account
    }
}

extension DeviceKey {
    /// Of a device without an account.
    package var standing: KeyStanding { standing(in: nil) }

    package func standing(in account: AccountID?) -> KeyStanding {
        KeyStanding(
            id: id, publicKeyX963: publicKeyX963, app: app, environment: environment, trustRoot: trustRoot,
            counter: counter, isRevoked: isRevoked, isBeingErased: isBeingErased, account: account)
    }
}
