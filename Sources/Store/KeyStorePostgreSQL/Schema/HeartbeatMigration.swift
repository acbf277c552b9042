extension PostgreSQLSchema.Migration {
    /// Heartbeats that cost less: the functions of before with the same parameters and results, also for programs of
    /// before.
    static let heartbeats = Self(oldest: 1, script: milliseconds + reading + beat)

    /// `extract` calculates with numeric, which takes five times as long. A double is good enough: it may round half a
    /// millisecond to the other side, and keeps the order of times.
    private static let milliseconds = """
        CREATE OR REPLACE FUNCTION portcullis.milliseconds(moment timestamptz) RETURNS int8 LANGUAGE sql STABLE AS $$
            SELECT (date_part('epoch', moment) * 1000)::int8
        $$;

        """

    /// It is stable, and so becomes a part of the statement that calls it, whose plan is kept. As a volatile function
    /// it was planned at each call, which took as long as all the rest. The clock and the incarnation are read once,
    /// not for each row.
    private static let reading = """
        -- Those with the newest heartbeats. Rows with other texts are no gateway's.
        CREATE OR REPLACE FUNCTION portcullis.members(maximum int8) RETURNS SETOF portcullis.member
        LANGUAGE sql STABLE AS $$
            SELECT g.id, g.name, g.version, g.schema, g.state, g.sessions, g.connections, g.lag, g.address,
                portcullis.milliseconds(g.started), portcullis.milliseconds(g.heartbeat),
                (SELECT portcullis.milliseconds(clock_timestamp())),
                (SELECT portcullis.milliseconds(coalesce(
                    (SELECT CASE WHEN h.began_of = h.incarnation THEN h.began ELSE h.made END FROM portcullis.home h),
                    clock_timestamp()))),
                g.announced, (SELECT h.incarnation FROM portcullis.home h)
            FROM portcullis.gateway g
            WHERE portcullis.is_plain(g.id) AND portcullis.is_plain(g.name) AND portcullis.is_plain(g.version)
                AND portcullis.is_plain(coalesce(g.address, ''))
            ORDER BY g.heartbeat DESC LIMIT maximum
        $$;

        """

    /// Each statement of it sees what the one before has written. The limits are calculated once, not for each row.
    private static let beat = """
        -- Also joins, and joins again after the row was lost: then what was announced may be lost, too. A process may go on with the row of another one.
        CREATE OR REPLACE FUNCTION portcullis.beat(
            member_id text, member_name text, member_version text, member_schema int8, uptime int8,
            member_state int8, member_sessions int8, member_connections int8, member_lag int8, member_address text,
            dead_after int8, forgotten_after int8, maximum int8, announced_in bytea, found_at int8
        ) RETURNS SETOF portcullis.member LANGUAGE plpgsql AS $$
        DECLARE
            present timestamptz;
            dead_before timestamptz;
            forgotten_before timestamptz;
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
            present := clock_timestamp();
            dead_before := present - dead_after * interval '1 millisecond';
            forgotten_before := present - forgotten_after * interval '1 millisecond';
            -- Those that this one replaces, and those that nobody has replaced for long. Another gateway may be deleting the same ones.
            DELETE FROM portcullis.gateway WHERE ctid = ANY (ARRAY(
                SELECT g.ctid FROM portcullis.gateway g
                WHERE g.heartbeat < forgotten_before
                    OR g.heartbeat < dead_before AND g.name = member_name AND g.id <> member_id
                FOR UPDATE SKIP LOCKED));
            RETURN QUERY SELECT m.* FROM portcullis.members(maximum) m;
        END $$;

        """
}
