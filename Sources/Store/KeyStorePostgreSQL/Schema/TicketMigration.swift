extension PostgreSQLSchema.Migration {
    /// Tickets that several clients use at once: the row counts down, so that each use is one step, and a lost answer
    /// costs one use.
    ///
    /// Programs of before take a ticket with several uses out whole, and put back one whose content says one use less.
    /// They go on beside this one:
    /// - What they keep has one use in its row. Whoever takes it, of either version, puts the rest back; this program
    ///   puts it back as a row that counts.
    /// - What this program keeps says in its content that it has one use. They take one from the row, with the
    ///   `take_ticket` that they know, and find nothing left to put back.
    /// - What a route refused they put back with the `keep_ticket` that they know: it adds a use to the row, if there
    ///   still is one.
    ///
    /// To count, a role has to be allowed to change the column. Those that may take tickets now get this right here,
    /// so that they can go on before the script of the roles is run again.
    static let tickets = Self(oldest: 1, script: column + keeping + taking)

    private static let column = """
        ALTER TABLE portcullis.ticket ADD COLUMN uses int8 NOT NULL DEFAULT 1 CHECK (uses > 0);
        DO $$ DECLARE taker record; BEGIN
            FOR taker IN
                SELECT DISTINCT a.grantee FROM pg_class c, aclexplode(c.relacl) a
                WHERE c.oid = 'portcullis.ticket'::regclass AND a.privilege_type = 'DELETE' AND a.grantee <> c.relowner
            LOOP
                EXECUTE format('GRANT UPDATE (uses) ON portcullis.ticket TO %s',
                    CASE taker.grantee WHEN 0 THEN 'PUBLIC' ELSE taker.grantee::regrole::text END);
            END LOOP;
        END $$;

        """

    private static let keeping = """
        -- As spend: 0 kept, 1 there is one already, 2 foreign, 3 expired, 4 full.
        CREATE FUNCTION portcullis.keep_ticket(
            home_id bytea, ticket_hash bytea, content bytea, ticket_expires int8, ticket_uses int8
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            state record;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            SELECT h.forgotten, h.is_full INTO state FROM portcullis.home h
            WHERE h.incarnation = home_id AND h.place = portcullis.home_place(true);
            IF NOT FOUND THEN RETURN 2; END IF;
            IF ticket_expires <= state.forgotten THEN RETURN 3; END IF;
            IF state.is_full THEN RETURN 4; END IF;
            INSERT INTO portcullis.ticket (hash, sealed, expires, uses)
            VALUES (ticket_hash, content, ticket_expires, ticket_uses)
            ON CONFLICT DO NOTHING;
            RETURN CASE WHEN FOUND THEN 0 ELSE 1 END;
        END $$;

        -- Puts one use back. The row is there, unless the use was its last one.
        CREATE FUNCTION portcullis.return_ticket(home_id bytea, ticket_hash bytea, content bytea, ticket_expires int8)
        RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            outcome int8;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            -- Others may take and return the same ticket between the two steps.
            LOOP
                UPDATE portcullis.ticket t SET uses = t.uses + 1
                WHERE t.hash = ticket_hash AND EXISTS (
                    SELECT 1 FROM portcullis.home h
                    WHERE h.incarnation = home_id AND h.place = portcullis.home_place(true));
                IF FOUND THEN RETURN 0; END IF;
                outcome := portcullis.keep_ticket(home_id, ticket_hash, content, ticket_expires, 1);
                IF outcome <> 1 THEN RETURN outcome; END IF;
            END LOOP;
        END $$;

        CREATE OR REPLACE FUNCTION portcullis.keep_ticket(
            home_id bytea, ticket_hash bytea, content bytea, ticket_expires int8
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            RETURN portcullis.return_ticket(home_id, ticket_hash, content, ticket_expires);
        END $$;

        """

    /// The row's lock makes one step of finding out and counting.
    private static let taking = """
        -- Nulls: there is none.
        CREATE FUNCTION portcullis.use_ticket(
            home_id bytea, ticket_hash bytea, OUT sealed bytea, OUT expires int8, OUT remaining int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            SELECT t.sealed, t.expires, t.uses - 1 INTO sealed, expires, remaining FROM portcullis.ticket t
            WHERE t.hash = ticket_hash AND EXISTS (
                SELECT 1 FROM portcullis.home h
                WHERE h.incarnation = home_id AND h.place = portcullis.home_place(true))
            FOR UPDATE OF t;
            IF remaining > 0 THEN
                UPDATE portcullis.ticket t SET uses = remaining WHERE t.hash = ticket_hash;
            ELSE
                DELETE FROM portcullis.ticket t WHERE t.hash = ticket_hash AND remaining = 0;
            END IF;
        END $$;

        CREATE OR REPLACE FUNCTION portcullis.take_ticket(
            home_id bytea, ticket_hash bytea, OUT sealed bytea, OUT expires int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            SELECT u.sealed, u.expires INTO sealed, expires FROM portcullis.use_ticket(home_id, ticket_hash) u;
        END $$;
        """
}
