extension PostgreSQLSchema.Migration {
    /// What was forgotten may be later than the server's clock by so much: more than gateways' clocks differ from it.
    static let aheadMilliseconds = 10_000

    /// A function is one transaction for its caller, and each of its statements sees what was committed before that
    /// statement.
    ///
    /// Results are numbers, as in `PostgreSQLKeyRegistry`. What is lost only together with the incarnation doesn't wait
    /// for the disk.
    static let incarnationFunctions = """
        CREATE FUNCTION portcullis.incarnation() RETURNS bytea LANGUAGE plpgsql AS $$
        DECLARE
            found_id bytea;
        BEGIN
            SELECT h.incarnation INTO found_id FROM portcullis.home h WHERE h.place = portcullis.home_place(true);
            IF FOUND THEN RETURN found_id; END IF;
            DELETE FROM portcullis.home h WHERE h.place <> portcullis.home_place(true);
            INSERT INTO portcullis.home DEFAULT VALUES ON CONFLICT DO NOTHING;
            SELECT h.incarnation INTO STRICT found_id FROM portcullis.home h;
            RETURN found_id;
        END $$;

        -- Volatile, so that it sees a row that its statement has made.
        CREATE FUNCTION portcullis.incarnation_began(home_id bytea) RETURNS timestamptz LANGUAGE plpgsql AS $$
        DECLARE
            found_at timestamptz;
        BEGIN
            SELECT CASE WHEN h.began_of = h.incarnation THEN h.began ELSE h.made END INTO found_at
            FROM portcullis.home h WHERE h.incarnation = home_id;
            RETURN coalesce(found_at, clock_timestamp());
        END $$;

        -- 0 spent, 1 already spent, 2 foreign, 3 expired, 4 full
        CREATE FUNCTION portcullis.spend(home_id bytea, mark_kind int8, mark_bytes bytea, mark_expires int8)
        RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            state record;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            SELECT h.forgotten, h.is_full INTO state FROM portcullis.home h
            WHERE h.incarnation = home_id AND h.place = portcullis.home_place(true);
            IF NOT FOUND THEN RETURN 2; END IF;
            IF mark_expires <= state.forgotten THEN RETURN 3; END IF;
            IF state.is_full THEN
                PERFORM 1 FROM portcullis.spent s WHERE s.kind = mark_kind AND s.mark = mark_bytes;
                RETURN CASE WHEN FOUND THEN 1 ELSE 4 END;
            END IF;
            INSERT INTO portcullis.spent (kind, mark, expires) VALUES (mark_kind, mark_bytes, mark_expires)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN RETURN 1; END IF;
            -- The insertion may have waited for the deletion of the same mark. Then the limit that allowed the deletion is visible now.
            PERFORM 1 FROM portcullis.home h WHERE h.incarnation = home_id AND h.forgotten < mark_expires;
            RETURN CASE WHEN FOUND THEN 0 ELSE 3 END;
        END $$;

        -- outcome: 0 advanced, 1 not higher (stored), 2 unknown key, 3 revoked
        CREATE FUNCTION portcullis.advance(id bytea, new_counter int8, used_at int8, OUT outcome int8, OUT stored int8)
        LANGUAGE plpgsql AS $$
        DECLARE
            known record;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            UPDATE portcullis.device_key k SET counter = new_counter, last_used_at = used_at
            WHERE k.key_id = id AND k.counter < new_counter AND k.revoked_at IS NULL;
            IF FOUND THEN outcome := 0; RETURN; END IF;
            SELECT k.counter, k.revoked_at INTO known FROM portcullis.device_key k WHERE k.key_id = id;
            IF NOT FOUND THEN outcome := 2; RETURN; END IF;
            -- The key may have been restored or registered since; then the reason is the one that was true a moment ago.
            stored := known.counter;
            outcome := CASE WHEN known.revoked_at IS NULL AND new_counter <= known.counter THEN 1 ELSE 3 END;
        END $$;

        -- spending as spend; only after 0 outcome and stored as advance
        CREATE FUNCTION portcullis.admit(
            home_id bytea, mark_kind int8, mark_bytes bytea, mark_expires int8, id bytea, new_counter int8, used_at int8,
            OUT spending int8, OUT outcome int8, OUT stored int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            spending := portcullis.spend(home_id, mark_kind, mark_bytes, mark_expires);
            IF spending = 0 THEN
                SELECT a.outcome, a.stored INTO outcome, stored FROM portcullis.advance(id, new_counter, used_at) a;
            END IF;
        END $$;

        -- As spend.
        CREATE FUNCTION portcullis.keep_ticket(home_id bytea, ticket_hash bytea, content bytea, ticket_expires int8)
        RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            state record;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            SELECT h.forgotten, h.is_full INTO state FROM portcullis.home h
            WHERE h.incarnation = home_id AND h.place = portcullis.home_place(true);
            IF NOT FOUND THEN RETURN 2; END IF;
            IF ticket_expires <= state.forgotten THEN RETURN 3; END IF;
            IF state.is_full THEN RETURN 4; END IF;
            INSERT INTO portcullis.ticket (hash, sealed, expires) VALUES (ticket_hash, content, ticket_expires)
            ON CONFLICT DO NOTHING;
            RETURN CASE WHEN FOUND THEN 0 ELSE 1 END;
        END $$;

        CREATE FUNCTION portcullis.take_ticket(home_id bytea, ticket_hash bytea, OUT sealed bytea, OUT expires int8)
        LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            DELETE FROM portcullis.ticket t
            WHERE t.hash = ticket_hash AND EXISTS (
                SELECT 1 FROM portcullis.home h
                WHERE h.incarnation = home_id AND h.place = portcullis.home_place(true))
            RETURNING t.sealed, t.expires INTO sealed, expires;
        END $$;

        \(forgettingMarks("CREATE FUNCTION", unlessAlone: "IF NOT pg_try_advisory_xact_lock(1346587474, 3)"))

        """

    /// - Parameters:
    ///   - create: `CREATE FUNCTION`, or that with `OR REPLACE`.
    ///   - unlessAlone: statements up to the condition that another gateway does it now.
    static func forgettingMarks(_ create: String, unlessAlone: String) -> String {
        """
        -- Deletes a bounded number of what has expired; returns how much was deleted.
        \(create) portcullis.forget_marks(expired_at int8, maximum int8, batch int8)
        RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            bound int8;
            gone int8;
            more int8;
            kept int8;
            present int8;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            -- One gateway at a time is enough.
            \(unlessAlone) THEN RETURN 0; END IF;
            present := (extract(epoch FROM clock_timestamp()) * 1000)::int8;
            -- The clock was ahead for a while: everything would count as expired until then. Another incarnation may accept what is new.
            DELETE FROM portcullis.home h WHERE h.forgotten > present + \(aheadMilliseconds);
            IF FOUND THEN RETURN 0; END IF;
            UPDATE portcullis.home h SET forgotten = greatest(h.forgotten, least(expired_at, present)) RETURNING h.forgotten INTO bound;
            IF NOT FOUND THEN RETURN 0; END IF;
            DELETE FROM portcullis.spent WHERE ctid = ANY (ARRAY(
                SELECT s.ctid FROM portcullis.spent s WHERE s.expires <= bound ORDER BY s.expires LIMIT batch));
            GET DIAGNOSTICS gone = ROW_COUNT;
            DELETE FROM portcullis.ticket WHERE ctid = ANY (ARRAY(
                SELECT t.ctid FROM portcullis.ticket t WHERE t.expires <= bound ORDER BY t.expires LIMIT batch));
            GET DIAGNOSTICS more = ROW_COUNT;
            IF gone < batch AND more < batch THEN
                SELECT count(*) INTO kept FROM (
                    (SELECT 1 FROM portcullis.spent LIMIT maximum + 1)
                    UNION ALL (SELECT 1 FROM portcullis.ticket LIMIT maximum + 1)) a;
                UPDATE portcullis.home h SET is_full = kept > maximum WHERE h.is_full <> (kept > maximum);
            END IF;
            RETURN gone + more;
        END $$;
        """
    }
}
