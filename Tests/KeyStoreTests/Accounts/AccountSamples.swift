import KeyStore
import KeyStoreSQLite
import KeyStoreTestKit
import Testing

/// The stores that must fulfil the contract.
enum AccountStoreKind: CaseIterable, Sendable {
    case memory, sqlite, postgresql

    /// An empty store, and the objects that must live as long as it does.
    func make() async throws -> (store: any AccountStore, owner: AnyObject?) {
        switch self {
        case .memory: return (MemoryAccounts(), nil)
        case .sqlite:
            let directory = try TemporaryDirectory()
            return (try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient), directory)
        case .postgresql:
            let database = try await FleetDatabase()
            return (database.registry, database)
        }
    }
}

extension AccountStore {
    /// Registers keys, so that they may join accounts; the store in memory knows of none.
    func enrol(devices bytes: some Sequence<UInt8>) async throws {
        guard let keys = self as? any KeyRegistry else { return }
        for byte in bytes { _ = try await keys.enrol(.sample(byte)) }
    }
}

extension AccountID {
    /// 16 equal bytes.
    static func sample(_ byte: UInt8) -> AccountID {
        guard let id = AccountID(bytes: [UInt8](repeating: byte, count: length)) else { preconditionFailure() }
        return id
    }
}

extension PasskeyMark {
    /// Two bytes, so that there can be many.
    static func sample(_ number: Int) -> PasskeyMark {
        let bytes = [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)] + [UInt8](repeating: 3, count: length - 2)
        guard let mark = PasskeyMark(bytes: bytes) else { preconditionFailure() }
        return mark
    }
}

extension Passkey {
    /// Made at its number, so that the order of the numbers is that of the account.
    static func sample(_ number: Int, signCount: UInt32 = 0, label: String = "phone") -> Passkey {
        Passkey(
            mark: .sample(number), credentialID: [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF), 7],
            publicKey: [0xA5, 1, 2], signCount: signCount, isBackupEligible: true, isBackedUp: false,
            isUserVerified: true, aaguid: [UInt8](repeating: 0, count: AccountLimits.aaguidBytes), attestation: "none",
            label: label, madeAt: Int64(number))
    }
}

extension Account {
    static func sample(
        _ byte: UInt8, passkey: Passkey? = nil, origin: AccountOrigin = .device, madeAt: Int64 = 1_000
    ) -> Account {
        Account(id: .sample(byte), origin: origin, madeAt: madeAt, passkeys: [passkey ?? .sample(Int(byte))])
    }
}

extension PasskeyUse {
    static func sample(
        _ number: Int, signCount: UInt32 = 0, isBackedUp: Bool = false, time: Int64 = 2_000
    ) -> PasskeyUse {
        PasskeyUse(
            mark: .sample(number), signCount: signCount, isBackupEligible: true, isBackedUp: isBackedUp, time: time)
    }
}

extension AccountDevice {
    static func sample(_ byte: UInt8, label: String = "tablet") -> AccountDevice {
        AccountDevice(key: .sample(byte), label: label, joinedAt: Int64(byte))
    }
}
