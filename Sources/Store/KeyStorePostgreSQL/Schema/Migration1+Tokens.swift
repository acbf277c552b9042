extension PostgreSQLSchema.Migration {
    static let tokenFunctions = """
        -- 0 granted (then name and routes), 1 unknown, 2 expired, 3 revoked, 4 device limit.
        -- The rule is DevelopmentToken.status(forKnownDevice:at:).
        CREATE FUNCTION portcullis.redeem(
            hash bytea, place_device bytea, used_at int8, OUT standing int8, OUT token_name text, OUT token_routes text
        ) LANGUAGE plpgsql AS $$
        DECLARE
            token record;
            is_known boolean;
            devices int8;
        BEGIN
            -- Anyone can send invalid tokens, so refusing them takes no lock.
            SELECT t.revoked_at, t.expires_at INTO token FROM portcullis.development_token t WHERE t.token_hash = hash;
            IF FOUND AND token.revoked_at IS NULL AND used_at < token.expires_at THEN
                SELECT t.* INTO token FROM portcullis.development_token t WHERE t.token_hash = hash FOR UPDATE;
            END IF;
            IF NOT FOUND THEN standing := 1; RETURN; END IF;
            IF token.revoked_at IS NOT NULL THEN standing := 3; RETURN; END IF;
            IF used_at >= token.expires_at THEN standing := 2; RETURN; END IF;
            SELECT count(*), coalesce(bool_or(p.device = place_device), false) INTO devices, is_known
            FROM portcullis.development_place p WHERE p.token_hash = hash;
            IF NOT is_known AND devices >= token.maximum_devices THEN standing := 4; RETURN; END IF;
            INSERT INTO portcullis.development_place VALUES (hash, place_device, used_at, used_at)
            ON CONFLICT (token_hash, device) DO UPDATE SET last_used_at = used_at;
            UPDATE portcullis.development_token t SET last_used_at = used_at WHERE t.token_hash = hash;
            standing := 0;
            token_name := token.name;
            token_routes := token.routes;
        END $$;

        -- 0 issued, 1 repeated, 2 full
        CREATE FUNCTION portcullis.issue_token(
            hash bytea, new_id text, new_name text, new_routes text, devices int8, issued int8, expires int8,
            revoked int8, used int8, forgotten_before int8, maximum int8
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(1346587474, 4);
            DELETE FROM portcullis.development_token t
            WHERE least(t.expires_at, coalesce(t.revoked_at, t.expires_at)) < forgotten_before;
            PERFORM 1 FROM portcullis.development_token t WHERE t.id = new_id OR t.token_hash = hash;
            IF FOUND THEN RETURN 1; END IF;
            IF (SELECT count(*) FROM portcullis.development_token) >= maximum THEN RETURN 2; END IF;
            INSERT INTO portcullis.development_token
            VALUES (hash, new_id, new_name, new_routes, devices, issued, expires, revoked, used);
            PERFORM portcullis.note(2, convert_to(new_id, 'UTF8'));
            RETURN 0;
        END $$;

        CREATE FUNCTION portcullis.revoke_token(token_id text, revoked int8) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE portcullis.development_token t SET revoked_at = coalesce(t.revoked_at, revoked) WHERE t.id = token_id;
            IF NOT FOUND THEN RETURN false; END IF;
            PERFORM portcullis.note(2, convert_to(token_id, 'UTF8'));
            RETURN true;
        END $$;

        -- False if the version isn't the expected one any more.
        CREATE FUNCTION portcullis.replace_signing_keys(
            expected int8, ids text[], secrets bytea[], published int8[], signing int8[], revoked int8[]
        ) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE portcullis.signing_state s SET version = s.version + 1 WHERE s.version = expected;
            IF NOT FOUND THEN RETURN false; END IF;
            DELETE FROM portcullis.signing_key;
            INSERT INTO portcullis.signing_key SELECT * FROM unnest(ids, secrets, published, signing, revoked);
            PERFORM portcullis.note(3, '');
            RETURN true;
        END $$;

        CREATE FUNCTION portcullis.secret_of(secret_name text, fresh bytea) RETURNS bytea LANGUAGE plpgsql AS $$
        DECLARE
            stored bytea;
        BEGIN
            INSERT INTO portcullis.secret VALUES (secret_name, fresh) ON CONFLICT DO NOTHING;
            SELECT s.value INTO STRICT stored FROM portcullis.secret s WHERE s.name = secret_name;
            RETURN stored;
        END $$;

        """
}
