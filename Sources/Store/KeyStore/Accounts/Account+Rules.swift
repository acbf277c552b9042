/// The rules of all stores for one account. Each store applies them in one step with its change.
extension Account {
    /// - Parameter isTaken: whether an account, this one included, has a passkey with this identifier.
    package func adding(_ passkey: Passkey, isTaken: Bool) -> (outcome: PasskeyAddition, account: Account) {
        guard !isClosed else { return (.closed, self) }
        guard !isTaken else { return (.taken, self) }
        guard passkeys.count < AccountLimits.maximumPasskeys else { return (.tooMany, self) }
        var account = self
        account.passkeys.append(passkey)
        return (.added, account)
    }

    /// - Parameter owner: the account that the device has joined.
    package func joining(
        _ device: AccountDevice, of owner: AccountID?
    ) -> (outcome: DeviceJoining, account: Account) {
        guard !isClosed else { return (.closed, self) }
        guard owner == nil || owner == id else { return (.taken, self) }
        var account = self
        if let index = devices.firstIndex(where: { $0.key == device.key }) {
            account.devices[index] = AccountDevice(
                key: device.key, label: device.label, joinedAt: devices[index].joinedAt)
            return (.alreadyJoined, account)
        }
        guard devices.count < AccountLimits.maximumDevices else { return (.tooMany, self) }
        account.devices.append(device)
        return (.joined, account)
    }

    package func using(_ use: PasskeyUse) -> (outcome: PasskeySpending, account: Account) {
        guard let index = passkeys.firstIndex(where: { $0.mark == use.mark }) else { return (.unknown, self) }
        let outcome = use.outcome(isClosed: isClosed, after: passkeys[index].signCount)
        guard outcome == .used else { return (outcome, self) }
        var account = self
        account.passkeys[index] = passkeys[index].used(use)
        account.lastUsedAt = max(use.time, lastUsedAt ?? use.time)
        return (.used, account)
    }

    /// An account as a store may keep it: nobody but a damaged store has another.
    package var isWellFormed: Bool {
        passkeys.count <= AccountLimits.maximumPasskeys && devices.count <= AccountLimits.maximumDevices
            && passkeys.allSatisfy(\.isWellFormed)
            && devices.allSatisfy { $0.label.utf8.count <= AccountLimits.maximumLabelBytes }
    }
}

extension Passkey {
    package var isWellFormed: Bool {
        (1...AccountLimits.maximumCredentialIDBytes).contains(credentialID.count)
            && (1...AccountLimits.maximumPublicKeyBytes).contains(publicKey.count)
            && aaguid.count == AccountLimits.aaguidBytes
            && (1...AccountLimits.maximumAttestationBytes).contains(attestation.utf8.count)
            && label.utf8.count <= AccountLimits.maximumLabelBytes
    }
}
