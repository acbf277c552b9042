import Dispatch
package import KeyStore
import Synchronization

/// Accounts, with the connections that `SQLiteKeyDatabase` describes. Each change reads the account, applies the rule
/// that all stores share, and writes, in one transaction.
extension SQLiteKeyDatabase: ImmediateAccountRegistry {
    package func standing(ofAccount id: AccountID) throws(KeyRegistryError) -> AccountStanding? {
        try readers.use { try AccountTable.standing(of: id, from: $0) }
    }

    func account(_ id: AccountID) throws(KeyRegistryError) -> Account? {
        try readers.use { try AccountTable.fetch(id, from: $0) }
    }

    func accounts(after: AccountID?, limit: Int) throws(KeyRegistryError) -> [Account] {
        guard limit > 0 else { return [] }
        let limit = min(limit, AccountLimits.largestPage)
        return try readers.use { try AccountTable.page(after: after, limit: limit, from: $0) }
    }

    package func passkey(_ mark: PasskeyMark) throws(KeyRegistryError) -> FoundPasskey? {
        try readers.use { try AccountTable.find(mark, in: $0) }
    }

    func account(ofDevice key: KeyID) throws(KeyRegistryError) -> AccountID? {
        try readers.use { try AccountTable.owner(of: key, in: $0) }
    }

    // MARK: Changing

    /// - parameter deadline: as for `enrol`. The calls below have it too.
    func begin(
        _ account: Account, maximum: Int, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> AccountBeginning {
        guard let passkey = account.passkeys.first, account.passkeys.count == 1, account.isWellFormed else {
            throw .unavailable("an account begins with one passkey")
        }
        return try administer(until: deadline) { database in
            guard try AccountTable.owner(of: passkey.mark, in: database) == nil else { return .passkeyTaken }
            guard try AccountTable.standing(of: account.id, from: database) == nil else { return .accountTaken }
            guard try AccountTable.count(in: database) < maximum else { return .full }
            try AccountTable.insert(account, into: database)
            return .begun
        }
    }

    func add(
        _ passkey: Passkey, to id: AccountID, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> PasskeyAddition {
        guard passkey.isWellFormed else { throw .unavailable("the passkey is malformed") }
        return try administer(until: deadline) { database in
            guard let known = try AccountTable.fetch(id, from: database) else { return .unknownAccount }
            let isTaken = try AccountTable.owner(of: passkey.mark, in: database) != nil
            let outcome = known.adding(passkey, isTaken: isTaken).outcome
            if outcome == .added { try AccountTable.insert(passkey, of: id, into: database) }
            return outcome
        }
    }

    func join(
        _ device: AccountDevice, to id: AccountID, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> DeviceJoining {
        try administer(until: deadline) { database in
            guard let known = try AccountTable.fetch(id, from: database) else { return .unknownAccount }
            let key = try DeviceKeyTable.fetch(device.key, from: database)
            guard known.isClosed || key.map({ !$0.isErased && !$0.isRevoked }) ?? false else { return .unknownDevice }
            let outcome = known.joining(device, of: try AccountTable.owner(of: device.key, in: database)).outcome
            if outcome == .joined || outcome == .alreadyJoined {
                try AccountTable.insert(device, of: id, into: database)
                try AccountEndTable.forget(DeviceDeparture(of: device.key, from: id), in: database)
            }
            return outcome
        }
    }

    /// As a key's counter: durable but for a power cut.
    func use(
        _ use: PasskeyUse, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> PasskeySpending {
        countersUnderWay.add(1, ordering: .relaxed)
        defer { countersUnderWay.subtract(1, ordering: .relaxed) }
        let spending = try counters.transaction(until: deadline) { try AccountTable.record(use, in: $0) }
        unsynced.add()
        return spending
    }

    func remove(
        _ mark: PasskeyMark, of id: AccountID, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Bool {
        try change(until: deadline) { database in
            guard try AccountTable.remove(mark, of: id, in: database) else { return false }
            _ = try RefreshTable.end(.passkey(mark), at: time, in: database)
            try AccountEndTable.note(mark, at: time, in: database)
            return true
        }
    }

    func remove(
        device key: KeyID, of id: AccountID, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Bool {
        try change(until: deadline) { database in
            guard try AccountTable.remove(key, of: id, in: database) else { return false }
            try AccountEndTable.note(DeviceDeparture(of: key, from: id), at: time, in: database)
            return true
        }
    }

    func close(
        _ id: AccountID, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Bool {
        try change(until: deadline) { database in
            guard try AccountTable.close(id, at: time, in: database) else { return false }
            _ = try RefreshTable.end(.account(id), at: time, in: database)
            try AccountEndTable.note(id, at: time, in: database)
            return true
        }
    }

    func forget(
        _ id: AccountID, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Bool {
        try change(until: deadline) { database in
            guard try AccountTable.delete(id, from: database) else { return false }
            _ = try RefreshTable.end(.account(id), at: time, in: database)
            try AccountEndTable.note(id, at: time, in: database)
            return true
        }
    }

    func expireAccounts(
        madeBefore: Int64, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Int {
        // Nearly always there is nothing: then nothing is written.
        let end = time - AccountLimits.endKeptMilliseconds
        let changesEnd = time - AccountLimits.endRememberedMilliseconds
        let isDue = try readers.use { database in
            try !AccountTable.unused(madeBefore: madeBefore, limit: 1, in: database).isEmpty
                || AccountEndTable.hasEnds(before: end, in: database)
                || AccountEndChanges.oldest(in: database).map { $0 < changesEnd } ?? false
        }
        guard isDue else { return 0 }
        return try administer(until: deadline) { database in
            let unused = try AccountTable.unused(
                madeBefore: madeBefore, limit: AccountLimits.maximumExpired, in: database)
            for id in unused { _ = try AccountTable.delete(id, from: database) }
            try AccountEndTable.forget(before: end, in: database)
            try AccountEndChanges.forget(before: changesEnd, in: database)
            return unused.count
        }
    }
}
