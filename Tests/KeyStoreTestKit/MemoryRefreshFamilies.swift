package import KeyStore
import Synchronization

/// The families of refresh tokens of the reference implementation. Nothing here waits, and nothing hears of keys that
/// are revoked elsewhere.
extension MemoryAccounts: RefreshStore {
    package func begin(_ family: RefreshFamily, askedAt _: Int64?) -> RefreshBeginning {
        withAccount(family.account) { account in
            guard let account, !account.isClosed, account.has(family.beginner) else { return .ended }
            addFamily(family)
            return .begun
        }
    }

    func addFamily(_ family: RefreshFamily) {
        let known = families(of: family.account)
        for old in known.prefix(max(0, known.count - RefreshLimits.maximumFamilies + 1)) {
            endFamilies(.family(old.id))
        }
        refreshes.withLock { $0[family.id] = family }
    }

    package func use(_ use: RefreshUse, spending _: (SingleUseMark, StoreIncarnation)?) -> RefreshOutcome {
        guard let owner = refreshes.withLock({ $0[use.family]?.account }) else { return .unknown }
        return withAccount(owner) { account in
            refreshes.withLock { families in
                guard let account, let known = families[use.family] else { return .unknown }
                switch known.using(use) {
                case .rotated(let family):
                    families[family.id] = family
                    return .rotated(RefreshGrant(family, of: account.standing))
                case .repeated(let family, let sealed):
                    families[family.id] = family
                    return .repeated(RefreshGrant(family, of: account.standing), sealed: sealed)
                case .expired: return .expired
                case .wrongKey: return .wrongKey(owner)
                case .repeatedTooOften: return .repeatedTooOften(owner)
                case .reused:
                    families[known.id] = nil
                    return .reused(owner)
                }
            }
        }
    }

    package func end(_ families: RefreshEnding, at time: Int64) -> Int { endFamilies(families) }

    package func expireFamilies(at time: Int64) -> Int {
        refreshes.withLock { families in
            let expired = families.values.filter { $0.expiresAt <= time }.prefix(RefreshLimits.maximumExpired)
            for family in expired { families[family.id] = nil }
            return expired.count
        }
    }

    package func families(of account: AccountID) -> [RefreshFamily] {
        refreshes.withLock { families in
            families.values.filter { $0.account == account }
                .sorted { ($0.usedAt, $0.id) < ($1.usedAt, $1.id) }
        }
    }

    @discardableResult
    func endFamilies(_ ending: RefreshEnding) -> Int {
        refreshes.withLock { families in
            let ended = families.values.filter { $0.ends(with: ending) }
            for family in ended { families[family.id] = nil }
            return ended.count
        }
    }
}

extension RefreshFamily {
    fileprivate func ends(with ending: RefreshEnding) -> Bool {
        switch ending {
        case .family(let id): self.id == id
        case .account(let id): account == id
        case .passkey(let mark): beginner == .passkey(mark)
        case .device(let key): beginner == .device(key)
        case .all: true
        }
    }
}

extension Account {
    fileprivate func has(_ beginner: RefreshBeginner) -> Bool {
        switch beginner {
        case .passkey(let mark): passkeys.contains { $0.mark == mark }
        case .device(let key): devices.contains { $0.key == key }
        }
    }
}
