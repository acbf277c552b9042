extension PostgreSQLSchema.Migration {
    /// Which gateway has which session. It writes no log: after a crash of the server the table is empty, and its
    /// gateways announce their sessions again.
    static let sessions = Self(
        oldest: 1,
        script: """
            CREATE UNLOGGED TABLE portcullis.session (
                mark bytea PRIMARY KEY CHECK (octet_length(mark) = 32),
                gateway text NOT NULL
            );
            CREATE INDEX session_gateway ON portcullis.session (gateway);

            -- In the order of the marks, so that two gateways never wait for each other.
            CREATE FUNCTION portcullis.note_sessions(of_gateway text, began bytea[], ended bytea[])
            RETURNS void LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM set_config('synchronous_commit', 'off', true);
                PERFORM 1 FROM portcullis.session s WHERE s.mark = ANY (began || ended) ORDER BY s.mark FOR UPDATE;
                DELETE FROM portcullis.session s WHERE s.mark = ANY (ended) AND s.gateway = of_gateway;
                INSERT INTO portcullis.session (mark, gateway) SELECT b.mark, of_gateway FROM unnest(began) AS b (mark)
                ORDER BY b.mark
                ON CONFLICT (mark) DO UPDATE SET gateway = excluded.gateway
                WHERE portcullis.session.gateway <> excluded.gateway;
            END $$;
            """)
}
