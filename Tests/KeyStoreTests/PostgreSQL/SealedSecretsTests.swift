import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import Testing

@Suite("Secrets in a fleet's store")
struct SealedSecretsTests {
    private func sealing(_ bytes: UInt8...) throws -> SealedSecrets {
        try #require(SealedSecrets(keys: bytes.map { [UInt8](repeating: $0, count: SealedSecrets.keyBytes) }))
    }

    @Test func `are opened with the key and for the purpose that they were sealed with`() throws {
        let sealing = try sealing(1)
        for secret in [[], [7], [UInt8](repeating: 9, count: 500)] as [[UInt8]] {
            let sealed = try sealing.seal(secret, for: "a")
            #expect(try sealing.open(sealed, for: "a") == secret)
            #expect(throws: KeyRegistryError.self) { try sealing.open(sealed, for: "b") }
            #expect(throws: KeyRegistryError.self) { try self.sealing(2).open(sealed, for: "a") }
        }
    }

    @Test func `are refused after any change, and in every shorter form`() throws {
        let sealing = try sealing(1)
        let sealed = try sealing.seal([1, 2, 3], for: "a")
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: KeyRegistryError.self) { try sealing.open(changed, for: "a") }
            #expect(throws: KeyRegistryError.self) { try sealing.open(Array(sealed.prefix(index)), for: "a") }
        }
    }

    @Test func `move from key to key`() throws {
        let old = try sealing(1).seal([5], for: "a")
        let both = try sealing(2, 1)
        #expect(try both.open(old, for: "a") == [5])
        let new = try both.seal([6], for: "a")
        #expect(try sealing(2).open(new, for: "a") == [6])
        #expect(throws: KeyRegistryError.self) { try sealing(1).open(new, for: "a") }
        #expect(SealedSecrets(keys: []) == nil)
        #expect(SealedSecrets(keys: [[1]]) == nil)
    }

    @Test func `aren't in the database in the clear`() async throws {
        let database = try await FleetDatabase()
        let secret = Array("a very secret scalar, 32 bytes..".utf8)
        let keys = StoredSigningKeys(keys: [
            StoredSigningKey(id: "k", secret: secret, publishedAt: 1, signsFrom: 2)
        ])
        #expect(try database.registry.replaceSigningKeys(StoredSigningKeys(), with: keys))
        #expect(try database.registry.secret(named: "nonces", creating: secret) == secret)
        #expect(try database.registry.secret(named: "nonces", creating: [1]) == secret)
        let found = try database.session().run(
            """
            SELECT (SELECT count(*) FROM portcullis.signing_key WHERE position($1::bytea IN secret) > 0)
                + (SELECT count(*) FROM portcullis.secret WHERE position($1::bytea IN value) > 0)
            """, [.bytes(secret)])
        #expect(try found.only().integer(0) == 0)
        // Nor can the database exchange them.
        try database.session().run("UPDATE portcullis.secret SET value = (SELECT secret FROM portcullis.signing_key)")
        #expect(throws: KeyRegistryError.self) { try database.registry.secret(named: "nonces", creating: [1]) }
    }
}
