package import Dispatch
package import KeyStore

/// Development tokens, with the connections that `SQLiteKeyDatabase` describes.
extension SQLiteKeyDatabase: ImmediateDevelopmentTokenRegistry {
    package func status(ofGrant id: String, at time: Int64) throws(KeyRegistryError) -> GrantStatus {
        guard let id = DevelopmentTokenID(text: id) else { return .refused(.unknown) }
        return try readers.use { try DevelopmentTokenTable.fetch(id, from: $0)?.status(at: time) }
            ?? .refused(.unknown)
    }

    /// - parameter deadline: as for `enrol`. The calls below have it too.
    package func redeem(
        _ hash: DevelopmentTokenHash, by device: [UInt8], at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> GrantStatus {
        // Anyone can send invalid tokens, so refusing them takes no lock.
        let first = try readers.use { try DevelopmentTokenTable.fetch(hash, from: $0)?.status(at: time) }
        guard case .granted = first else { return first ?? .refused(.unknown) }
        return try administer(until: deadline) { database in
            guard let token = try DevelopmentTokenTable.fetch(hash, from: database) else { return .refused(.unknown) }
            let isKnown = try DevelopmentTokenTable.knows(device, of: hash, in: database)
            let standing = token.status(forKnownDevice: isKnown, at: time)
            if case .granted = standing {
                try DevelopmentTokenTable.note(device, of: hash, at: time, in: database)
            }
            return standing
        }
    }

    package func issue(
        _ token: DevelopmentToken, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> DevelopmentTokenIssue {
        try administer(until: deadline) { database in
            var stored = try DevelopmentTokenTable.all(from: database)
            for old in stored where old.isForgotten(at: token.issuedAt) {
                try DevelopmentTokenTable.delete(old.hash, from: database)
            }
            stored.removeAll { $0.isForgotten(at: token.issuedAt) }
            guard !stored.contains(where: { $0.id == token.id }) else { return .repeated }
            guard stored.count < DevelopmentTokenLimits.maximumTokens else { return .full }
            try DevelopmentTokenTable.insert(token, into: database)
            return .issued
        }
    }

    package func developmentTokens() throws(KeyRegistryError) -> [DevelopmentToken] {
        try readers.use { try DevelopmentTokenTable.all(from: $0) }
    }

    package func revoke(
        _ id: DevelopmentTokenID, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Bool {
        try administer(until: deadline) { try DevelopmentTokenTable.revoke(id, at: time, in: $0) }
    }
}

extension SQLiteKeyRegistry: DevelopmentTokenStore, ImmediateDevelopmentTokenRegistry {
    package func status(ofGrant id: String, at time: Int64) throws(KeyRegistryError) -> GrantStatus {
        try database.status(ofGrant: id, at: time)
    }

    package func status(
        ofGrant id: String, at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus {
        try await read { database throws(KeyRegistryError) in try database.status(ofGrant: id, at: time) }
    }

    package func redeem(
        _ hash: DevelopmentTokenHash, by device: [UInt8], at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.redeem(hash, by: device, at: time, until: deadline)
        }
    }

    package func issue(_ token: DevelopmentToken) async throws(KeyRegistryError) -> DevelopmentTokenIssue {
        try await write { database, deadline throws(KeyRegistryError) in try database.issue(token, until: deadline) }
    }

    package func developmentTokens() async throws(KeyRegistryError) -> [DevelopmentToken] {
        try await read { database throws(KeyRegistryError) in try database.developmentTokens() }
    }

    package func revoke(_ id: DevelopmentTokenID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.revoke(id, at: time, until: deadline)
        }
    }
}
