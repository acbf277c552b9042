import KeyStore

extension PostgreSQLSchema.Migration {
    /// Next tickets of sessions, which are valid for as long as their session would be kept: all of a session are used
    /// with one, and those of a client can be found.
    ///
    /// Programs of before issue next tickets without a session, as they do first ones, and take those of this program:
    /// all of the session, too. Those that may change how many uses a ticket has may change its end from here on, so
    /// that gateways of this program go on before the script of the roles is run again.
    static let nextTickets = Self(oldest: 1, script: columns + keeping + taking + ending)

    private static let columns = """
        ALTER TABLE portcullis.ticket
            -- Nulls: no session's next ticket. The SHA-256 of the session's id, the SHA-256 of the client's identity, and when it was kept.
            ADD COLUMN session bytea CHECK (octet_length(session) = \(SessionMark.byteCount)),
            ADD COLUMN holder bytea CHECK (octet_length(holder) = \(HolderMark.byteCount)),
            ADD COLUMN kept timestamptz,
            ADD CHECK ((session IS NULL) = (holder IS NULL) AND (session IS NULL) = (kept IS NULL));
        CREATE INDEX ticket_session ON portcullis.ticket (session) WHERE session IS NOT NULL;
        CREATE INDEX ticket_holder ON portcullis.ticket (holder) WHERE holder IS NOT NULL;
        DO $$ DECLARE taker record; BEGIN
            FOR taker IN
                SELECT DISTINCT a.grantee FROM pg_class c, aclexplode(c.relacl) a
                WHERE c.oid = 'portcullis.ticket'::regclass AND a.privilege_type = 'DELETE' AND a.grantee <> c.relowner
            LOOP
                EXECUTE format('GRANT UPDATE (uses, expires) ON portcullis.ticket TO %s',
                    CASE taker.grantee WHEN 0 THEN 'PUBLIC' ELSE taker.grantee::regrole::text END);
            END LOOP;
        END $$;

        """

    private static let keeping = """
        -- As spend: 0 kept, 1 there is one already, 2 foreign, 3 expired, 4 full. Beside the newest of the session; its older ones go.
        CREATE FUNCTION portcullis.keep_next_ticket(
            home_id bytea, ticket_hash bytea, content bytea, ticket_expires int8, of_session bytea, of_holder bytea
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
            INSERT INTO portcullis.ticket (hash, sealed, expires, session, holder, kept)
            VALUES (ticket_hash, content, ticket_expires, of_session, of_holder, clock_timestamp())
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN RETURN 1; END IF;
            DELETE FROM portcullis.ticket WHERE ctid = ANY (ARRAY(
                SELECT t.ctid FROM portcullis.ticket t WHERE t.session = of_session
                ORDER BY t.kept DESC OFFSET \(KeptTicket.perSession)));
            RETURN 0;
        END $$;

        """

    /// Two tickets of a session that are used at the same moment are locked in one order, and the second one is gone
    /// when its lock comes.
    private static let taking = """
        -- Nulls: there is none.
        CREATE OR REPLACE FUNCTION portcullis.use_ticket(
            home_id bytea, ticket_hash bytea, OUT sealed bytea, OUT expires int8, OUT remaining int8
        ) LANGUAGE plpgsql AS $$
        DECLARE
            of_session bytea;
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            SELECT t.session INTO of_session FROM portcullis.ticket t WHERE t.hash = ticket_hash;
            IF of_session IS NOT NULL THEN
                PERFORM 1 FROM portcullis.ticket t WHERE t.session = of_session ORDER BY t.hash FOR UPDATE;
            END IF;
            SELECT t.sealed, t.expires, t.uses - 1 INTO sealed, expires, remaining FROM portcullis.ticket t
            WHERE t.hash = ticket_hash AND EXISTS (
                SELECT 1 FROM portcullis.home h
                WHERE h.incarnation = home_id AND h.place = portcullis.home_place(true))
            FOR UPDATE OF t;
            IF remaining > 0 THEN
                UPDATE portcullis.ticket t SET uses = remaining WHERE t.hash = ticket_hash;
            ELSIF remaining = 0 THEN
                DELETE FROM portcullis.ticket t WHERE t.hash = ticket_hash OR t.session = of_session;
            END IF;
        END $$;

        """

    private static let ending = """
        -- The session has ended.
        CREATE FUNCTION portcullis.shorten_tickets(of_session bytea, ends_at int8) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            UPDATE portcullis.ticket t SET expires = ends_at WHERE t.session = of_session AND t.expires > ends_at;
        END $$;

        CREATE FUNCTION portcullis.finish_erasure(id bytea, holders bytea[], OUT key int8, OUT places int8)
        LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM portcullis.ticket t WHERE t.holder = ANY (holders);
            SELECT e.key, e.places INTO key, places FROM portcullis.finish_erasure(id) e;
        END $$;
        """
}
