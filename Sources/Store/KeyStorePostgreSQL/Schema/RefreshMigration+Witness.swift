import KeyStore

extension PostgreSQLSchema.Migration {
    /// Gateways are the witnesses of what the database has confirmed. This is the whole rule:
    ///
    /// 1. All families that are good belong to one history, a random name in `refresh_home`. Whenever all families end,
    ///    another one begins.
    /// 2. Every few seconds each gateway beats: it raises a number of its own in the database, durably, and remembers
    ///    the number and the history (`RefreshWitness`). Nobody else raises it.
    /// 3. The database has gone back if it has the gateway's present history with a lower number than the gateway
    ///    remembers, or a history that the gateway remembers as an earlier one. Then all families end.
    /// 4. Of a history that the gateway doesn't know it knows nothing: it takes it up with its next beat.
    ///
    /// A copy is told apart by what it lacks, however much it has written meanwhile: a position in the log of a server
    /// would be overtaken. A crash loses no beat, nor does a standby that every commit waited for: neither system
    /// identifier nor timeline matter here. Several gateways end the families of a copy once: the first one begins a
    /// history in it that the others can't know, whatever they remember of the branch that was left. What was begun in
    /// that history isn't in their branch, so they have nothing to say against it.
    ///
    /// It isn't seen that a copy lacks only what came after the last beat, nor where no gateway remembers more.
    static let witnesses = """
        CREATE TABLE portcullis.refresh_witness (
            id bytea PRIMARY KEY CHECK (octet_length(id) = \(RefreshWitness.nameBytes)),
            beats int8 NOT NULL,
            beat_at int8 NOT NULL
        ) WITH (fillfactor = 50);

        -- Without a witness: false.
        CREATE FUNCTION portcullis.has_gone_back(present bytea, witness bytea, seen int8, histories bytea[])
        RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            place CONSTANT int := array_position(histories, present);
        BEGIN
            IF place IS NULL THEN RETURN false; END IF;
            RETURN place > 1
                OR seen > coalesce((SELECT w.beats FROM portcullis.refresh_witness w WHERE w.id = witness), 0);
        END $$;

        -- Gateways that remember nothing over a restart leave a row each time: the oldest ones are removed.
        CREATE FUNCTION portcullis.beat_witness(
            witness bytea, seen int8, histories bytea[], OUT present_history bytea, OUT present_beats int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM portcullis.wait_for_disk();
            PERFORM portcullis.refresh_epoch(witness, seen, histories);
            INSERT INTO portcullis.refresh_witness AS w
            VALUES (witness, 1, portcullis.milliseconds(clock_timestamp()))
            ON CONFLICT (id) DO UPDATE SET beats = w.beats + 1, beat_at = excluded.beat_at
            RETURNING w.beats INTO present_beats;
            SELECT h.history INTO STRICT present_history FROM portcullis.refresh_home h;
            IF present_beats > 1 THEN RETURN; END IF;
            DELETE FROM portcullis.refresh_witness WHERE id = ANY (ARRAY(
                SELECT w.id FROM portcullis.refresh_witness w WHERE w.id <> witness
                ORDER BY w.beat_at DESC, w.id OFFSET \(RefreshWitness.maximumRows - 1) FOR UPDATE SKIP LOCKED));
        END $$;

        """
}
