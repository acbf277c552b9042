import Foundation
import GRDB
import KeyStore

/// A store's file as release 0.2.0 made it, with one key.
enum SQLiteFormerFile {
    /// - Parameter window: what is known of the counters below the key's.
    static func make(at path: String, with key: DeviceKey, window: Int64) throws {
        let queue = try DatabaseQueue(path: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL; " + schema)
            try database.execute(
                sql: """
                    INSERT INTO device_key (key_id, public_key, app, environment, trust_root, counter,
                        validation_category, bundle_version, registered_at, window_top, window_seen)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?6, ?10)
                    """,
                arguments: [
                    Data(key.id.bytes), Data(key.publicKeyX963), key.app, key.environment, Data(key.trustRoot),
                    Int64(key.counter), key.validationCategory.map { Int64($0) }, key.bundleVersion, key.registeredAt,
                    window,
                ])
            try database.execute(
                sql: "INSERT INTO receipt VALUES (?, ?)", arguments: [Data(key.id.bytes), Data(key.receipt)])
        }
        try queue.close()
    }

    /// The text doesn't follow the program's: the files are there.
    private static let schema = """
        CREATE TABLE device_key (
            key_id BLOB NOT NULL PRIMARY KEY CHECK (length(key_id) = 32),
            public_key BLOB NOT NULL,
            app TEXT NOT NULL,
            environment TEXT NOT NULL,
            trust_root BLOB NOT NULL,
            counter INTEGER NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
            validation_category INTEGER,
            bundle_version TEXT,
            registered_at INTEGER NOT NULL,
            last_used_at INTEGER,
            revoked_at INTEGER,
            revocation_reason TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE receipt (
            key_id BLOB NOT NULL PRIMARY KEY,
            receipt BLOB NOT NULL
        ) STRICT;
        PRAGMA application_id = 1346587475;
        PRAGMA user_version = 1;
        ALTER TABLE device_key ADD COLUMN window_top INTEGER;
        ALTER TABLE device_key ADD COLUMN window_seen INTEGER;
        CREATE TABLE signing_key (
            key_id TEXT NOT NULL PRIMARY KEY,
            secret BLOB,
            published_at INTEGER NOT NULL,
            signs_from INTEGER NOT NULL,
            revoked_at INTEGER,
            CHECK ((secret IS NULL) = (revoked_at IS NOT NULL))
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE secret (
            name TEXT NOT NULL PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE development_token (
            token_hash BLOB NOT NULL PRIMARY KEY CHECK (length(token_hash) = 32),
            id TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL,
            routes TEXT,
            maximum_devices INTEGER NOT NULL CHECK (maximum_devices BETWEEN 1 AND 1000),
            issued_at INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            revoked_at INTEGER,
            last_used_at INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE development_device (
            token_hash BLOB NOT NULL,
            device BLOB NOT NULL CHECK (length(device) = 32),
            first_used_at INTEGER NOT NULL,
            last_used_at INTEGER NOT NULL,
            PRIMARY KEY (token_hash, device)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE kept_ticket (
            number INTEGER NOT NULL PRIMARY KEY,
            hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
            session BLOB NOT NULL CHECK (length(session) = 32),
            holder BLOB NOT NULL CHECK (length(holder) = 32),
            content BLOB NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX kept_ticket_session ON kept_ticket (session);
        CREATE INDEX kept_ticket_expires ON kept_ticket (expires_at);
        CREATE TABLE revision (
            part INTEGER NOT NULL PRIMARY KEY,
            mark INTEGER NOT NULL
        ) STRICT;
        INSERT INTO revision VALUES (1, random()), (2, random()), (3, random());
        CREATE TRIGGER device_key_added AFTER INSERT ON device_key WHEN NEW.revoked_at IS NOT NULL
        BEGIN UPDATE revision SET mark = random() WHERE part = 1; END;
        CREATE TRIGGER device_key_changed AFTER UPDATE OF revoked_at ON device_key WHEN OLD.revoked_at IS NOT NEW.revoked_at
        BEGIN UPDATE revision SET mark = random() WHERE part = 1; END;
        CREATE TRIGGER device_key_removed AFTER DELETE ON device_key WHEN OLD.revoked_at IS NOT NULL
        BEGIN UPDATE revision SET mark = random() WHERE part = 1; END;
        CREATE TRIGGER development_token_added AFTER INSERT ON development_token WHEN NEW.revoked_at IS NOT NULL
        BEGIN UPDATE revision SET mark = random() WHERE part = 2; END;
        CREATE TRIGGER development_token_changed AFTER UPDATE OF revoked_at ON development_token WHEN OLD.revoked_at IS NOT NEW.revoked_at
        BEGIN UPDATE revision SET mark = random() WHERE part = 2; END;
        CREATE TRIGGER development_token_removed AFTER DELETE ON development_token WHEN OLD.revoked_at IS NOT NULL
        BEGIN UPDATE revision SET mark = random() WHERE part = 2; END;
        CREATE TRIGGER signing_key_added AFTER INSERT ON signing_key WHEN true
        BEGIN UPDATE revision SET mark = random() WHERE part = 3; END;
        CREATE TRIGGER signing_key_changed AFTER UPDATE ON signing_key WHEN true
        BEGIN UPDATE revision SET mark = random() WHERE part = 3; END;
        CREATE TRIGGER signing_key_removed AFTER DELETE ON signing_key WHEN true
        BEGIN UPDATE revision SET mark = random() WHERE part = 3; END;
        CREATE INDEX device_key_revoked ON device_key (revoked_at) WHERE revoked_at IS NOT NULL;
        """
}
