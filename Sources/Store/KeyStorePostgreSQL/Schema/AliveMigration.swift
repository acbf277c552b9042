import KeyStore

extension PostgreSQLSchema.Migration {
    /// Who is alive, and whether the lack of a session's row means anything.
    ///
    /// A row of `home` that was made after a crash, a failover, a restore or `TRUNCATE` has no `began`: it began when
    /// it was made. Before, such a store never counted as settled, and no gateway in it as dead; the functions of this
    /// version read existing rows rightly.
    ///
    /// A program of version 1 works with it: its `beat` has other parameters, and its gateways count as having
    /// announced everything.
    static let alive = Self(oldest: 1, script: columns + membersWithLoss + beat + finding + forgetting)

    /// The first version whose gateways say what they have announced.
    static let announcing = 7

    private static let columns = """
        -- The incarnation in which all of the gateway's sessions have their rows; null: not yet, or some are late.
        ALTER TABLE portcullis.gateway ADD COLUMN announced bytea,
            -- When the gateway found that, in Unix milliseconds: a heartbeat may come late.
            ADD COLUMN announced_at int8,
            ADD CHECK (isfinite(started) AND isfinite(heartbeat));
        ALTER TYPE portcullis.member ADD ATTRIBUTE announced bytea, ADD ATTRIBUTE incarnation bytea;

        """

    private static let membersWithLoss = """
        -- Whether it is a text that a gateway writes of itself: short, and ASCII, which costs little to compare.
        CREATE FUNCTION portcullis.is_plain(value text) RETURNS boolean IMMUTABLE LANGUAGE sql AS $$
            SELECT octet_length(value) <= \(GatewayMember.maximumTextBytes) AND octet_length(value) = char_length(value)
        $$;

        -- Those with the newest heartbeats. Rows with other texts are no gateway's.
        CREATE OR REPLACE FUNCTION portcullis.members(maximum int8) RETURNS SETOF portcullis.member LANGUAGE sql AS $$
            SELECT g.id, g.name, g.version, g.schema, g.state, g.sessions, g.connections, g.lag, g.address,
                portcullis.milliseconds(g.started), portcullis.milliseconds(g.heartbeat),
                portcullis.milliseconds(clock_timestamp()),
                portcullis.milliseconds(coalesce(
                    CASE WHEN h.began_of = h.incarnation THEN h.began ELSE h.made END, clock_timestamp())),
                g.announced, h.incarnation
            FROM portcullis.gateway g LEFT JOIN portcullis.home h ON true
            WHERE portcullis.is_plain(g.id) AND portcullis.is_plain(g.name) AND portcullis.is_plain(g.version)
                AND portcullis.is_plain(coalesce(g.address, ''))
            ORDER BY g.heartbeat DESC LIMIT maximum
        $$;

        """

    private static let beat = """
        -- Also joins, and joins again after the row was lost: then what was announced may be lost, too. A process may go on with the row of another one.
        CREATE FUNCTION portcullis.beat(
            member_id text, member_name text, member_version text, member_schema int8, uptime int8,
            member_state int8, member_sessions int8, member_connections int8, member_lag int8, member_address text,
            dead_after int8, forgotten_after int8, maximum int8, announced_in bytea, found_at int8
        ) RETURNS SETOF portcullis.member LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            PERFORM portcullis.incarnation();
            INSERT INTO portcullis.gateway AS g VALUES (
                member_id, member_name, member_version, member_schema, member_state, member_sessions,
                member_connections, member_lag, member_address,
                clock_timestamp() - uptime * interval '1 millisecond', clock_timestamp(), NULL, NULL)
            ON CONFLICT (id) DO UPDATE
            SET name = excluded.name, version = excluded.version, schema = excluded.schema, state = excluded.state,
                sessions = excluded.sessions, connections = excluded.connections, lag = excluded.lag,
                address = excluded.address, started = greatest(g.started, excluded.started), heartbeat = excluded.heartbeat,
                announced = announced_in, announced_at = found_at;
            -- Those that this one replaces, and those that nobody has replaced for long. Another gateway may be deleting the same ones.
            DELETE FROM portcullis.gateway WHERE ctid = ANY (ARRAY(
                SELECT g.ctid FROM portcullis.gateway g
                WHERE g.heartbeat < clock_timestamp() - forgotten_after * interval '1 millisecond'
                    OR g.name = member_name AND g.id <> member_id
                        AND g.heartbeat < clock_timestamp() - dead_after * interval '1 millisecond'
                FOR UPDATE SKIP LOCKED));
            RETURN QUERY SELECT m.* FROM portcullis.members(maximum) m;
        END $$;

        """

    /// One moment's view: a stable function reads with its caller's snapshot.
    private static let finding = """
        -- The gateway of a session, null: it has no row; its address, null: the gateway has no row; milliseconds since its heartbeat, and since the
        -- incarnation began; and, if nobody has the session, the gateways that may have sessions without rows.
        CREATE FUNCTION portcullis.find_session(
            session_mark bytea, late_after int8,
            OUT holder text, OUT address text, OUT silence int8, OUT lived int8, OUT doubtful text[]
        ) LANGUAGE plpgsql STABLE AS $$
        DECLARE
            present timestamptz := clock_timestamp();
            home record;
        BEGIN
            SELECT s.gateway INTO holder FROM portcullis.session s WHERE s.mark = session_mark;
            SELECT g.address, portcullis.milliseconds(present) - portcullis.milliseconds(g.heartbeat)
            INTO address, silence FROM portcullis.gateway g WHERE g.id = holder;
            SELECT h.incarnation, CASE WHEN h.began_of = h.incarnation THEN h.began ELSE h.made END AS began INTO home
            FROM portcullis.home h;
            lived := portcullis.milliseconds(present) - portcullis.milliseconds(coalesce(home.began, present));
            IF holder IS NULL THEN
                doubtful := ARRAY(
                    SELECT g.id FROM portcullis.gateway g
                    WHERE g.schema >= \(announcing) AND portcullis.is_plain(g.id)
                        AND (g.announced IS DISTINCT FROM home.incarnation
                            OR coalesce(g.announced_at, 0) < portcullis.milliseconds(present) - late_after)
                    LIMIT \(GatewayMembers.maximum));
            END IF;
        END $$;

        """

    /// The rows are locked first, and their gateways looked for after that: one that has come back writes its rows
    /// again behind this.
    private static let forgetting = """
        -- Sessions of gateways that the store has forgotten, a part at a time. The index gives each gateway once, however many sessions it has.
        CREATE FUNCTION portcullis.forget_lost_sessions(maximum int8) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            lost bytea[];
        BEGIN
            PERFORM set_config('synchronous_commit', 'off', true);
            WITH RECURSIVE holder AS (
                SELECT min(s.gateway) AS id FROM portcullis.session s
                UNION ALL
                SELECT (SELECT min(s.gateway) FROM portcullis.session s WHERE s.gateway > h.id) FROM holder h
                WHERE h.id IS NOT NULL),
            missing AS MATERIALIZED (
                SELECT h.id FROM holder h
                WHERE h.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM portcullis.gateway g WHERE g.id = h.id)),
            locked AS (
                SELECT o.mark FROM portcullis.session o JOIN missing m ON m.id = o.gateway
                LIMIT maximum FOR UPDATE OF o SKIP LOCKED)
            SELECT array_agg(l.mark) INTO lost FROM locked l;
            DELETE FROM portcullis.session s WHERE s.mark = ANY (lost)
                AND NOT EXISTS (SELECT 1 FROM portcullis.gateway g WHERE g.id = s.gateway);
        END $$;

        """
}
