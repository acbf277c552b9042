import KeyStore

extension PostgreSQLSchema.Migration {
    /// Locks that need a right. Whoever may connect to a database can take any advisory lock in it and keep it; a row
    /// can be locked only by who may change it.
    ///
    /// The order is: rows of keys and tokens first, then the row of `feed`. A transaction of before may still have the
    /// advisory lock while this is committed, so the trigger, and not `note`, takes the row: it has it before it gets
    /// its number.
    static let rowLocks = Self(oldest: 1, script: feedOrder + blocking + issuing + forgetting)

    private static let feedOrder = """
        CREATE FUNCTION portcullis.lock_feed() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM portcullis.feed FOR UPDATE;
            IF NOT FOUND THEN RAISE EXCEPTION USING ERRCODE = 'XX001', MESSAGE = 'portcullis.feed has no row'; END IF;
        END $$;

        -- Before the statement, and so before its rows get their numbers. The lock is held until the transaction's end, so numbers become visible in their order.
        CREATE FUNCTION portcullis.order_changes() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM portcullis.lock_feed();
            RETURN NULL;
        END $$;
        CREATE TRIGGER in_order BEFORE INSERT ON portcullis.changes
            FOR EACH STATEMENT EXECUTE FUNCTION portcullis.order_changes();

        -- The last step of a transaction.
        CREATE OR REPLACE FUNCTION portcullis.note(change_kind int8, change_subject bytea)
        RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO portcullis.changes (kind, subject) VALUES (change_kind, change_subject);
            PERFORM pg_notify('portcullis', '');
        END $$;

        """

    private static let blocking = """
        CREATE OR REPLACE FUNCTION portcullis.block(entries text[], why text, moment int8, maximum int8)
        RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE added int8;
        BEGIN
            PERFORM portcullis.lock_feed();
            IF (SELECT count(*) FROM (
                SELECT b.entry FROM portcullis.block b UNION SELECT unnest(entries)) AS u) > maximum
            THEN RETURN -1; END IF;
            INSERT INTO portcullis.block SELECT DISTINCT e, why, moment FROM unnest(entries) AS e
            ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS added = ROW_COUNT;
            IF added > 0 THEN PERFORM portcullis.note(\(StoreChanges.Kind.blockList.rawValue), ''::bytea); END IF;
            RETURN added;
        END $$;

        CREATE OR REPLACE FUNCTION portcullis.unblock(entries text[]) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE removed int8;
        BEGIN
            PERFORM portcullis.lock_feed();
            DELETE FROM portcullis.block b WHERE b.entry = ANY (entries);
            GET DIAGNOSTICS removed = ROW_COUNT;
            IF removed > 0 THEN PERFORM portcullis.note(\(StoreChanges.Kind.blockList.rawValue), ''::bytea); END IF;
            RETURN removed;
        END $$;

        """

    /// The maximum holds, because one at a time issues.
    private static let issuing = """
        CREATE OR REPLACE FUNCTION portcullis.issue_token(
            hash bytea, new_id text, new_name text, new_routes text, devices int8, issued int8, expires int8,
            revoked int8, used int8, forgotten_before int8, maximum int8
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM portcullis.development_token WHERE token_hash = ANY (ARRAY(
                SELECT t.token_hash FROM portcullis.development_token t
                WHERE least(t.expires_at, coalesce(t.revoked_at, t.expires_at)) < forgotten_before
                FOR UPDATE SKIP LOCKED));
            PERFORM portcullis.lock_feed();
            PERFORM 1 FROM portcullis.development_token t WHERE t.id = new_id OR t.token_hash = hash;
            IF FOUND THEN RETURN 1; END IF;
            IF (SELECT count(*) FROM portcullis.development_token) >= maximum THEN RETURN 2; END IF;
            INSERT INTO portcullis.development_token
            VALUES (hash, new_id, new_name, new_routes, devices, issued, expires, revoked, used);
            PERFORM portcullis.note(2, convert_to(new_id, 'UTF8'));
            RETURN 0;
        END $$;

        """

    private static let forgetting = forgettingMarks(
        "CREATE OR REPLACE FUNCTION",
        unlessAlone: "PERFORM 1 FROM portcullis.home FOR UPDATE SKIP LOCKED; IF NOT FOUND")
}
