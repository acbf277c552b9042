package import KeyStore
import Synchronization

/// The reference implementation of a store of accounts, used in tests. Nothing here waits.
package final class MemoryAccounts: AccountStore, ImmediateAccountRegistry {
    /// Spends the mark of a challenge; `.spent` where nobody else knows of marks.
    package typealias Spend = @Sendable (SingleUseMark, StoreIncarnation) async throws(KeyRegistryError) -> MarkSpending

    private let records = Mutex<[AccountID: Account]>([:])
    /// Locked inside the other one.
    let refreshes = Mutex<[RefreshFamilyID: RefreshFamily]>([:])
    private let spend: Spend

    package init(spend: @escaping Spend = { _, _ in .spent }) { self.spend = spend }

    package func account(_ id: AccountID) -> Account? { records.withLock { $0[id] } }

    package func accounts(after: AccountID?, limit: Int) -> [Account] {
        records.withLock { records in
            let ids = records.keys.filter { id in after.map { $0 < id } ?? true }.sorted()
            return ids.prefix(min(max(0, limit), AccountLimits.largestPage)).compactMap { records[$0] }
        }
    }

    package func passkey(_ mark: PasskeyMark) -> FoundPasskey? {
        records.withLock { records in
            records.values.lazy.compactMap { account in
                account.passkeys.first { $0.mark == mark }.map { FoundPasskey($0, of: account.standing) }
            }.first
        }
    }

    package func standing(ofAccount id: AccountID) -> AccountStanding? {
        records.withLock { records in
            records[id].map { account in
                AccountStanding(
                    id: id, origin: account.origin, isClosed: account.isClosed,
                    passkeys: Set(account.passkeys.map(\.mark)), families: Set(families(of: id).map(\.id)))
            }
        }
    }

    /// Runs `body` with the account, which doesn't change meanwhile.
    func withAccount<Value>(_ id: AccountID, _ body: (Account?) -> Value) -> Value {
        records.withLock { body($0[id]) }
    }

    package func account(ofDevice key: KeyID) -> AccountID? { records.withLock { Self.owner(of: key, in: $0) } }

    // MARK: Changing

    package func begin(_ account: Account, maximum: Int) -> AccountBeginning {
        records.withLock { records in
            guard !account.passkeys.contains(where: { Self.isTaken($0.mark, in: records) }) else {
                return .passkeyTaken
            }
            guard records[account.id] == nil else { return .accountTaken }
            guard records.count < maximum else { return .full }
            records[account.id] = account
            return .begun
        }
    }

    package func add(_ passkey: Passkey, to id: AccountID) -> PasskeyAddition {
        records.withLock { records in
            guard let known = records[id] else { return .unknownAccount }
            let (outcome, account) = known.adding(passkey, isTaken: Self.isTaken(passkey.mark, in: records))
            records[id] = account
            return outcome
        }
    }

    package func join(_ device: AccountDevice, to id: AccountID) -> DeviceJoining {
        records.withLock { records in
            guard let known = records[id] else { return .unknownAccount }
            let (outcome, account) = known.joining(device, of: Self.owner(of: device.key, in: records))
            records[id] = account
            return outcome
        }
    }

    package func use(
        _ use: PasskeyUse, spending mark: (SingleUseMark, StoreIncarnation)?
    ) async throws(KeyRegistryError) -> PasskeySpending {
        if let (mark, incarnation) = mark {
            let spending = try await spend(mark, incarnation)
            guard spending == .spent else { return .refused(spending) }
        }
        return records.withLock { records in
            let owner = records.values.first { $0.passkeys.contains { $0.mark == use.mark } }
            guard let (outcome, account) = owner?.using(use) else { return .unknown }
            records[account.id] = account
            return outcome
        }
    }

    package func signIn(
        _ signIn: PasskeySignIn, spending marks: SignInMarks
    ) async throws(KeyRegistryError) -> PasskeySigningIn {
        if let proof = marks.proof {
            let spending = try await spend(proof.mark, proof.incarnation)
            guard !spending.refusesProof else { return .proofRefused(spending) }
        }
        if let challenge = marks.challenge {
            let spending = try await spend(challenge.mark, challenge.incarnation)
            guard spending == .spent else { return .passkey(.refused(spending)) }
        }
        return records.withLock { records in
            let owner = records.values.first { $0.passkeys.contains { $0.mark == signIn.use.mark } }
            guard let owner, owner.id == signIn.family.account else { return .passkey(.unknown) }
            let (outcome, account) = owner.using(signIn.use)
            guard outcome == .used else { return .passkey(outcome) }
            records[account.id] = account
            addFamily(signIn.family)
            return .passkey(.used)
        }
    }

    package func remove(_ mark: PasskeyMark, of id: AccountID, at time: Int64) -> Bool {
        records.withLock { records in
            guard let index = records[id]?.passkeys.firstIndex(where: { $0.mark == mark }) else { return false }
            records[id]?.passkeys.remove(at: index)
            endFamilies(.passkey(mark))
            return true
        }
    }

    package func remove(device key: KeyID, of id: AccountID, at time: Int64) -> Bool {
        records.withLock { records in
            guard let index = records[id]?.devices.firstIndex(where: { $0.key == key }) else { return false }
            records[id]?.devices.remove(at: index)
            endFamilies(.device(key))
            return true
        }
    }

    package func close(_ id: AccountID, at time: Int64) -> Bool {
        records.withLock { records in
            guard let known = records[id] else { return false }
            records[id]?.closedAt = known.closedAt ?? time
            endFamilies(.account(id))
            return true
        }
    }

    package func forget(_ id: AccountID, at time: Int64) -> Bool {
        records.withLock { records in
            endFamilies(.account(id))
            return records.removeValue(forKey: id) != nil
        }
    }

    package func expireAccounts(madeBefore: Int64, at time: Int64) -> Int {
        records.withLock { records in
            let unused = records.values.filter { $0.isUnused(madeBefore: madeBefore) }
                .prefix(AccountLimits.maximumExpired)
            for account in unused { records[account.id] = nil }
            return unused.count
        }
    }

    private static func isTaken(_ mark: PasskeyMark, in records: [AccountID: Account]) -> Bool {
        records.values.contains { $0.passkeys.contains { $0.mark == mark } }
    }

    private static func owner(of key: KeyID, in records: [AccountID: Account]) -> AccountID? {
        records.values.first { $0.devices.contains { $0.key == key } }?.id
    }
}
