/// An account or a passkey that was removed, on its way to another store: there it ends, too.
package struct AccountRemoval: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        case account(AccountID)
        case passkey(PasskeyMark)
    }

    package let subject: Subject
    /// Unix milliseconds.
    package let time: Int64

    package init(_ subject: Subject, at time: Int64) { (self.subject, self.time) = (subject, time) }
}

extension Account {
    /// This account, completed by the same one of another store. All stores share this rule.
    ///
    /// No counter falls, and a closed account stays closed. What is too much is left out.
    package func completed(by other: Account) -> Account {
        var completed = self
        completed.lastUsedAt = [lastUsedAt, other.lastUsedAt].compactMap(\.self).max()
        completed.closedAt = [closedAt, other.closedAt].compactMap(\.self).min()
        completed.passkeys = passkeys.map { own in
            other.passkeys.first { $0.mark == own.mark }.map { own.completed(by: $0) } ?? own
        }
        let marks = Set(passkeys.map(\.mark))
        let newPasskeys = other.passkeys.filter { !marks.contains($0.mark) }
        completed.passkeys += newPasskeys.prefix(max(0, AccountLimits.maximumPasskeys - passkeys.count))
        let keys = Set(devices.map(\.key))
        let newDevices = other.devices.filter { !keys.contains($0.key) }
        completed.devices += newDevices.prefix(max(0, AccountLimits.maximumDevices - devices.count))
        return completed
    }

    /// This account, as another store may have it.
    ///
    /// - Parameters:
    ///   - marks: of passkeys that another account has there, or that were removed there.
    ///   - keys: of devices that may be in the account there: they are registered, and no other account has them.
    package func without(_ marks: Set<PasskeyMark>, keeping keys: Set<KeyID>) -> Account {
        var account = self
        account.passkeys.removeAll { marks.contains($0.mark) }
        account.devices.removeAll { !keys.contains($0.key) }
        return account
    }
}

extension Passkey {
    fileprivate func completed(by other: Passkey) -> Passkey {
        var completed = self
        completed.signCount = max(signCount, other.signCount)
        guard let time = other.lastUsedAt, time > lastUsedAt ?? .min else { return completed }
        completed.lastUsedAt = time
        (completed.isBackupEligible, completed.isBackedUp) = (other.isBackupEligible, other.isBackedUp)
        return completed
    }
}
