import KeyStore

extension PostgreSQLSchema.Migration {
    /// The number of each client's sessions at each gateway. It writes no log: after a crash of the server the table is
    /// empty, and each gateway notes all of its clients again.
    ///
    /// A gateway writes its own rows, and of others' rows `evict` alone, one row at a time: so no two of them ever wait
    /// for each other.
    static let holdings = Self(
        oldest: 1,
        script: """
            CREATE UNLOGGED TABLE portcullis.holding (
                holder bytea NOT NULL CHECK (octet_length(holder) = \(HolderMark.byteCount)),
                gateway text NOT NULL,
                sessions int8 NOT NULL CHECK (sessions > 0),
                detached int8 NOT NULL,
                -- Detached sessions that another gateway wants to end.
                evict int8 NOT NULL DEFAULT 0,
                PRIMARY KEY (holder, gateway)
            ) WITH (fillfactor = 70);
            CREATE INDEX holding_gateway ON portcullis.holding (gateway);
            CREATE INDEX holding_evict ON portcullis.holding (gateway) WHERE evict > 0;

            CREATE FUNCTION portcullis.note_holdings(
                of_gateway text, holders bytea[], counts int8[], waiting int8[]
            ) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM set_config('synchronous_commit', 'off', true);
                DELETE FROM portcullis.holding h USING unnest(holders, counts) AS u (holder, sessions)
                WHERE h.gateway = of_gateway AND h.holder = u.holder AND u.sessions = 0;
                INSERT INTO portcullis.holding AS h (holder, gateway, sessions, detached)
                SELECT u.holder, of_gateway, u.sessions, u.detached
                FROM unnest(holders, counts, waiting) AS u (holder, sessions, detached) WHERE u.sessions > 0
                ON CONFLICT (holder, gateway) DO UPDATE
                SET sessions = excluded.sessions, detached = excluded.detached,
                    evict = least(h.evict, excluded.detached);
            END $$;

            CREATE FUNCTION portcullis.make_room(of_holder bytea, of_gateway text, dead_after int8)
            RETURNS boolean LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM set_config('synchronous_commit', 'off', true);
                UPDATE portcullis.holding h SET evict = h.evict + 1
                WHERE h.ctid = (
                    SELECT o.ctid FROM portcullis.holding o JOIN portcullis.gateway g ON g.id = o.gateway
                    WHERE o.holder = of_holder AND o.gateway <> of_gateway AND o.detached > o.evict
                        AND g.heartbeat >= clock_timestamp() - dead_after * interval '1 millisecond'
                    LIMIT 1 FOR UPDATE OF o SKIP LOCKED);
                RETURN FOUND;
            END $$;
            """)
}
