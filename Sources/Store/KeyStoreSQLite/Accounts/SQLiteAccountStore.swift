package import KeyStore

/// Accounts of the embedded store: reads on the thread of reads, changes on that of changes.
extension SQLiteKeyRegistry: AccountStore, ImmediateAccountRegistry {
    package func standing(ofAccount id: AccountID) throws(KeyRegistryError) -> AccountStanding? {
        try database.standing(ofAccount: id)
    }

    package func passkey(_ mark: PasskeyMark) throws(KeyRegistryError) -> FoundPasskey? { try database.passkey(mark) }

    package func standing(ofAccount id: AccountID) async throws(KeyRegistryError) -> AccountStanding? {
        try await read { database throws(KeyRegistryError) in try database.standing(ofAccount: id) }
    }

    package func account(_ id: AccountID) async throws(KeyRegistryError) -> Account? {
        try await read { database throws(KeyRegistryError) in try database.account(id) }
    }

    package func accounts(after: AccountID?, limit: Int) async throws(KeyRegistryError) -> [Account] {
        try await read { database throws(KeyRegistryError) in try database.accounts(after: after, limit: limit) }
    }

    package func passkey(_ mark: PasskeyMark) async throws(KeyRegistryError) -> FoundPasskey? {
        try await read { database throws(KeyRegistryError) in try database.passkey(mark) }
    }

    package func account(ofDevice key: KeyID) async throws(KeyRegistryError) -> AccountID? {
        try await read { database throws(KeyRegistryError) in try database.account(ofDevice: key) }
    }

    // MARK: Changing

    package func begin(_ account: Account, maximum: Int) async throws(KeyRegistryError) -> AccountBeginning {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.begin(account, maximum: maximum, until: deadline)
        }
    }

    package func add(_ passkey: Passkey, to id: AccountID) async throws(KeyRegistryError) -> PasskeyAddition {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.add(passkey, to: id, until: deadline)
        }
    }

    package func join(_ device: AccountDevice, to id: AccountID) async throws(KeyRegistryError) -> DeviceJoining {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.join(device, to: id, until: deadline)
        }
    }

    /// One gateway alone issues the challenges, and knows which are spent.
    package func use(
        _ use: PasskeyUse, spending mark: (SingleUseMark, StoreIncarnation)?
    ) async throws(KeyRegistryError) -> PasskeySpending {
        guard mark == nil else { throw Self.knowsNoMarks }
        return try await count { database, deadline throws(KeyRegistryError) in
            try database.use(use, until: deadline)
        }
    }

    package func remove(
        _ mark: PasskeyMark, of id: AccountID, at time: Int64
    ) async throws(KeyRegistryError) -> Bool {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.remove(mark, of: id, at: time, until: deadline)
        }
    }

    package func remove(
        device key: KeyID, of id: AccountID, at time: Int64
    ) async throws(KeyRegistryError) -> Bool {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.remove(device: key, of: id, at: time, until: deadline)
        }
    }

    package func close(_ id: AccountID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.close(id, at: time, until: deadline)
        }
    }

    package func forget(_ id: AccountID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.forget(id, at: time, until: deadline)
        }
    }

    package func expireAccounts(madeBefore: Int64, at time: Int64) async throws(KeyRegistryError) -> Int {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.expireAccounts(madeBefore: madeBefore, at: time, until: deadline)
        }
    }
}
