extension PostgreSQLSchema.Migration {
    /// The window in force and its epoch. The rule is `WindowInForce`.
    ///
    /// What is known of the counters below a key's highest is good only in the epoch in which it was written. Nothing
    /// says in which one it was written before, so all counters below the highest count as used until it rises again.
    /// Gateways of before call the same functions, and so write in the epoch, too. Those that may raise a counter may
    /// put a window in force from here on, so that gateways of this program go on before the script of the roles is run
    /// again.
    static let windowsInForce = Self(
        oldest: 1,
        script: inForce + useCounter(isGood: isGood, noting: "window_epoch = \(epoch), ")
            + finishErasure(forgetting: "window_epoch = NULL, "))

    private static let inForce = """
        ALTER TABLE portcullis.device_key ADD COLUMN IF NOT EXISTS window_epoch int8;
        CREATE TABLE IF NOT EXISTS portcullis.counter_window (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            size int8 NOT NULL,
            epoch int8 NOT NULL
        );
        INSERT INTO portcullis.counter_window (size, epoch) VALUES (0, 0) ON CONFLICT DO NOTHING;
        DO $$ DECLARE raiser record; BEGIN
            FOR raiser IN
                SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS name
                FROM (
                    SELECT c.relacl AS rights FROM pg_class c WHERE c.oid = 'portcullis.device_key'::regclass
                    UNION ALL
                    SELECT c.attacl FROM pg_attribute c
                    WHERE c.attrelid = 'portcullis.device_key'::regclass AND c.attname = 'counter'
                ) given, aclexplode(given.rights) a
                WHERE a.privilege_type = 'UPDATE'
            LOOP
                EXECUTE format('GRANT UPDATE (window_top, window_seen, window_epoch) ON portcullis.device_key TO %s',
                    raiser.name);
                EXECUTE format('GRANT SELECT, UPDATE (size, epoch) ON portcullis.counter_window TO %s', raiser.name);
            END LOOP;
        END $$;

        """

    private static let epoch = "(SELECT w.epoch FROM portcullis.counter_window w)"

    /// A use that waits for another one of the same key compares its result with the epoch that it has seen itself:
    /// where an epoch has begun meanwhile, nothing is good.
    private static let isGood = "k.window_top = k.counter AND k.window_epoch = \(epoch)"
}
