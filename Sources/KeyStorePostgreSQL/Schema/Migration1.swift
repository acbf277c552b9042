import KeyStore

extension PostgreSQLSchema.Migration {
    /// Tables that survive every crash, except for the newest counters: they are committed without waiting for the disk.
    private static let tables = """
        CREATE SCHEMA IF NOT EXISTS portcullis;
        CREATE TABLE portcullis.schema (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            version int8 NOT NULL,
            oldest int8 NOT NULL
        );
        -- Room in each page for new versions of its rows: a counter then changes one page and no index.
        CREATE TABLE portcullis.device_key (
            key_id bytea PRIMARY KEY CHECK (octet_length(key_id) = 32),
            public_key bytea NOT NULL,
            app text NOT NULL,
            environment text NOT NULL,
            trust_root bytea NOT NULL,
            counter int8 NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
            validation_category int8,
            bundle_version text,
            registered_at int8 NOT NULL,
            last_used_at int8,
            revoked_at int8,
            revocation_reason text
        ) WITH (fillfactor = 70);
        CREATE INDEX device_key_revoked ON portcullis.device_key (key_id) WHERE revoked_at IS NOT NULL;
        CREATE TABLE portcullis.receipt (
            key_id bytea PRIMARY KEY REFERENCES portcullis.device_key ON DELETE CASCADE,
            receipt bytea NOT NULL
        );
        CREATE TABLE portcullis.signing_state (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            version int8 NOT NULL
        );
        INSERT INTO portcullis.signing_state (version) VALUES (0);
        CREATE TABLE portcullis.signing_key (
            key_id text PRIMARY KEY,
            secret bytea,
            published_at int8 NOT NULL,
            signs_from int8 NOT NULL,
            revoked_at int8,
            CHECK ((secret IS NULL) = (revoked_at IS NOT NULL))
        );
        CREATE TABLE portcullis.secret (name text PRIMARY KEY, value bytea NOT NULL);
        CREATE TABLE portcullis.development_token (
            token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
            id text NOT NULL UNIQUE,
            name text NOT NULL,
            routes text,
            maximum_devices int8 NOT NULL CHECK (maximum_devices BETWEEN 1 AND \(DevelopmentToken.largestDeviceLimit)),
            issued_at int8 NOT NULL,
            expires_at int8 NOT NULL,
            revoked_at int8,
            last_used_at int8
        );
        CREATE TABLE portcullis.development_place (
            token_hash bytea NOT NULL REFERENCES portcullis.development_token ON DELETE CASCADE,
            device bytea NOT NULL CHECK (octet_length(device) = 32),
            first_used_at int8 NOT NULL,
            last_used_at int8 NOT NULL,
            PRIMARY KEY (token_hash, device)
        );
        CREATE INDEX development_place_device ON portcullis.development_place (device);
        -- What other gateways have to notice. Sequence numbers are in the order of the commits: see note.
        CREATE TABLE portcullis.changes (
            seq int8 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
            kind int8 NOT NULL,
            subject bytea NOT NULL,
            at timestamptz NOT NULL DEFAULT clock_timestamp()
        );
        CREATE TABLE portcullis.feed (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            forgotten_through int8 NOT NULL
        );
        INSERT INTO portcullis.feed (forgotten_through) VALUES (0);

        """

    /// Tables that PostgreSQL empties in crash recovery and on promotion, and keeps over a clean restart: so the row of `home` is lost exactly
    /// when commits that didn't wait for the disk may be lost, and so are the marks.
    private static let unlogged = """
        CREATE UNLOGGED TABLE portcullis.home (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            incarnation bytea NOT NULL,
            began timestamptz NOT NULL DEFAULT clock_timestamp(),
            -- Marks that expired until then are refused. Only they are ever deleted.
            forgotten int8 NOT NULL DEFAULT 0,
            is_full boolean NOT NULL DEFAULT false
        );
        CREATE UNLOGGED TABLE portcullis.spent (
            kind int8 NOT NULL,
            mark bytea NOT NULL,
            expires int8 NOT NULL,
            PRIMARY KEY (kind, mark)
        );
        CREATE INDEX spent_expires ON portcullis.spent (expires);
        CREATE UNLOGGED TABLE portcullis.ticket (
            hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
            sealed bytea NOT NULL,
            expires int8 NOT NULL
        );
        CREATE INDEX ticket_expires ON portcullis.ticket (expires);

        """

    /// Before it nothing was used, so nothing can be lost.
    private static let firstIncarnation = """
        SELECT portcullis.incarnation();
        UPDATE portcullis.home SET began = to_timestamp(0);

        """

    static let first = Self(
        oldest: 1,
        script: tables + unlogged + incarnationFunctions + keyFunctions + maintenanceFunctions + tokenFunctions
            + firstIncarnation)
}
