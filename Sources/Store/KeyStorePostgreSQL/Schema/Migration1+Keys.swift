import KeyStore

extension PostgreSQLSchema.Migration {
    static let keyFunctions = """
        -- The last step of a transaction. The lock is held until its end, so sequence numbers become visible in their order.
        CREATE FUNCTION portcullis.note(change_kind int8, change_subject bytea) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(1346587474, 2);
            INSERT INTO portcullis.changes (kind, subject) VALUES (change_kind, change_subject);
            PERFORM pg_notify('portcullis', '');
        END $$;

        -- 0 enrolled, 1 already enrolled, 2 revoked. The rule is DeviceKey.reenrolled.
        CREATE FUNCTION portcullis.enrol(
            id bytea, new_public_key bytea, new_app text, new_environment text, new_trust_root bytea, new_counter int8,
            new_category int8, new_version text, registered int8, used int8, revoked int8, why text, new_receipt bytea
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            LOOP
                INSERT INTO portcullis.device_key VALUES (
                    id, new_public_key, new_app, new_environment, new_trust_root, new_counter, new_category, new_version,
                    registered, used, revoked, why)
                ON CONFLICT DO NOTHING;
                IF FOUND THEN
                    INSERT INTO portcullis.receipt VALUES (id, new_receipt);
                    RETURN 0;
                END IF;
                UPDATE portcullis.device_key k
                SET public_key = new_public_key, app = new_app, environment = new_environment,
                    trust_root = new_trust_root, counter = greatest(k.counter, new_counter),
                    validation_category = new_category, bundle_version = new_version
                WHERE k.key_id = id AND k.revoked_at IS NULL;
                IF FOUND THEN
                    INSERT INTO portcullis.receipt VALUES (id, new_receipt)
                    ON CONFLICT (key_id) DO UPDATE SET receipt = new_receipt;
                    RETURN 1;
                END IF;
                PERFORM 1 FROM portcullis.device_key k WHERE k.key_id = id;
                IF FOUND THEN RETURN 2; END IF;
                -- It was forgotten between two of these statements.
            END LOOP;
        END $$;

        CREATE FUNCTION portcullis.revoke_key(id bytea, why text, revoked int8) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE portcullis.device_key k
            SET revoked_at = coalesce(k.revoked_at, revoked),
                revocation_reason = CASE
                    WHEN k.revoked_at IS NULL OR k.revocation_reason = '\(DeviceKey.erasingReason)' THEN why
                    ELSE k.revocation_reason END
            WHERE k.key_id = id;
            IF NOT FOUND THEN RETURN false; END IF;
            PERFORM portcullis.note(1, id);
            RETURN true;
        END $$;

        CREATE FUNCTION portcullis.restore_key(id bytea) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            -- Of an erased key nothing is left to restore: its device may register it again.
            DELETE FROM portcullis.device_key k WHERE k.key_id = id AND octet_length(k.public_key) = 0;
            IF NOT FOUND THEN
                UPDATE portcullis.device_key k SET revoked_at = NULL, revocation_reason = NULL WHERE k.key_id = id;
                IF NOT FOUND THEN RETURN false; END IF;
            END IF;
            PERFORM portcullis.note(1, id);
            RETURN true;
        END $$;

        -- 0 forgotten, 1 unknown, 2 refused because it is revoked
        CREATE FUNCTION portcullis.forget_key(id bytea) RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM portcullis.device_key k WHERE k.key_id = id AND k.revoked_at IS NULL;
            IF FOUND THEN
                PERFORM portcullis.note(1, id);
                RETURN 0;
            END IF;
            PERFORM 1 FROM portcullis.device_key k WHERE k.key_id = id;
            RETURN CASE WHEN FOUND THEN 2 ELSE 1 END;
        END $$;

        """

    static let maintenanceFunctions = """
        CREATE FUNCTION portcullis.begin_erasure(id bytea, erased int8) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE portcullis.device_key k SET revoked_at = erased, revocation_reason = '\(DeviceKey.erasingReason)'
            WHERE k.key_id = id AND k.revoked_at IS NULL;
            IF FOUND THEN
                PERFORM portcullis.note(1, id);
                RETURN true;
            END IF;
            PERFORM 1 FROM portcullis.device_key k
            WHERE k.key_id = id AND k.revocation_reason = '\(DeviceKey.erasingReason)';
            RETURN FOUND;
        END $$;

        -- key: 0 unknown, 1 removed, 2 reduced to its revocation
        CREATE FUNCTION portcullis.finish_erasure(id bytea, OUT key int8, OUT places int8) LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM portcullis.development_place p WHERE p.device = id;
            GET DIAGNOSTICS places = ROW_COUNT;
            DELETE FROM portcullis.device_key k
            WHERE k.key_id = id AND (k.revoked_at IS NULL OR k.revocation_reason = '\(DeviceKey.erasingReason)');
            IF FOUND THEN
                key := 1;
                PERFORM portcullis.note(1, id);
                RETURN;
            END IF;
            UPDATE portcullis.device_key k
            SET public_key = '', app = '', environment = '', trust_root = '', counter = 0, validation_category = NULL,
                bundle_version = NULL, registered_at = 0, last_used_at = NULL,
                revocation_reason = '\(DeviceKey.erasedReason)'
            WHERE k.key_id = id;
            key := CASE WHEN FOUND THEN 2 ELSE 0 END;
            UPDATE portcullis.receipt r SET receipt = '' WHERE r.key_id = id;
        END $$;

        -- The rule is DeviceKey.isIdle. All rows are deleted before the first note, which takes the lock that every change waits for.
        CREATE FUNCTION portcullis.prune_keys(ids bytea[], idle_since int8) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
        DECLARE
            gone bytea[];
        BEGIN
            WITH deleted AS (
                DELETE FROM portcullis.device_key k WHERE k.key_id = ANY (ids) AND k.revoked_at IS NULL
                    AND greatest(k.registered_at, k.last_used_at) < idle_since
                RETURNING k.key_id)
            SELECT array_agg(d.key_id) INTO gone FROM deleted d;
            PERFORM portcullis.note(1, g) FROM unnest(gone) g;
            RETURN QUERY SELECT unnest(gone);
        END $$;

        -- Keeps the newest changes only. Who has missed a forgotten one reads everything again.
        CREATE FUNCTION portcullis.forget_changes(kept int8) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            bound int8;
        BEGIN
            SELECT max(c.seq) - kept INTO bound FROM portcullis.changes c;
            UPDATE portcullis.feed f SET forgotten_through = bound WHERE f.forgotten_through < bound;
            IF FOUND THEN DELETE FROM portcullis.changes c WHERE c.seq <= bound; END IF;
        END $$;

        """
}
