extension PostgreSQLSchema.Migration {
    /// Housekeeping that costs the same however many gateways there are: one of them does it at a time, and nothing is
    /// read that needn't be.
    ///
    /// Programs of before go on with `forget_marks` and `forget_changes`, which have become cheaper for them, too. They
    /// don't know of the election.
    static let housekeeping = Self(oldest: 1, script: election + forgettingMarks + forgettingChanges)

    /// It writes no log: after a crash of the server the table is empty, and the first gateway that asks is elected.
    private static let election = """
        CREATE UNLOGGED TABLE portcullis.upkeep (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            began timestamptz NOT NULL
        ) WITH (fillfactor = 50);

        -- Whether the caller is to do it now: the last one began so long ago, or as long in the future, by a clock that was ahead.
        CREATE FUNCTION portcullis.begin_upkeep(pause int8) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            present timestamptz := clock_timestamp();
            length interval := pause * interval '1 millisecond';
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            -- Whoever asks at the same moment finds the row locked, or no longer due.
            PERFORM 1 FROM portcullis.upkeep u WHERE u.began NOT BETWEEN present - length AND present + length
            FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                UPDATE portcullis.upkeep SET began = present;
                RETURN true;
            END IF;
            PERFORM 1 FROM portcullis.upkeep;
            IF FOUND THEN RETURN false; END IF;
            INSERT INTO portcullis.upkeep (began) VALUES (present) ON CONFLICT DO NOTHING;
            RETURN FOUND;
        END $$;

        """

    /// The smallest row of the two tables: its pointer (4), its header (24), and a mark of one byte between two numbers
    /// (24). Divided by it, a table's size is an upper bound of its rows.
    private static let smallestRow = 52

    /// As before, but rows are counted only if there may be too many.
    private static let forgettingMarks = """
        CREATE OR REPLACE FUNCTION portcullis.forget_marks(expired_at int8, maximum int8, batch int8)
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
            PERFORM 1 FROM portcullis.home FOR UPDATE SKIP LOCKED; IF NOT FOUND THEN RETURN 0; END IF;
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
                kept := (pg_relation_size('portcullis.spent') + pg_relation_size('portcullis.ticket')) / \(smallestRow);
                IF kept > maximum THEN
                    SELECT count(*) INTO kept FROM (
                        (SELECT 1 FROM portcullis.spent LIMIT maximum + 1)
                        UNION ALL (SELECT 1 FROM portcullis.ticket LIMIT maximum + 1)) a;
                END IF;
                UPDATE portcullis.home h SET is_full = kept > maximum WHERE h.is_full <> (kept > maximum);
            END IF;
            RETURN gone + more;
        END $$;

        """

    /// Entries of one transaction: whoever makes a change waits for it.
    private static let forgottenChanges = 10_000

    private static let forgettingChanges = """
        CREATE OR REPLACE FUNCTION portcullis.forget_changes(kept int8) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            bound int8;
        BEGIN
            SELECT least(max(c.seq) - kept, min(c.seq) + \(forgottenChanges - 1)) INTO bound FROM portcullis.changes c;
            UPDATE portcullis.feed f SET forgotten_through = bound WHERE f.forgotten_through < bound;
            IF FOUND THEN DELETE FROM portcullis.changes c WHERE c.seq <= bound; END IF;
        END $$;
        """
}
