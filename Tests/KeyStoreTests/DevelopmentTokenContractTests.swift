import KeyStore
import KeyStoreSQLite
import KeyStoreTestKit
import Testing

/// The contract of every store of development tokens.
@Suite("A store of development tokens")
struct DevelopmentTokenContractTests {
    enum Kind: CaseIterable, Sendable {
        case memory, sqlite, postgresql

        func make() async throws -> (store: any DevelopmentTokenStore, owner: AnyObject?) {
            switch self {
            case .memory: return (MemoryDevelopmentTokens(), nil)
            case .sqlite:
                let directory = try TemporaryDirectory()
                return (try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient), directory)
            case .postgresql:
                let database = try await FleetDatabase()
                return (database.registry, database)
            }
        }
    }

    private func device(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    @Test(arguments: Kind.allCases)
    func `admits the devices of a token until it expires`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        let token = DevelopmentToken.sample(routes: ["live", "test"])
        #expect(try await store.issue(token) == .issued)
        #expect(token.grant.routes == ["live", "test"] && token.grant.name == token.name)
        #expect(try await store.redeem(token.hash, by: device(1), at: 1_999) == .granted(token.grant))
        #expect(try await store.status(ofGrant: token.grant.id, at: 1_999) == .granted(token.grant))
        #expect(try await store.redeem(token.hash, by: device(1), at: 2_000) == .refused(.expired))
        #expect(try await store.status(ofGrant: token.grant.id, at: 2_000) == .refused(.expired))
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `refuses a token that wasn't issued`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.issue(.sample(1))
        #expect(try await store.redeem(DevelopmentToken.sample(2).hash, by: device(1), at: 1_000) == .refused(.unknown))
        for id in [DevelopmentToken.sample(2).grant.id, "", "0101", DevelopmentToken.sample(1).grant.id + " "] {
            #expect(try await store.status(ofGrant: id, at: 1_000) == .refused(.unknown))
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `counts devices, not uses, and no refused ones`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        let token = DevelopmentToken.sample(devices: 2)
        _ = try await store.issue(token)
        #expect(try await store.redeem(token.hash, by: device(9), at: 3_000) == .refused(.expired))
        for byte in [1, 1, 2, 1] as [UInt8] {
            #expect(try await store.redeem(token.hash, by: device(byte), at: 1_500) == .granted(token.grant))
        }
        #expect(try await store.redeem(token.hash, by: device(3), at: 1_600) == .refused(.deviceLimit))
        #expect(try await store.redeem(token.hash, by: device(2), at: 1_700) == .granted(token.grant))
        // A known device isn't counted again.
        #expect(try await store.status(ofGrant: token.grant.id, at: 1_700) == .granted(token.grant))
        let listed = try #require(try await store.developmentTokens().first)
        #expect(listed.devices == 2 && listed.lastUsedAt == 1_700)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `gives the last place to exactly one of many concurrent devices`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        let token = DevelopmentToken.sample(devices: 3)
        _ = try await store.issue(token)
        let granted = try await withThrowingTaskGroup(of: Bool.self) { group in
            for byte in UInt8(1)...12 {
                group.addTask { [device] in
                    try await store.redeem(token.hash, by: device(byte), at: 1_500) == .granted(token.grant)
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(granted == 3)
        #expect(try await store.developmentTokens().first?.devices == 3)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `refuses a revoked token permanently`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        let token = DevelopmentToken.sample()
        _ = try await store.issue(token)
        _ = try await store.redeem(token.hash, by: device(1), at: 1_100)
        #expect(try await store.revoke(token.id, at: 1_200))
        #expect(try await store.redeem(token.hash, by: device(1), at: 1_300) == .refused(.revoked))
        #expect(try await store.status(ofGrant: token.grant.id, at: 1_300) == .refused(.revoked))
        #expect(try await store.revoke(token.id, at: 1_900))
        #expect(try await store.developmentTokens().first?.revokedAt == 1_200)
        #expect(try await store.issue(token) == .repeated)
        #expect(try await !store.revoke(DevelopmentToken.sample(2).id, at: 1_300))
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `lists tokens in the order of their issue`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        let tokens = [
            DevelopmentToken.sample(9, issuedAt: 1_000), .sample(3, routes: ["live"], issuedAt: 1_001),
            .sample(7, issuedAt: 1_001),
        ]
        for token in tokens.reversed() { #expect(try await store.issue(token) == .issued) }
        #expect(try await store.developmentTokens() == tokens)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `has a maximum, and deletes tokens that ended 90 days ago`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        func token(_ number: Int, issuedAt: Int64, expiresAt: Int64) throws -> DevelopmentToken {
            let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 0, count: 30)
            return DevelopmentToken(
                hash: try #require(DevelopmentTokenHash(bytes: bytes)), name: "n", routes: nil, maximumDevices: 1,
                issuedAt: issuedAt, expiresAt: expiresAt)
        }
        for number in 0..<DevelopmentTokenLimits.maximumTokens {
            let issue = try await store.issue(token(number, issuedAt: 0, expiresAt: number == 0 ? 5 : 6))
            #expect(issue == .issued)
        }
        let last = DevelopmentTokenLimits.keptMilliseconds + 5
        #expect(try await store.issue(token(5_000, issuedAt: last, expiresAt: last + 1)) == .full)
        #expect(try await store.issue(token(5_000, issuedAt: last + 1, expiresAt: last + 2)) == .issued)
        #expect(try await store.developmentTokens().count == DevelopmentTokenLimits.maximumTokens)
        #expect(try await store.issue(token(5_001, issuedAt: last + 2, expiresAt: last + 3)) == .issued)
        #expect(try await store.developmentTokens().count == 2)
        withExtendedLifetime(owner) {}
    }

    @Test func `survives a restart`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        let token = DevelopmentToken.sample(devices: 1)
        do {
            let store = try SQLiteKeyRegistry(path: path, limits: .patient)
            _ = try await store.issue(token)
            _ = try await store.redeem(token.hash, by: device(1), at: 1_100)
        }
        let store = try SQLiteKeyRegistry(path: path, limits: .patient)
        #expect(try await store.redeem(token.hash, by: device(1), at: 1_200) == .granted(token.grant))
        #expect(try await store.redeem(token.hash, by: device(2), at: 1_200) == .refused(.deviceLimit))
        withExtendedLifetime(directory) {}
    }
}
