package import KeyStore
import Synchronization

/// The reference implementation, used in tests. Nothing here waits.
package final class MemoryDevelopmentTokens: DevelopmentTokenStore, ImmediateDevelopmentTokenRegistry {
    private struct Record {
        var token: DevelopmentToken
        var devices: Set<[UInt8]> = []
    }

    private let records = Mutex<[DevelopmentTokenID: Record]>([:])

    package init() {}

    package func redeem(_ hash: DevelopmentTokenHash, by device: [UInt8], at time: Int64) -> GrantStatus {
        records.withLock { records in
            guard var record = records[hash.id], record.token.hash == hash else { return .refused(.unknown) }
            let standing = record.token.status(forKnownDevice: record.devices.contains(device), at: time)
            guard case .granted = standing else { return standing }
            record.devices.insert(device)
            record.token.devices = record.devices.count
            record.token.lastUsedAt = time
            records[hash.id] = record
            return standing
        }
    }

    package func status(ofGrant id: String, at time: Int64) -> GrantStatus {
        guard let id = DevelopmentTokenID(text: id) else { return .refused(.unknown) }
        return records.withLock { $0[id]?.token.status(at: time) ?? .refused(.unknown) }
    }

    package func issue(_ token: DevelopmentToken) -> DevelopmentTokenIssue {
        records.withLock { records in
            records = records.filter { !$0.value.token.isForgotten(at: token.issuedAt) }
            guard records[token.id] == nil else { return .repeated }
            guard records.count < DevelopmentTokenLimits.maximumTokens else { return .full }
            records[token.id] = Record(token: token)
            return .issued
        }
    }

    package func developmentTokens() -> [DevelopmentToken] {
        records.withLock { records in
            records.values.map(\.token).sorted { ($0.issuedAt, $0.id) < ($1.issuedAt, $1.id) }
        }
    }

    package func revoke(_ id: DevelopmentTokenID, at time: Int64) -> Bool {
        records.withLock { records in
            guard let record = records[id] else { return false }
            records[id]?.token.revokedAt = record.token.revokedAt ?? time
            return true
        }
    }
}
