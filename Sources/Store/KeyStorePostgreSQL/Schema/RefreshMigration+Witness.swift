import KeyStore

extension PostgreSQLSchema.Migration {
    /// Gateways are the witnesses of what the database has confirmed. This is the whole rule:
    ///
    /// 1. All families that are good belong to one history, a random name in `refresh_home`. Whenever all families end,
    ///    another one begins.
    /// 2. With each beginning, use and sign-out that is confirmed, a gateway remembers the history, the position in the
    ///    server's log, and the run of the server (`RefreshWitness`). It shows them with each further one. Families
    ///    that end otherwise, with a passkey, a device, a key or an account, or expire, are left to the beats.
    /// 3. Every few seconds, and a second after one of these, each gateway beats: it raises a number of its own in the
    ///    database, durably, and remembers the number, too. Nobody else raises it.
    /// 4. The database has gone back if it has the gateway's present history with a lower number than the gateway
    ///    remembers, or with a log that is shorter than the gateway's position, or was when this run of the server
    ///    recovered, unless the position is of this run. It has also gone back if it has a history that the gateway
    ///    remembers as an earlier one. Then all families end.
    /// 5. Of a history that the gateway doesn't know it knows nothing: it takes it up with the next confirmation. If
    ///    that is of another place (`home_place`) it forgets the earlier ones: it may come back from another database.
    ///    A copy in another place is noticed without witnesses.
    ///
    /// A copy is told apart by what it lacks. If its present run recovered, one change is enough, however much it has
    /// written meanwhile. If a server was stopped before that run, in the copy or when the copy was made, nothing tells
    /// how far it came, and it may overtake the position: then the beats tell it apart, unless it lacks only what came
    /// after the last one. A gateway without a folder beats only every few seconds.
    ///
    /// A crash loses neither beats nor the log before what was confirmed, nor does a standby that every commit waited
    /// for: neither system identifier nor timeline matter here. Several gateways end the families of a copy once: the
    /// first one begins a history in it that the others can't know, whatever they remember of the branch that was left.
    /// What was begun in that history isn't in their branch, so they have nothing to say against it.
    ///
    /// It isn't seen where no gateway remembers more: all have lost their witnesses, or were killed before they could
    /// write down what the copy lacks.
    static let witnesses = """
        CREATE TABLE portcullis.refresh_witness (
            id bytea PRIMARY KEY CHECK (octet_length(id) = \(RefreshWitness.nameBytes)),
            beats int8 NOT NULL,
            beat_at int8 NOT NULL
        ) WITH (fillfactor = 50);

        CREATE FUNCTION portcullis.log_position() RETURNS int8 LANGUAGE sql AS $$
            SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8
        $$;
        -- Another one after each start.
        CREATE FUNCTION portcullis.server_run() RETURNS int8 LANGUAGE sql AS $$
            SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8
        $$;

        -- What a gateway may remember, when its statement has done all else; NULL unless that has written, and will
        -- wait for the disk. The log up to here is on the disk then, and at each standby that is waited for: the record
        -- of the commit is behind it. What has written nothing waits for nothing. After a crash the log may be shorter
        -- than it was then, though nothing confirmed is lost.
        CREATE FUNCTION portcullis.confirmed(
            has_written boolean, OUT history bytea, OUT place bytea, OUT reached int8, OUT run int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            IF has_written THEN
                SELECT h.history, portcullis.home_place(true), portcullis.log_position(), portcullis.server_run()
                INTO STRICT history, place, reached, run
                FROM portcullis.refresh_home h;
            END IF;
        END $$;

        -- Without a witness: false. A server that recovered when it was started tells how far; one that was stopped
        -- before tells nothing (NULL).
        CREATE FUNCTION portcullis.has_gone_back(
            present bytea, witness bytea, seen int8, reached int8, run int8, histories bytea[]
        ) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            place CONSTANT int := array_position(histories, present);
        BEGIN
            IF place IS NULL THEN RETURN false; END IF;
            RETURN place > 1
                OR reached > portcullis.log_position()
                OR run <> portcullis.server_run()
                    AND coalesce(reached > pg_last_wal_replay_lsn() - '0/0'::pg_lsn, false)
                OR seen > coalesce((SELECT w.beats FROM portcullis.refresh_witness w WHERE w.id = witness), 0);
        END $$;

        -- Gateways that remember nothing over a restart leave a row each time: the oldest ones are removed.
        CREATE FUNCTION portcullis.beat_witness(
            witness bytea, seen int8, reached int8, run int8, histories bytea[], OUT present_beats int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM portcullis.wait_for_disk();
            PERFORM portcullis.refresh_epoch(witness, seen, reached, run, histories);
            INSERT INTO portcullis.refresh_witness AS w
            VALUES (witness, 1, portcullis.milliseconds(clock_timestamp()))
            ON CONFLICT (id) DO UPDATE SET beats = w.beats + 1, beat_at = excluded.beat_at
            RETURNING w.beats INTO present_beats;
            IF present_beats > 1 THEN RETURN; END IF;
            DELETE FROM portcullis.refresh_witness WHERE id = ANY (ARRAY(
                SELECT w.id FROM portcullis.refresh_witness w WHERE w.id <> witness
                ORDER BY w.beat_at DESC, w.id OFFSET \(RefreshWitness.maximumRows - 1) FOR UPDATE SKIP LOCKED));
        END $$;

        """
}
