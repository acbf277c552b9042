extension PostgreSQLSchema.Migration {
    /// The fleet's gateways. Heartbeats write no log: after a crash of the server the table is empty, and every gateway
    /// is back in it after a second.
    ///
    /// A program of version 1 works with it; it has no row.
    static let members = Self(
        oldest: 1,
        script: """
            CREATE UNLOGGED TABLE portcullis.gateway (
                id text PRIMARY KEY,
                name text NOT NULL,
                version text NOT NULL,
                schema int8 NOT NULL,
                state int8 NOT NULL,
                sessions int8 NOT NULL,
                connections int8 NOT NULL,
                lag int8,
                address text,
                started timestamptz NOT NULL,
                heartbeat timestamptz NOT NULL
            ) WITH (fillfactor = 50);

            -- Times in Unix milliseconds of the server's clock.
            CREATE TYPE portcullis.member AS (
                id text, name text, version text, schema int8, state int8, sessions int8, connections int8, lag int8,
                address text, started int8, heartbeat int8, read_at int8, began int8
            );

            CREATE FUNCTION portcullis.milliseconds(moment timestamptz) RETURNS int8 LANGUAGE sql STABLE AS $$
                SELECT (extract(epoch FROM moment) * 1000)::int8
            $$;

            -- Those with the newest heartbeats.
            CREATE FUNCTION portcullis.members(maximum int8) RETURNS SETOF portcullis.member LANGUAGE sql AS $$
                SELECT g.id, g.name, g.version, g.schema, g.state, g.sessions, g.connections, g.lag, g.address,
                    portcullis.milliseconds(g.started), portcullis.milliseconds(g.heartbeat),
                    portcullis.milliseconds(clock_timestamp()),
                    portcullis.milliseconds(coalesce((SELECT h.began FROM portcullis.home h), clock_timestamp()))
                FROM portcullis.gateway g ORDER BY g.heartbeat DESC LIMIT maximum
            $$;

            -- Also joins, and joins again after the row was lost.
            CREATE FUNCTION portcullis.beat(
                member_id text, member_name text, member_version text, member_schema int8, uptime int8,
                member_state int8, member_sessions int8, member_connections int8, member_lag int8, member_address text,
                dead_after int8, forgotten_after int8, maximum int8
            ) RETURNS SETOF portcullis.member LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM set_config('synchronous_commit', 'off', true);
                INSERT INTO portcullis.gateway AS g VALUES (
                    member_id, member_name, member_version, member_schema, member_state, member_sessions,
                    member_connections, member_lag, member_address,
                    clock_timestamp() - uptime * interval '1 millisecond', clock_timestamp())
                ON CONFLICT (id) DO UPDATE
                SET state = excluded.state, sessions = excluded.sessions, connections = excluded.connections,
                    lag = excluded.lag, address = excluded.address, heartbeat = excluded.heartbeat;
                -- Those that this one replaces, and those that nobody has replaced for long. Another gateway may be deleting the same ones.
                DELETE FROM portcullis.gateway WHERE ctid = ANY (ARRAY(
                    SELECT g.ctid FROM portcullis.gateway g
                    WHERE g.heartbeat < clock_timestamp() - forgotten_after * interval '1 millisecond'
                        OR g.name = member_name AND g.id <> member_id
                            AND g.heartbeat < clock_timestamp() - dead_after * interval '1 millisecond'
                    FOR UPDATE SKIP LOCKED));
                RETURN QUERY SELECT m.* FROM portcullis.members(maximum) m;
            END $$;

            CREATE FUNCTION portcullis.leave(member_id text) RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM set_config('synchronous_commit', 'off', true);
                DELETE FROM portcullis.gateway g WHERE g.id = member_id;
                RETURN FOUND;
            END $$;
            """)
}
