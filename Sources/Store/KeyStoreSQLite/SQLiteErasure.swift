package import Dispatch
import FoundationEssentials
import GRDB
import Glibc
package import KeyStore

/// The erasure of all that is stored about a device. It has two steps, so that a gateway that uses the store closes the
/// device's sessions: a key is first marked as revoked, which gateways look for, and removed when they have noticed.
extension SQLiteKeyDatabase {
    /// The first step; durable when it returns.
    ///
    /// - Returns: whether gateways have to notice it before the second step.
    package func beginErasure(
        of id: KeyID, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Bool {
        try change(until: deadline) { database in
            guard let known = try DeviceKeyTable.fetch(id, from: database) else { return false }
            if known.isRevoked { return known.isBeingErased }
            _ = try RefreshTable.end(.device(id), at: time, in: database)
            return try DeviceKeyTable.revoke(id, reason: DeviceKey.erasingReason, at: time, in: database)
        }
    }

    /// The second step: removes all rows that name the key, or the thumbprint of a device's key, and the tickets of its
    /// holders.
    package func finishErasure(
        of id: KeyID, holders: [HolderMark] = [], until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Erasure {
        try change(until: deadline) { database in
            try KeptTicketTable.remove(of: holders, in: database)
            try database.execute(sql: "DELETE FROM development_device WHERE device = ?", arguments: [Data(id.bytes)])
            let places = database.changesCount
            _ = try AccountTable.remove(id, of: nil, in: database)
            guard let known = try DeviceKeyTable.fetch(id, from: database) else {
                return Erasure(key: .unknown, places: places)
            }
            guard known.isRevoked, !known.isBeingErased else {
                try DeviceKeyTable.delete(id, from: database)
                return Erasure(key: .removed, places: places)
            }
            try DeviceKeyTable.replace(.erased(id, revokedAt: known.revokedAt), in: database)
            return Erasure(key: .reducedToRevocation, places: places)
        }
    }

    package func unfinishedErasures(begunBefore time: Int64, limit: Int) throws(KeyRegistryError) -> [KeyID] {
        try readers.use { database in
            try DeviceKeyTable.beingErased(before: time, limit: limit, from: database)
        }
    }

    package func places(ofDevice device: KeyID) throws(KeyRegistryError) -> [DevelopmentPlace] {
        try readers.use { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT d.token_hash, coalesce(t.name, ''), d.first_used_at, d.last_used_at
                    FROM development_device d LEFT JOIN development_token t ON t.token_hash = d.token_hash
                    WHERE d.device = ? ORDER BY d.first_used_at
                    """, arguments: [Data(device.bytes)])
            return try rows.map { row in
                guard case .blob(let hash) = (row[0] as DatabaseValue).storage,
                    case .string(let name) = (row[1] as DatabaseValue).storage,
                    case .int64(let first) = (row[2] as DatabaseValue).storage,
                    case .int64(let last) = (row[3] as DatabaseValue).storage,
                    let token = DevelopmentTokenHash(bytes: [UInt8](hash))?.id
                else { throw DeviceKeyTable.damage }
                return DevelopmentPlace(token: token, name: name, firstUsedAt: first, lastUsedAt: last)
            }
        }
    }

    /// Moves the write-ahead log into the store and empties it. What was deleted is overwritten in the store; after
    /// this, its old content is not in the log either.
    ///
    /// - Returns: false if readers or writers prevented it for ``administrationBusyMilliseconds``.
    package func emptyLog() throws(KeyRegistryError) -> Bool {
        let end = DispatchTime.now() + .milliseconds(limits.administrationBusyMilliseconds)
        repeat {
            if try truncate(until: end), walBytes == 0 { return true }
            usleep(20_000)
        } while DispatchTime.now() < end
        // The last try holds the lock for as long as it takes: an erasure has to leave nothing in the log.
        do { try checkpoints.use { _ = try $0.checkpoint(.truncate) } } catch .busy {}
        return walBytes == 0
    }
}

extension DeviceKey {
    /// As little as keeps a revoked key out, in the columns that every version of this program reads.
    fileprivate static func erased(_ id: KeyID, revokedAt: Int64?) -> DeviceKey {
        DeviceKey(
            id: id, publicKeyX963: [], app: "", environment: "", trustRoot: [], counter: 0, receipt: [],
            validationCategory: nil, bundleVersion: nil, registeredAt: 0, revokedAt: revokedAt,
            revocationReason: erasedReason)
    }
}

extension SQLiteKeyRegistry: KeyMaintenance {
    package func listing(after: KeyID?, limit: Int) async throws(KeyRegistryError) -> [ListedKey] {
        try await read { database throws(KeyRegistryError) in try database.listing(after: after, limit: limit) }
    }

    package func beginErasure(of id: KeyID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.beginErasure(of: id, at: time, until: deadline)
        }
    }

    package func finishErasure(of id: KeyID, holders: [HolderMark]) async throws(KeyRegistryError) -> Erasure {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.finishErasure(of: id, holders: holders, until: deadline)
        }
    }

    package func unfinishedErasures(
        begunBefore time: Int64, limit: Int
    ) async throws(KeyRegistryError) -> [KeyID] {
        try await read { database throws(KeyRegistryError) in
            try database.unfinishedErasures(begunBefore: time, limit: limit)
        }
    }

    package func places(ofDevice device: KeyID) async throws(KeyRegistryError) -> [DevelopmentPlace] {
        try await read { database throws(KeyRegistryError) in try database.places(ofDevice: device) }
    }

    package func emptyLog() async throws(KeyRegistryError) -> Bool {
        try await write { database, _ throws(KeyRegistryError) in try database.emptyLog() }
    }
}

extension SQLiteKeyRegistry: AdministrableStore {
    package var signingKeyStore: any SigningKeyStore { tokenStore }
}
