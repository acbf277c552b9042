import KeyStore

extension PostgreSQLSchema.Migration {
    /// Tables that survive every crash, except for the newest counters: they are committed without waiting for the
    /// disk.
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
            subject bytea NOT NULL CHECK (octet_length(subject) <= 64),
            at timestamptz NOT NULL DEFAULT clock_timestamp()
        );
        CREATE TABLE portcullis.feed (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            forgotten_through int8 NOT NULL
        );
        INSERT INTO portcullis.feed (forgotten_through) VALUES (0);

        """

    /// Tables that PostgreSQL empties in crash recovery and on promotion, and keeps over a clean restart: so the row of
    /// `home` is lost exactly when commits that didn't wait for the disk may be lost, and so are the marks.
    ///
    /// `pg_dump` copies them, unless it is told not to. A restored row of `home` must not be the incarnation of before,
    /// so its columns are generated: a dump never has them, and whoever inserts a row gets new ones, also `COPY`. Their
    /// functions are called immutable, which they aren't, since PostgreSQL demands it; it calls them at each insertion,
    /// and not in an update of other columns. `place` finds a row that was copied as a file: with
    /// `CREATE DATABASE … TEMPLATE`, or by pg_upgrade.
    private static let unlogged = """
        CREATE FUNCTION portcullis.home_place(singleton boolean) RETURNS bytea IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN
            RETURN sha256(
                int8send((pg_control_system()).system_identifier)
                || (SELECT int8send(d.oid::int8) FROM pg_database d WHERE d.datname = current_database()));
        END $$;
        -- The timeline is that of the log's end; an error on a standby.
        CREATE FUNCTION portcullis.home_incarnation(singleton boolean) RETURNS bytea IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN
            RETURN sha256(
                portcullis.home_place(singleton)
                || convert_to(substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), 'UTF8')
                || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
        END $$;
        CREATE FUNCTION portcullis.home_made(singleton boolean) RETURNS timestamptz IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN
            RETURN clock_timestamp();
        END $$;
        CREATE UNLOGGED TABLE portcullis.home (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            incarnation bytea NOT NULL GENERATED ALWAYS AS (portcullis.home_incarnation(singleton)) STORED,
            made timestamptz NOT NULL GENERATED ALWAYS AS (portcullis.home_made(singleton)) STORED,
            place bytea NOT NULL GENERATED ALWAYS AS (portcullis.home_place(singleton)) STORED,
            -- Another beginning than made, for the incarnation that is named: a restored row has a different one.
            began timestamptz,
            began_of bytea,
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
        UPDATE portcullis.home SET began = to_timestamp(0), began_of = incarnation;

        """

    static let first = Self(
        oldest: 1,
        script: tables + unlogged + incarnationFunctions + keyFunctions + maintenanceFunctions + tokenFunctions
            + firstIncarnation)
}
