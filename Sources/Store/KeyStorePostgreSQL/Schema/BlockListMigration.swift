extension PostgreSQLSchema.Migration {
    /// The fleet's block list. A change and its entry in the feed are one transaction, under the feed's lock, so that
    /// the maximum holds.
    static let blockList = Self(
        oldest: 1,
        script: """
            CREATE TABLE portcullis.block (
                entry text PRIMARY KEY CHECK (octet_length(entry) <= \(FleetBlockList.maximumEntryBytes)),
                reason text CHECK (octet_length(reason) <= \(FleetBlockList.maximumReasonBytes)),
                added_at int8 NOT NULL
            );

            -- The number of entries that are new, or -1 if there would be too many. Those that are there already stay as they are.
            CREATE FUNCTION portcullis.block(entries text[], why text, moment int8, maximum int8)
            RETURNS int8 LANGUAGE plpgsql AS $$
            DECLARE added int8;
            BEGIN
                PERFORM pg_advisory_xact_lock(1346587474, 2);
                IF (SELECT count(*) FROM (
                    SELECT b.entry FROM portcullis.block b UNION SELECT unnest(entries)) AS u) > maximum
                THEN RETURN -1; END IF;
                INSERT INTO portcullis.block SELECT DISTINCT e, why, moment FROM unnest(entries) AS e
                ON CONFLICT DO NOTHING;
                GET DIAGNOSTICS added = ROW_COUNT;
                IF added > 0 THEN PERFORM portcullis.note(\(StoreChanges.Kind.blockList.rawValue), ''::bytea); END IF;
                RETURN added;
            END $$;

            CREATE FUNCTION portcullis.unblock(entries text[]) RETURNS int8 LANGUAGE plpgsql AS $$
            DECLARE removed int8;
            BEGIN
                PERFORM pg_advisory_xact_lock(1346587474, 2);
                DELETE FROM portcullis.block b WHERE b.entry = ANY (entries);
                GET DIAGNOSTICS removed = ROW_COUNT;
                IF removed > 0 THEN PERFORM portcullis.note(\(StoreChanges.Kind.blockList.rawValue), ''::bytea); END IF;
                RETURN removed;
            END $$;
            """)
}
