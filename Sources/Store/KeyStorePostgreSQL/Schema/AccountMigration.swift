import KeyStore

extension PostgreSQLSchema.Migration {
    /// Players' accounts, with their passkeys and devices.
    ///
    /// The order of locks is: the row of the account, those of its passkeys and devices, then the row of `feed`.
    /// Programs of before know nothing of accounts: they admit nobody by them, and pass over the changes that concern
    /// them.
    static let accounts = Self(
        oldest: 1, script: accountTables + leaving + beginning + adding + joining + using + removing + ending)

    private static let accountTables = """
        CREATE TABLE portcullis.account (
            account_id bytea PRIMARY KEY CHECK (octet_length(account_id) = \(AccountID.length)),
            origin int8 NOT NULL,
            -- What the account ends with, as the gate has encoded it.
            proof bytea CHECK (octet_length(proof) BETWEEN 1 AND \(AccountOrigin.maximumProofBytes)),
            made_at int8 NOT NULL,
            last_used_at int8,
            closed_at int8
        ) WITH (fillfactor = 70);
        CREATE INDEX account_unused ON portcullis.account (made_at)
            WHERE origin = \(AccountOrigin.Kind.open.rawValue) AND last_used_at IS NULL AND closed_at IS NULL;
        -- flags: 1 eligible for backups, 2 backed up, 4 the user was verified when it was made
        CREATE TABLE portcullis.passkey (
            mark bytea PRIMARY KEY CHECK (octet_length(mark) = \(PasskeyMark.length)),
            account_id bytea NOT NULL REFERENCES portcullis.account ON DELETE CASCADE,
            credential_id bytea NOT NULL
                CHECK (octet_length(credential_id) BETWEEN 1 AND \(AccountLimits.maximumCredentialIDBytes)),
            public_key bytea NOT NULL
                CHECK (octet_length(public_key) BETWEEN 1 AND \(AccountLimits.maximumPublicKeyBytes)),
            sign_count int8 NOT NULL CHECK (sign_count BETWEEN 0 AND 4294967295),
            flags int8 NOT NULL CHECK (flags BETWEEN 0 AND 7),
            aaguid bytea NOT NULL CHECK (octet_length(aaguid) = \(AccountLimits.aaguidBytes)),
            attestation text NOT NULL
                CHECK (octet_length(attestation) BETWEEN 1 AND \(AccountLimits.maximumAttestationBytes)),
            label text NOT NULL CHECK (octet_length(label) <= \(AccountLimits.maximumLabelBytes)),
            made_at int8 NOT NULL,
            last_used_at int8
        ) WITH (fillfactor = 70);
        CREATE INDEX passkey_account ON portcullis.passkey (account_id);
        CREATE TABLE portcullis.account_device (
            key_id bytea PRIMARY KEY CHECK (octet_length(key_id) = \(KeyID.length)),
            account_id bytea NOT NULL REFERENCES portcullis.account ON DELETE CASCADE,
            label text NOT NULL CHECK (octet_length(label) <= \(AccountLimits.maximumLabelBytes)),
            joined_at int8 NOT NULL
        );
        CREATE INDEX account_device_account ON portcullis.account_device (account_id);
        -- kind: 1 an account was closed or removed, 2 a passkey was removed, 3 a device (key and account) was removed.
        -- Later kinds are those of later migrations. What was signed in with it has ended.
        CREATE TABLE portcullis.account_end (
            kind int8 NOT NULL,
            subject bytea NOT NULL CHECK (octet_length(subject) <= 64),
            ended_at int8 NOT NULL,
            PRIMARY KEY (kind, subject)
        );
        CREATE INDEX account_end_time ON portcullis.account_end (ended_at);

        """

    private static let leaving = """
        -- A key that is forgotten or erased is no account's device any more.
        CREATE FUNCTION portcullis.leave_account() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM portcullis.account_device d WHERE d.key_id = OLD.key_id;
            RETURN NULL;
        END $$;
        CREATE TRIGGER leaves_account AFTER DELETE ON portcullis.device_key
            FOR EACH ROW EXECUTE FUNCTION portcullis.leave_account();
        CREATE TRIGGER leaves_account_erased AFTER UPDATE OF public_key ON portcullis.device_key
            FOR EACH ROW WHEN (octet_length(NEW.public_key) = 0) EXECUTE FUNCTION portcullis.leave_account();

        """

    /// The maximum holds, because one at a time counts. Whoever is one too many is removed again.
    private static let beginning = """
        -- 0 begun, 1 the passkey is taken, 2 full, 3 the account is there
        CREATE FUNCTION portcullis.begin_account(
            id bytea, new_origin int8, new_proof bytea, made int8, maximum int8, new_mark bytea, credential bytea,
            new_public_key bytea, new_count int8, new_flags int8, new_aaguid bytea, new_attestation text,
            new_label text, passkey_made int8
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM portcullis.passkey p WHERE p.mark = new_mark;
            IF FOUND THEN RETURN 1; END IF;
            PERFORM 1 FROM portcullis.account a WHERE a.account_id = id;
            IF FOUND THEN RETURN 3; END IF;
            IF (SELECT count(*) FROM (SELECT 1 FROM portcullis.account LIMIT maximum) a) >= maximum THEN RETURN 2; END IF;
            INSERT INTO portcullis.account (account_id, origin, proof, made_at) VALUES (id, new_origin, new_proof, made)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN RETURN 3; END IF;
            INSERT INTO portcullis.passkey VALUES (
                new_mark, id, credential, new_public_key, new_count, new_flags, new_aaguid, new_attestation, new_label,
                passkey_made)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                DELETE FROM portcullis.account a WHERE a.account_id = id;
                RETURN 1;
            END IF;
            PERFORM portcullis.lock_feed();
            IF (SELECT count(*) FROM (SELECT 1 FROM portcullis.account LIMIT maximum + 1) a) > maximum THEN
                DELETE FROM portcullis.account a WHERE a.account_id = id;
                RETURN 2;
            END IF;
            RETURN 0;
        END $$;

        """

    private static let adding = """
        -- 0 added, 1 taken, 2 too many, 3 closed, 4 unknown account. The rule is Account.adding.
        CREATE FUNCTION portcullis.add_passkey(
            id bytea, new_mark bytea, credential bytea, new_public_key bytea, new_count int8, new_flags int8,
            new_aaguid bytea, new_attestation text, new_label text, passkey_made int8
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            closed int8;
        BEGIN
            SELECT a.closed_at INTO closed FROM portcullis.account a WHERE a.account_id = id FOR UPDATE;
            IF NOT FOUND THEN RETURN 4; END IF;
            IF closed IS NOT NULL THEN RETURN 3; END IF;
            PERFORM 1 FROM portcullis.passkey p WHERE p.mark = new_mark;
            IF FOUND THEN RETURN 1; END IF;
            IF (SELECT count(*) FROM portcullis.passkey p WHERE p.account_id = id) >= \(AccountLimits.maximumPasskeys)
            THEN RETURN 2; END IF;
            INSERT INTO portcullis.passkey VALUES (
                new_mark, id, credential, new_public_key, new_count, new_flags, new_aaguid, new_attestation, new_label,
                passkey_made)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN RETURN 1; END IF;
            PERFORM portcullis.note(\(StoreChanges.Kind.account.rawValue), id);
            RETURN 0;
        END $$;

        """

    private static let joining = """
        -- 0 joined, 1 had joined already, 2 taken, 3 too many, 4 closed, 5 unknown account, 6 unknown
        -- device. The rule is Account.joining. Nobody forgets or erases the key meanwhile.
        CREATE FUNCTION portcullis.join_device(id bytea, key bytea, new_label text, joined int8)
        RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            closed int8;
            owner bytea;
        BEGIN
            SELECT a.closed_at INTO closed FROM portcullis.account a WHERE a.account_id = id FOR UPDATE;
            IF NOT FOUND THEN RETURN 5; END IF;
            IF closed IS NOT NULL THEN RETURN 4; END IF;
            PERFORM 1 FROM portcullis.device_key k
            WHERE k.key_id = key AND k.revoked_at IS NULL AND octet_length(k.public_key) > 0 FOR SHARE;
            IF NOT FOUND THEN RETURN 6; END IF;
            SELECT d.account_id INTO owner FROM portcullis.account_device d WHERE d.key_id = key;
            IF owner = id THEN
                UPDATE portcullis.account_device d SET label = new_label WHERE d.key_id = key;
                RETURN 1;
            END IF;
            IF owner IS NOT NULL THEN RETURN 2; END IF;
            IF (SELECT count(*) FROM portcullis.account_device d WHERE d.account_id = id)
                >= \(AccountLimits.maximumDevices) THEN RETURN 3; END IF;
            INSERT INTO portcullis.account_device VALUES (key, id, new_label, joined) ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN RETURN 2; END IF;
            DELETE FROM portcullis.account_end e WHERE e.kind = 3 AND e.subject = key || id;
            IF FOUND THEN PERFORM portcullis.note(\(StoreChanges.Kind.departure.rawValue), key || id); END IF;
            PERFORM portcullis.note(\(StoreChanges.Kind.key.rawValue), key);
            RETURN 0;
        END $$;

        """

    /// As durable as the use of a key's counter.
    private static let using = """
        -- outcome: 0 used, 1 not higher (stored), 2 unknown, 3 closed. The rule is Passkey.used.
        CREATE FUNCTION portcullis.use_passkey(
            of_mark bytea, new_count int8, new_flags int8, used_at int8, OUT outcome int8, OUT stored int8
        ) LANGUAGE plpgsql AS $$
        DECLARE
            owner bytea;
            closed int8;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            SELECT p.account_id INTO owner FROM portcullis.passkey p WHERE p.mark = of_mark;
            SELECT a.closed_at INTO closed FROM portcullis.account a WHERE a.account_id = owner FOR UPDATE;
            UPDATE portcullis.passkey p
            SET sign_count = new_count, flags = (p.flags & 4) | new_flags, last_used_at = used_at
            WHERE p.mark = of_mark AND closed IS NULL
                AND (new_count > p.sign_count OR new_count = 0 AND p.sign_count = 0);
            IF FOUND THEN
                UPDATE portcullis.account a SET last_used_at = greatest(a.last_used_at, used_at)
                WHERE a.account_id = owner;
                outcome := 0;
                RETURN;
            END IF;
            SELECT p.sign_count INTO stored FROM portcullis.passkey p WHERE p.mark = of_mark;
            outcome := CASE WHEN NOT FOUND THEN 2 WHEN closed IS NOT NULL THEN 3 ELSE 1 END;
        END $$;

        -- spending as spend; only after 0 outcome and stored as use_passkey
        CREATE FUNCTION portcullis.sign_in(
            home_id bytea, mark_kind int8, mark_bytes bytea, mark_expires int8, of_mark bytea, new_count int8,
            new_flags int8, used_at int8, OUT spending int8, OUT outcome int8, OUT stored int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            spending := portcullis.spend(home_id, mark_kind, mark_bytes, mark_expires);
            IF spending = 0 THEN
                SELECT u.outcome, u.stored INTO outcome, stored
                FROM portcullis.use_passkey(of_mark, new_count, new_flags, used_at) u;
            END IF;
        END $$;

        """

    private static let removing = """
        -- The latest time counts: gateways that read all again look for what is new.
        CREATE FUNCTION portcullis.note_end(of_kind int8, of_subject bytea, ended int8) RETURNS void LANGUAGE sql AS $$
            INSERT INTO portcullis.account_end AS e VALUES (of_kind, of_subject, ended)
            ON CONFLICT (kind, subject) DO UPDATE SET ended_at = greatest(e.ended_at, excluded.ended_at)
        $$;

        CREATE FUNCTION portcullis.remove_passkey(id bytea, of_mark bytea, ended int8)
        RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM portcullis.account a WHERE a.account_id = id FOR UPDATE;
            DELETE FROM portcullis.passkey p WHERE p.mark = of_mark AND p.account_id = id;
            IF NOT FOUND THEN RETURN false; END IF;
            PERFORM portcullis.note_end(2, of_mark, ended);
            PERFORM portcullis.note(\(StoreChanges.Kind.passkey.rawValue), of_mark);
            PERFORM portcullis.note(\(StoreChanges.Kind.account.rawValue), id);
            RETURN true;
        END $$;

        CREATE FUNCTION portcullis.remove_device(id bytea, key bytea, ended int8)
        RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM 1 FROM portcullis.account a WHERE a.account_id = id FOR UPDATE;
            DELETE FROM portcullis.account_device d WHERE d.key_id = key AND d.account_id = id;
            IF NOT FOUND THEN RETURN false; END IF;
            DELETE FROM portcullis.account_end e WHERE e.kind = 3 AND e.subject = key || id;
            PERFORM portcullis.note_end(3, key || id, ended);
            PERFORM portcullis.note(\(StoreChanges.Kind.departure.rawValue), key || id);
            PERFORM portcullis.note(\(StoreChanges.Kind.key.rawValue), key);
            RETURN true;
        END $$;

        """

    private static let ending = """
        CREATE FUNCTION portcullis.close_account(id bytea, ended int8) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE portcullis.account a SET closed_at = coalesce(a.closed_at, ended) WHERE a.account_id = id;
            IF NOT FOUND THEN RETURN false; END IF;
            PERFORM portcullis.note_end(1, id, ended);
            PERFORM portcullis.note(\(StoreChanges.Kind.account.rawValue), id);
            PERFORM portcullis.note(\(StoreChanges.Kind.key.rawValue), d.key_id)
            FROM portcullis.account_device d WHERE d.account_id = id;
            RETURN true;
        END $$;

        CREATE FUNCTION portcullis.forget_account(id bytea, ended int8) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            keys bytea[];
        BEGIN
            PERFORM 1 FROM portcullis.account a WHERE a.account_id = id FOR UPDATE;
            IF NOT FOUND THEN RETURN false; END IF;
            keys := ARRAY(SELECT d.key_id FROM portcullis.account_device d WHERE d.account_id = id);
            DELETE FROM portcullis.account a WHERE a.account_id = id;
            PERFORM portcullis.note_end(1, id, ended);
            PERFORM portcullis.note(\(StoreChanges.Kind.account.rawValue), id);
            PERFORM portcullis.note(\(StoreChanges.Kind.key.rawValue), k) FROM unnest(keys) k;
            RETURN true;
        END $$;

        -- Nobody has signed in to what is removed, so nobody has to hear of it. The rule is Account.isUnused.
        CREATE FUNCTION portcullis.expire_accounts(made_before int8, ended_before int8, batch int8)
        RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            gone int8;
        BEGIN
            DELETE FROM portcullis.account WHERE account_id = ANY (ARRAY(
                SELECT a.account_id FROM portcullis.account a
                WHERE a.origin = \(AccountOrigin.Kind.open.rawValue) AND a.last_used_at IS NULL
                    AND a.closed_at IS NULL AND a.made_at < made_before
                ORDER BY a.made_at LIMIT batch FOR UPDATE SKIP LOCKED));
            GET DIAGNOSTICS gone = ROW_COUNT;
            -- The oldest, so that it is short, and without waiting for who removes some of them.
            DELETE FROM portcullis.account_end WHERE ctid = ANY (ARRAY(
                SELECT e.ctid FROM portcullis.account_end e
                WHERE e.ended_at < ended_before
                    AND NOT (e.kind = 1 AND EXISTS (
                        SELECT 1 FROM portcullis.account a WHERE a.account_id = e.subject))
                ORDER BY e.ended_at LIMIT batch FOR UPDATE OF e SKIP LOCKED));
            RETURN gone;
        END $$;

        """
}
