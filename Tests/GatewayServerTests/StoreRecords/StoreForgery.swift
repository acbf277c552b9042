import Crypto
import DPoP
import Foundation
import GRDB
import KeyStore
import KeyStoreSQLite
import Testing

/// A file that has one record of each kind, and what can be wrong with it.
struct StoreForgery: Sendable {
    let name: String
    /// On the file's tables.
    let sql: String
    /// What `store check` and `store import` say.
    let says: String

    init(_ name: String, _ sql: String, says: String) { (self.name, self.sql, self.says) = (name, sql, says) }

    /// Makes the file whose records are all good.
    static func makeStore(at path: String) throws {
        let store = try SQLiteKeyDatabase(path: path)
        _ = try store.enrol(FleetCommandBench.key(1))
        let secret = [UInt8](repeating: 7, count: SigningKey.byteCount)
        let signer = StoredSigningKey(
            id: try #require(SigningKey(rawRepresentation: secret)).keyID, secret: secret, publishedAt: 1_000,
            signsFrom: 2_000)
        let gone = StoredSigningKeys.Revoked(id: String(repeating: "A", count: 43), revokedAt: 3_000)
        try store.complete(signingKeys: StoredSigningKeys(keys: [signer], revoked: [gone]))
        try store.complete(secret: NamedSecret(name: "dpop-nonce", value: [UInt8](repeating: 9, count: 32)))
        let hash = try #require(DevelopmentTokenHash(bytes: Array(SHA256.hash(data: [1]))))
        let token = DevelopmentToken(
            hash: hash, name: "ci", routes: ["live"], maximumDevices: 1, issuedAt: 1_000, expiresAt: 9_000,
            lastUsedAt: 2_000, devices: 1)
        let place = TransferredToken.Place(
            device: [UInt8](repeating: 3, count: 32), firstUsedAt: 1_500, lastUsedAt: 2_000)
        try store.complete(token: TransferredToken(token: token, places: [place]))
        try store.complete(accounts: [account()])
    }

    /// With one passkey, and the device.
    static func account() throws -> Account {
        let key = try FleetCommandBench.key(1)
        let credential: [UInt8] = [1, 2, 3]
        let (x, y) = (Array(key.publicKeyX963[1..<33]), Array(key.publicKeyX963[33...]))
        var cose: [UInt8] = [0xA5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20]
        cose += x + [0x22, 0x58, 0x20] + y
        let passkey = Passkey(
            mark: try #require(PasskeyMark(bytes: Array(SHA256.hash(data: credential)))), credentialID: credential,
            publicKey: cose, signCount: 0, isBackupEligible: true, isBackedUp: true,
            isUserVerified: true, aaguid: [UInt8](repeating: 0, count: AccountLimits.aaguidBytes), attestation: "none",
            label: "phone", madeAt: 1_000)
        return Account(
            id: try #require(AccountID(bytes: [UInt8](repeating: 7, count: AccountID.length))), origin: .device,
            madeAt: 1_000, passkeys: [passkey],
            devices: [AccountDevice(key: key.id, label: "tablet", joinedAt: 2_000)])
    }

    static let ofAccounts: [StoreForgery] = [
        .init(
            "a mark that isn't the credential's hash", "UPDATE passkey SET mark = \(zeros)",
            says: "mark isn't the SHA-256 of its credential"),
        .init(
            "a key that signs nothing", "UPDATE passkey SET public_key = x'A0'",
            says: "a passkey's public key is none that signs"),
        .init("a label of 65 bytes", "UPDATE passkey SET label = hex(zeroblob(32)) || 'x'", says: "a value is missing"),
        .init("a credential of no bytes", "UPDATE passkey SET credential_id = x''", says: "a value is missing"),
        .init("a counter below zero of a passkey", "UPDATE passkey SET sign_count = -1", says: "a value is missing"),
        .init("an unknown origin", "UPDATE account SET origin = 9", says: "a value is missing"),
        .init(
            "a proof of an account that ends with none", "UPDATE account SET proof = x'01'", says: "a value is missing"),
        .init(
            "a proof that no gateway has kept", "UPDATE account SET origin = 3, proof = x'01'",
            says: "what it ends with can't be read"),
        .init(
            "an account of the far future", "UPDATE account SET made_at = \(future)",
            says: "the time when it was made is impossible"),
        .init(
            "an end in the far future", "UPDATE account SET closed_at = \(future)",
            says: "the time of its end is impossible"),
        .init(
            "a passkey of the far future", "UPDATE passkey SET made_at = \(future)",
            says: "a passkey's times are impossible"),
        .init(
            "a device of the far future", "UPDATE account_device SET joined_at = \(future)",
            says: "the time when a device joined is impossible"),
        .init("a passkey of no account", "UPDATE passkey SET account_id = x'07'", says: "passkeys: 1 have no account"),
        .init(
            "a device of no account", "UPDATE account_device SET account_id = x'07'",
            says: "devices of accounts: 1 have no account"),
        .init(
            "eleven passkeys",
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
            INSERT INTO passkey SELECT randomblob(32), account_id, credential_id, public_key, 0, 0, aaguid, 'none', '',
                1000, NULL FROM passkey, n
            """, says: "a value is missing"),
    ]

    /// Without the checks that the file's own tables have: whoever makes a file leaves them out.
    func apply(to path: String) throws {
        try DatabaseQueue(path: path).inDatabase { database in
            try database.execute(sql: "PRAGMA ignore_check_constraints = ON; \(sql)")
        }
    }

    private static let zeros = "x'" + String(repeating: "00", count: 32) + "'"
    private static let point = "x'04" + String(repeating: "11", count: 64) + "'"
    private static let future = "9000000000000000000"

    static let ofKeys: [StoreForgery] = [
        .init(
            "an identifier that isn't the key's hash",
            "UPDATE device_key SET key_id = \(zeros); UPDATE receipt SET key_id = \(zeros)",
            says: "isn't the SHA-256 of its public key"),
        .init("a point beside the curve", "UPDATE device_key SET public_key = \(point)", says: "no point of P-256"),
        .init("64 bytes of a point", "UPDATE device_key SET public_key = substr(public_key, 1, 64)", says: "no point"),
        .init("a compressed point", "UPDATE device_key SET public_key = substr(public_key, 1, 33)", says: "no point"),
        .init("an app without a team", "UPDATE device_key SET app = 'TEAM.app'", says: "its app is no App ID"),
        .init(
            "an app of 30 MB", "UPDATE device_key SET app = 'ABCDE12345.' || hex(zeroblob(15000000))",
            says: "a value has more than 1048576 bytes"),
        .init(
            "an app of 267 bytes", "UPDATE device_key SET app = 'ABCDE12345.' || hex(zeroblob(128))",
            says: "its app is no App ID"),
        .init("another environment", "UPDATE device_key SET environment = 'prod'", says: "its environment is none"),
        .init(
            "a trust root of 31 bytes", "UPDATE device_key SET trust_root = substr(trust_root, 1, 31)",
            says: "its trust root isn't"),
        .init(
            "the highest counter", "UPDATE device_key SET counter = 4294967295",
            says: "its counter is higher than any device's"),
        .init("a counter below zero", "UPDATE device_key SET counter = -1", says: "a value is missing"),
        .init(
            "a counter without a use", "UPDATE device_key SET last_used_at = NULL",
            says: "its counter and the time of its last use contradict each other"),
        .init("a use without a counter", "UPDATE device_key SET counter = 0", says: "contradict each other"),
        .init(
            "a registration before 1970", "UPDATE device_key SET registered_at = -1",
            says: "the time of its registration is impossible"),
        .init(
            "a registration in the far future", "UPDATE device_key SET registered_at = \(future)",
            says: "the time of its registration is impossible"),
        .init(
            "a use before the registration", "UPDATE device_key SET registered_at = 200000000",
            says: "the time of its last use is before that of its registration"),
        .init(
            "a revocation in the far future", "UPDATE device_key SET revoked_at = \(future), revocation_reason = ''",
            says: "the time of its revocation is impossible"),
        .init(
            "the reason of no revocation", "UPDATE device_key SET revocation_reason = 'lost'",
            says: "has the reason of a revocation"),
        .init(
            "a reason of 5000 bytes",
            "UPDATE device_key SET revoked_at = 2000, revocation_reason = hex(zeroblob(2500))",
            says: "the reason of its revocation has more than"),
        .init(
            "a receipt that is longer than an attestation", "UPDATE receipt SET receipt = zeroblob(16385)",
            says: "is longer than an attestation"),
        .init(
            "a version that is longer than an attestation",
            "UPDATE device_key SET bundle_version = hex(zeroblob(8193))", says: "is longer than an attestation"),
        .init("no receipt", "DELETE FROM receipt", says: "a value is missing"),
        .init("a receipt of no key", "INSERT INTO receipt VALUES (x'07', x'07')", says: "receipts: 1 have no key"),
        .init("a category below zero", "UPDATE device_key SET validation_category = -1", says: "a value is missing"),
        .init("no public key", "UPDATE device_key SET public_key = x''", says: "isn't erased"),
        .init(
            "an erased key that isn't revoked",
            """
            UPDATE device_key SET public_key = x'', app = '', environment = '', trust_root = x'', counter = 0,
                validation_category = NULL, bundle_version = NULL, registered_at = 0, last_used_at = NULL;
            UPDATE receipt SET receipt = x''
            """, says: "no revocation that keeps it out"),
    ]

    static let ofTokens: [StoreForgery] = [
        .init(
            "a scalar of 31 bytes", "UPDATE signing_key SET secret = zeroblob(31) WHERE secret IS NOT NULL",
            says: "it is no private key of P-256"),
        .init(
            "the name of another signing key",
            "UPDATE signing_key SET secret = CAST(replace(secret, x'07', x'08') AS BLOB) WHERE secret IS NOT NULL",
            says: "isn't the thumbprint"),
        .init(
            "a signing key that signs before it is published",
            "UPDATE signing_key SET published_at = 3000 WHERE secret IS NOT NULL", says: "its first use are impossible"),
        .init(
            "a revoked signing key without a thumbprint",
            "UPDATE signing_key SET key_id = 'x' WHERE secret IS NULL", says: "its name is no thumbprint"),
        .init("a short secret", "UPDATE secret SET value = zeroblob(31)", says: "secret dpop-nonce: it is too short"),
        .init("a secret of 2000 bytes", "UPDATE secret SET value = zeroblob(2000)", says: "its length is impossible"),
        .init("a secret without a name", "UPDATE secret SET name = ''", says: "its name is none of a secret"),
        .init(
            "a secret of the fleet that is none", "UPDATE secret SET name = 'fleet-1'",
            says: "no generation of the fleet's secrets"),
        .init(
            "a name with a control character", "UPDATE development_token SET name = char(27)",
            says: "its name isn't one that a token can have"),
        .init(
            "a route with a space", "UPDATE development_token SET routes = 'a b'",
            says: "its routes aren't ones that a token can have"),
        .init(
            "more devices than the token is for",
            "INSERT INTO development_device SELECT token_hash, zeroblob(32), 1, 1 FROM development_token",
            says: "more devices than a token can have"),
        .init(
            "a token for any number of devices", "UPDATE development_token SET maximum_devices = 1001",
            says: "more devices than a token can have"),
        .init(
            "a token's identifier that isn't its hash's", "UPDATE development_token SET id = '0123456789abcdef'",
            says: "a value is missing, or of another type, size or form"),
        .init(
            "a token for ten years", "UPDATE development_token SET expires_at = 315360000000",
            says: "the times of its issue and its end are impossible"),
        .init(
            "a use of a token in the far future", "UPDATE development_device SET last_used_at = \(future)",
            says: "a device of it, or the time of its use, is impossible"),
        .init("a device of no token", "DELETE FROM development_token", says: "1 have no token"),
    ]

    /// Of these nothing is read.
    static let ofForm: [StoreForgery] = [
        .init(
            "a view of endless data",
            """
            DROP TABLE device_key; CREATE VIEW device_key AS
            SELECT \(zeros) AS key_id, zeroblob(900000000) AS public_key, '' AS app, '' AS environment,
                x'' AS trust_root, 1 AS counter, 1 AS validation_category, '' AS bundle_version, 1 AS registered_at,
                1 AS last_used_at, 1 AS revoked_at, '' AS revocation_reason
            """, says: "it has what no key store has: the view device_key"),
        .init(
            "a trigger", "CREATE TRIGGER t AFTER INSERT ON receipt BEGIN DELETE FROM receipt; END",
            says: "the trigger t"),
        .init(
            "another trigger under the name of a store's",
            """
            DROP TRIGGER device_key_added;
            CREATE TRIGGER device_key_added AFTER INSERT ON receipt BEGIN DELETE FROM receipt; END
            """, says: "its device_key_added is not the trigger"),
        .init("another table", "CREATE TABLE more (n)", says: "the table more"),
        .init("a virtual table", "CREATE VIRTUAL TABLE secrets USING fts5(n)", says: "the table secrets"),
        .init("an index of an expression", "CREATE INDEX i ON device_key (lower(app))", says: "the index i"),
        .init(
            "a virtual table in the place of a store's",
            "DROP TABLE receipt; CREATE VIRTUAL TABLE receipt USING fts5(key_id, body)",
            says: "what no key store has"),
        .init(
            "a table without types",
            "DROP TABLE receipt; CREATE TABLE receipt (key_id BLOB NOT NULL PRIMARY KEY, receipt BLOB NOT NULL)",
            says: "its receipt is not the table"),
        .init(
            "a computed column",
            """
            DROP TABLE receipt; CREATE TABLE receipt (
                key_id BLOB NOT NULL PRIMARY KEY, receipt BLOB NOT NULL AS (zeroblob(900000000))) STRICT
            """, says: "its receipt is not the table"),
        .init("a missing table", "DROP TABLE receipt", says: "its receipt is not the table"),
    ]
}
