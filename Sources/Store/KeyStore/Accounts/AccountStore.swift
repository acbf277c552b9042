/// The accounts of a store. A call may wait for a disk, a lock or another machine.
///
/// Each call is one step, atomic for all processes that share the store. What changes an account is durable when it
/// returns, except for a passkey's use without a sign-in, which is as durable as the use of a key's counter.
package protocol AccountStore: RefreshStore {
    // MARK: Reading

    func account(_ id: AccountID) async throws(KeyRegistryError) -> Account?

    /// Up to `limit` accounts, and at most ``AccountLimits/largestPage``, in the order of their identifiers, starting
    /// after `after`. An empty page is the end.
    func accounts(after: AccountID?, limit: Int) async throws(KeyRegistryError) -> [Account]

    func passkey(_ mark: PasskeyMark) async throws(KeyRegistryError) -> FoundPasskey?

    func standing(ofAccount id: AccountID) async throws(KeyRegistryError) -> AccountStanding?

    /// The account that a device has joined.
    func account(ofDevice key: KeyID) async throws(KeyRegistryError) -> AccountID?

    // MARK: Changing

    /// Makes an account with its first passkey, in one step.
    ///
    /// - Parameters:
    ///   - account: with one passkey and no device.
    ///   - maximum: of all accounts.
    func begin(_ account: Account, maximum: Int) async throws(KeyRegistryError) -> AccountBeginning

    func add(_ passkey: Passkey, to id: AccountID) async throws(KeyRegistryError) -> PasskeyAddition

    /// A device that has joined already keeps its time, and gets the new label. Whether its key is registered, and not
    /// revoked, is found in the same step.
    func join(_ device: AccountDevice, to id: AccountID) async throws(KeyRegistryError) -> DeviceJoining

    /// Records the use of a passkey.
    ///
    /// - Parameter mark: of the challenge that it has signed, which is spent in the same step, before all else; nil
    ///   where one gateway alone uses the store.
    func use(
        _ use: PasskeyUse, spending mark: (SingleUseMark, StoreIncarnation)?
    ) async throws(KeyRegistryError) -> PasskeySpending

    /// Records the use of a passkey, and begins a family of refresh tokens with it.
    ///
    /// - Parameter marks: are spent in the same step, before all else.
    func signIn(
        _ signIn: PasskeySignIn, spending marks: SignInMarks
    ) async throws(KeyRegistryError) -> PasskeySigningIn

    /// False if the account has no such passkey.
    func remove(_ mark: PasskeyMark, of id: AccountID, at time: Int64) async throws(KeyRegistryError) -> Bool

    /// What it was admitted to as the account ends. False if the device isn't the account's.
    func remove(device key: KeyID, of id: AccountID, at time: Int64) async throws(KeyRegistryError) -> Bool

    /// Nobody signs in any more, and what was signed in ends. False if it is unknown. A second time it is only told
    /// again.
    func close(_ id: AccountID, at time: Int64) async throws(KeyRegistryError) -> Bool

    /// Removes the account with all that belongs to it. False if it is unknown.
    func forget(_ id: AccountID, at time: Int64) async throws(KeyRegistryError) -> Bool

    /// Removes accounts of which ``Account/isUnused(madeBefore:)`` is true, and forgets what ended before
    /// ``AccountLimits/endKeptMilliseconds``: at most ``AccountLimits/maximumExpired`` each.
    ///
    /// - Parameter time: now.
    /// - Returns: how many accounts were removed.
    func expireAccounts(madeBefore: Int64, at time: Int64) async throws(KeyRegistryError) -> Int
}

/// The synchronous part, for reactors: it answers at once, as ``ImmediateKeyRegistry`` does.
package protocol ImmediateAccountRegistry: Sendable {
    func standing(ofAccount id: AccountID) throws(KeyRegistryError) -> AccountStanding?

    func passkey(_ mark: PasskeyMark) throws(KeyRegistryError) -> FoundPasskey?
}

/// Accounts in a store that several gateways share, for reactors: the answer comes on any thread, once.
package protocol SharedAccountStandings: Sendable {
    func standing(
        ofAccount id: AccountID, then: @escaping @Sendable (Result<AccountStanding?, KeyRegistryError>) -> Void)
}

package enum AccountBeginning: Hashable, Sendable {
    case begun
    /// An account has a passkey with this identifier: nothing was changed.
    case passkeyTaken
    /// There is an account of this identifier: nothing was changed.
    case accountTaken
    /// The store has the maximum of accounts.
    case full
}

package enum PasskeyAddition: Hashable, Sendable {
    case added
    /// This or another account has a passkey with this identifier.
    case taken
    /// The account has ``AccountLimits/maximumPasskeys``.
    case tooMany
    case closed
    case unknownAccount
}

package enum DeviceJoining: Hashable, Sendable {
    case joined
    case alreadyJoined
    /// The device is another account's.
    case taken
    /// The account has ``AccountLimits/maximumDevices``.
    case tooMany
    case closed
    case unknownAccount
    /// Its key isn't registered any more, or is revoked.
    case unknownDevice
}

/// The outcome of the use of a passkey.
package enum PasskeySpending: Hashable, Sendable {
    case used
    /// The challenge couldn't be spent; nothing was changed. Never `.spent`.
    case refused(MarkSpending)
    /// The counter is not above the stored one: the passkey may have been copied.
    case notHigher(stored: UInt32)
    /// The passkey was removed meanwhile.
    case unknown
    case closed
}
