import KeyStore

extension PostgreSQLSchema.Migration {
    /// Which counters below the highest were used, for assertions that arrive out of order. The rule is `KeyCounters`.
    ///
    /// Programs of before raise the counter alone, by `advance`. What is known of the counters below the highest is
    /// good only for that highest, so after that all of them count as used. Those that may raise a counter may change
    /// its window from here on, so that gateways of this program go on before the script of the roles is run again.
    static let counterWindows = Self(
        oldest: 1, script: columns + useCounter(isGood: "k.window_top = k.counter") + admit + finishErasure())

    private static let columns = """
        ALTER TABLE portcullis.device_key ADD COLUMN window_top int8, ADD COLUMN window_seen int8;
        DO $$ DECLARE raiser record; BEGIN
            FOR raiser IN
                SELECT a.grantee FROM pg_attribute c, aclexplode(c.attacl) a
                WHERE c.attrelid = 'portcullis.device_key'::regclass AND c.attname = 'counter'
                    AND a.privilege_type = 'UPDATE'
            LOOP
                EXECUTE format('GRANT UPDATE (window_top, window_seen) ON portcullis.device_key TO %s',
                    CASE raiser.grantee WHEN 0 THEN 'PUBLIC' ELSE raiser.grantee::regrole::text END);
            END LOOP;
        END $$;

        """

    /// - Parameters:
    ///   - isGood: whether what is known of the counters below the highest of the key `k` is good.
    ///   - noting: what a use writes beside the window, as assignments with their commas.
    static func useCounter(isGood: String, noting: String = "") -> String {
        """
        -- outcome: 0 used, 1 not higher (stored), 2 unknown key, 3 revoked, 4 too high (stored)
        CREATE OR REPLACE FUNCTION portcullis.use_counter(
            id bytea, new_counter int8, used_at int8, closed int8, reach int8, rise int8, OUT outcome int8, OUT stored int8
        ) LANGUAGE plpgsql AS $$
        DECLARE
            known record;
            everything CONSTANT int8 := \(KeyCounters.all);
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            UPDATE portcullis.device_key k SET
                window_seen = CASE WHEN new_counter > k.counter THEN
                    (CASE WHEN new_counter - k.counter < \(KeyCounters.depth)
                        THEN ((CASE WHEN \(isGood) THEN k.window_seen ELSE everything END)
                            << (new_counter - k.counter)::int4) & everything
                        ELSE 0 END)
                    | (CASE WHEN new_counter - k.counter <= \(KeyCounters.depth)
                        THEN 1::int8 << (new_counter - k.counter - 1)::int4
                        ELSE 0 END)
                    | closed
                    ELSE k.window_seen | (1::int8 << (k.counter - new_counter - 1)::int4) END,
                window_top = greatest(k.counter, new_counter), \(noting)counter = greatest(k.counter, new_counter),
                last_used_at = used_at
            WHERE k.key_id = id AND k.revoked_at IS NULL AND CASE
                WHEN new_counter > k.counter THEN new_counter - k.counter <= rise
                WHEN new_counter < k.counter AND k.counter - new_counter < reach AND \(isGood)
                    THEN ((k.window_seen >> (k.counter - new_counter - 1)::int4) & 1) = 0
                ELSE false END;
            IF FOUND THEN outcome := 0; RETURN; END IF;
            SELECT k.counter, k.revoked_at INTO known FROM portcullis.device_key k WHERE k.key_id = id;
            IF NOT FOUND THEN outcome := 2; RETURN; END IF;
            -- The key may have been restored or registered since; then the reason is the one that was true a moment ago.
            stored := known.counter;
            outcome := CASE
                WHEN known.revoked_at IS NOT NULL THEN 3
                WHEN new_counter <= known.counter THEN 1
                WHEN new_counter - known.counter > rise THEN 4
                ELSE 3 END;
        END $$;

        """
    }

    private static let admit = """
        -- spending as spend; only after 0 outcome and stored as use_counter
        CREATE FUNCTION portcullis.admit(
            home_id bytea, mark_kind int8, mark_bytes bytea, mark_expires int8, id bytea, new_counter int8, used_at int8,
            closed int8, reach int8, rise int8, OUT spending int8, OUT outcome int8, OUT stored int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            spending := portcullis.spend(home_id, mark_kind, mark_bytes, mark_expires);
            IF spending = 0 THEN
                SELECT u.outcome, u.stored INTO outcome, stored
                FROM portcullis.use_counter(id, new_counter, used_at, closed, reach, rise) u;
            END IF;
        END $$;

        """

    /// As before, and nothing is left of the counters.
    ///
    /// - Parameter forgetting: what an erasure clears beside the window, as assignments with their commas.
    static func finishErasure(forgetting: String = "") -> String {
        """
        CREATE OR REPLACE FUNCTION portcullis.finish_erasure(id bytea, OUT key int8, OUT places int8)
        LANGUAGE plpgsql AS $$
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
                bundle_version = NULL, registered_at = 0, last_used_at = NULL, window_top = NULL, window_seen = NULL,
                \(forgetting)revocation_reason = '\(DeviceKey.erasedReason)'
            WHERE k.key_id = id;
            key := CASE WHEN FOUND THEN 2 ELSE 0 END;
            UPDATE portcullis.receipt r SET receipt = '' WHERE r.key_id = id;
        END $$;

        """
    }
}
