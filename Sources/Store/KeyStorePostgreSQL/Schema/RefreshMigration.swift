import KeyStore

extension PostgreSQLSchema.Migration {
    /// Families of refresh tokens.
    ///
    /// The order of locks is that of accounts, with families before the row of `feed`. Triggers end families together
    /// with what they end with, also for programs of before. They have the owner's rights: the roles of those programs
    /// know nothing of these tables.
    static let refresh = Self(
        oldest: 1,
        script: familyTables + witnesses + standbys + lateness + history + endingFamilies + endingWith
            + beginningFamily + signingIn + usingFamily + expiring)

    /// `refresh_home` has one row: which families are good (`epoch`, whose name is `history`), and where it was written
    /// last. A row that a dump brings back has the mark of before in `marked`, and another one in `mark`, which is made
    /// anew.
    private static let familyTables = """
        CREATE TABLE portcullis.refresh_family (
            family_id bytea PRIMARY KEY CHECK (octet_length(family_id) = \(RefreshFamilyID.length)),
            account_id bytea NOT NULL REFERENCES portcullis.account ON DELETE CASCADE,
            epoch int8 NOT NULL,
            beginner_kind int8 NOT NULL,
            beginner bytea NOT NULL,
            key bytea NOT NULL CHECK (octet_length(key) = \(RefreshLimits.hashBytes)),
            hash bytea NOT NULL CHECK (octet_length(hash) = \(RefreshLimits.hashBytes)),
            last_hash bytea,
            sealed bytea CHECK (octet_length(sealed) <= \(RefreshLimits.maximumSealedBytes)),
            last_expires_at int8,
            repeated_late boolean NOT NULL DEFAULT false,
            began_at int8 NOT NULL,
            used_at int8 NOT NULL,
            expires_at int8 NOT NULL
        ) WITH (fillfactor = 70);
        CREATE INDEX refresh_family_account ON portcullis.refresh_family (account_id);
        CREATE INDEX refresh_family_beginner ON portcullis.refresh_family (beginner);
        CREATE INDEX refresh_family_expires ON portcullis.refresh_family (expires_at);
        CREATE INDEX refresh_family_epoch ON portcullis.refresh_family (epoch);
        CREATE TABLE portcullis.refresh_home (
            singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
            epoch int8 NOT NULL,
            history bytea NOT NULL DEFAULT uuid_send(gen_random_uuid()),
            mark bytea NOT NULL GENERATED ALWAYS AS (portcullis.home_incarnation(singleton)) STORED,
            marked bytea,
            place bytea NOT NULL,
            timeline text NOT NULL,
            standbys text NOT NULL
        );

        """

    /// A crash loses nothing that was confirmed. A promoted standby has another timeline; it has everything if every
    /// commit before had waited for it by name. Otherwise, where the database or the row is another one, and where a
    /// gateway remembers more (`witnesses`), confirmed uses may be lost.
    private static let history = """
        CREATE FUNCTION portcullis.refresh_timeline() RETURNS text LANGUAGE sql AS $$
            SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
        $$;
        INSERT INTO portcullis.refresh_home (epoch, place, timeline, standbys)
        VALUES (1, portcullis.home_place(true), portcullis.refresh_timeline(),
            current_setting('synchronous_standby_names'));
        UPDATE portcullis.refresh_home SET marked = mark;

        -- The epoch of the families that are good. What is committed next is so under the mode that the row has then.
        CREATE FUNCTION portcullis.refresh_epoch(
            witness bytea DEFAULT NULL, seen int8 DEFAULT NULL, reached int8 DEFAULT NULL, run int8 DEFAULT NULL,
            histories bytea[] DEFAULT NULL
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            known record;
            here CONSTANT bytea := portcullis.home_place(true);
            line CONSTANT text := portcullis.refresh_timeline();
            names CONSTANT text := current_setting('synchronous_standby_names');
        BEGIN
            SELECT * INTO STRICT known FROM portcullis.refresh_home;
            IF known.place = here AND known.timeline = line AND known.standbys = names AND known.marked = known.mark
                AND NOT portcullis.has_gone_back(known.history, witness, seen, reached, run, histories)
            THEN
                RETURN known.epoch;
            END IF;
            PERFORM portcullis.wait_for_disk();
            SELECT * INTO STRICT known FROM portcullis.refresh_home FOR UPDATE;
            UPDATE portcullis.refresh_home SET marked = mark, place = here, timeline = line, standbys = names;
            IF known.place <> here OR known.marked IS DISTINCT FROM known.mark
                OR known.timeline <> line AND NOT portcullis.was_waited_for(known.standbys)
                OR portcullis.has_gone_back(known.history, witness, seen, reached, run, histories)
            THEN
                RETURN portcullis.begin_epoch();
            END IF;
            RETURN known.epoch;
        END $$;

        -- No family of before is good. Their rows are removed later.
        CREATE FUNCTION portcullis.begin_epoch() RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            begun int8;
        BEGIN
            UPDATE portcullis.refresh_home SET epoch = epoch + 1, history = DEFAULT RETURNING epoch INTO begun;
            RETURN begun;
        END $$;

        -- What was confirmed is on the disk, whatever the server's default is.
        CREATE FUNCTION portcullis.wait_for_disk() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
                PERFORM set_config('synchronous_commit', 'on', true);
            END IF;
        END $$;

        """

    private static let endingFamilies = """
        -- account_end has them with kind 4, and with the account before the family: of one account the newest ends alone,
        -- since clients end families. Gateways have heard of the others, unless they have to read all again: so more
        -- recent ones are kept.
        CREATE FUNCTION portcullis.end_families(ids bytea[], ended int8) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            gone bytea[];
            owners bytea[];
        BEGIN
            PERFORM portcullis.wait_for_disk();
            -- Always in the same order.
            PERFORM 1 FROM portcullis.refresh_family f WHERE f.family_id = ANY (ids) ORDER BY f.family_id FOR UPDATE;
            WITH deleted AS (
                DELETE FROM portcullis.refresh_family f WHERE f.family_id = ANY (ids) RETURNING f.family_id, f.account_id)
            SELECT array_agg(d.account_id || d.family_id), array_agg(DISTINCT d.account_id) INTO gone, owners
            FROM deleted d;
            IF gone IS NULL THEN RETURN 0; END IF;
            -- Gateways look for what is new, whatever clock the time is of.
            INSERT INTO portcullis.account_end
            SELECT 4, g.id, greatest(ended, portcullis.milliseconds(clock_timestamp())) FROM unnest(gone) AS g (id)
            ON CONFLICT DO NOTHING;
            DELETE FROM portcullis.account_end e WHERE e.kind = 4 AND e.subject = ANY (ARRAY(
                SELECT l.subject FROM unnest(owners) AS o (id) CROSS JOIN LATERAL (
                    SELECT k.subject, k.ended_at,
                        row_number() OVER (ORDER BY k.ended_at DESC, k.subject DESC) AS place
                    FROM portcullis.account_end k
                    WHERE k.kind = 4 AND k.subject > o.id
                        AND k.subject <= o.id || decode(repeat('ff', \(RefreshFamilyID.length)), 'hex')) AS l
                WHERE l.place > \(RefreshLimits.maximumRecentEnds)
                    OR l.place > \(RefreshLimits.maximumEnds) AND l.ended_at
                        < portcullis.milliseconds(clock_timestamp()) - \(RefreshLimits.recentMilliseconds)));
            PERFORM portcullis.note(\(StoreChanges.Kind.account.rawValue), o.id) FROM unnest(owners) AS o (id);
            PERFORM portcullis.note(\(StoreChanges.Kind.family.rawValue), g.id) FROM unnest(gone) AS g (id);
            RETURN cardinality(gone);
        END $$;

        CREATE FUNCTION portcullis.end_families_of(of_kind int8, of_beginner bytea, ended int8)
        RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            RETURN portcullis.end_families(
                ARRAY(SELECT f.family_id FROM portcullis.refresh_family f
                    WHERE f.beginner = of_beginner AND f.beginner_kind = of_kind ORDER BY f.family_id), ended);
        END $$;

        CREATE FUNCTION portcullis.end_account_families(id bytea, ended int8) RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM portcullis.wait_for_disk();
            PERFORM 1 FROM portcullis.account a WHERE a.account_id = id FOR UPDATE;
            RETURN portcullis.end_families(
                ARRAY(SELECT f.family_id FROM portcullis.refresh_family f WHERE f.account_id = id ORDER BY f.family_id),
                ended);
        END $$;

        -- Families of an epoch before aren't good any more. Some are told at once, and the others by expire_families: one
        -- statement has little time. A family that begins meanwhile is of the epoch before.
        CREATE FUNCTION portcullis.end_all_families(ended int8) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            ending int8;
        BEGIN
            PERFORM portcullis.wait_for_disk();
            PERFORM portcullis.refresh_epoch();
            PERFORM portcullis.begin_epoch();
            SELECT count(*) INTO ending FROM portcullis.refresh_family;
            PERFORM portcullis.end_old_families(\(RefreshLimits.maximumToldAtOnce), ended);
            RETURN ending;
        END $$;

        CREATE FUNCTION portcullis.end_old_families(batch int8, ended int8) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            present CONSTANT int8 := portcullis.refresh_epoch();
        BEGIN
            RETURN portcullis.end_families(
                ARRAY(SELECT f.family_id FROM portcullis.refresh_family f WHERE f.epoch < present
                    ORDER BY f.epoch, f.family_id LIMIT batch), ended);
        END $$;

        """

    private static let endingWith: String = {
        func ending(_ name: String, _ statement: String) -> String {
            """
            CREATE FUNCTION portcullis.\(name)() RETURNS trigger
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
            DECLARE
                ended CONSTANT int8 := (extract(epoch FROM clock_timestamp()) * 1000)::int8;
            BEGIN
                PERFORM \(statement);
                RETURN NULL;
            END $$;

            """
        }
        let (passkey, device) = (RefreshBeginner.Kind.passkey.rawValue, RefreshBeginner.Kind.device.rawValue)
        return ending("end_with_passkey", "portcullis.end_families_of(\(passkey), OLD.mark, ended)")
            + ending("end_with_device", "portcullis.end_families_of(\(device), OLD.key_id, ended)")
            + ending("end_with_account", "portcullis.end_account_families(OLD.account_id, ended)")
                + """
                CREATE TRIGGER ends_families AFTER DELETE ON portcullis.passkey
                    FOR EACH ROW EXECUTE FUNCTION portcullis.end_with_passkey();
                CREATE TRIGGER ends_families AFTER DELETE ON portcullis.account_device
                    FOR EACH ROW EXECUTE FUNCTION portcullis.end_with_device();
                CREATE TRIGGER ends_families_revoked AFTER UPDATE OF revoked_at ON portcullis.device_key
                    FOR EACH ROW WHEN (NEW.revoked_at IS NOT NULL AND OLD.revoked_at IS NULL)
                    EXECUTE FUNCTION portcullis.end_with_device();
                CREATE TRIGGER ends_families_closed AFTER UPDATE OF closed_at ON portcullis.account
                    FOR EACH ROW WHEN (NEW.closed_at IS NOT NULL AND OLD.closed_at IS NULL)
                    EXECUTE FUNCTION portcullis.end_with_account();

                """
    }()

    private static let lateness = """
        -- Undoes a statement that comes after latest, when its gateway has answered that the store is away: its client may
        -- have gone on, and would seem to be two. query_canceled is what the gateway's own time-out would have been. NULL:
        -- it is never late.
        CREATE FUNCTION portcullis.refuse_late(latest int8) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            IF latest < portcullis.milliseconds(clock_timestamp()) THEN
                RAISE EXCEPTION 'the statement came too late' USING ERRCODE = 'query_canceled';
            END IF;
        END $$;

        """

    private static let beginningFamily = """
        -- 0 begun, 1 the account or what begins it has ended
        CREATE FUNCTION portcullis.begin_family(
            id bytea, of_account bytea, of_kind int8, of_beginner bytea, of_key bytea, new_hash bytea, began int8,
            new_expires int8, latest int8, witness bytea, seen int8, reached int8, run int8, histories bytea[]
        ) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            closed int8;
            revoked int8;
            present int8;
            idle bytea[];
        BEGIN
            PERFORM portcullis.wait_for_disk();
            present := portcullis.refresh_epoch(witness, seen, reached, run, histories);
            SELECT a.closed_at INTO closed FROM portcullis.account a WHERE a.account_id = of_account FOR UPDATE;
            IF NOT FOUND OR closed IS NOT NULL THEN RETURN 1; END IF;
            -- It may have waited for the row.
            PERFORM portcullis.refuse_late(latest);
            IF of_kind = \(RefreshBeginner.Kind.passkey.rawValue) THEN
                PERFORM 1 FROM portcullis.passkey p WHERE p.mark = of_beginner AND p.account_id = of_account;
                IF NOT FOUND THEN RETURN 1; END IF;
            ELSE
                -- A revocation waits, and then ends this family, too.
                SELECT k.revoked_at INTO revoked FROM portcullis.device_key k WHERE k.key_id = of_beginner FOR SHARE;
                IF revoked IS NOT NULL THEN RETURN 1; END IF;
                PERFORM 1 FROM portcullis.account_device d WHERE d.key_id = of_beginner AND d.account_id = of_account;
                IF NOT FOUND THEN RETURN 1; END IF;
            END IF;
            idle := ARRAY(SELECT f.family_id FROM portcullis.refresh_family f
                WHERE f.account_id = of_account AND f.epoch = present
                ORDER BY f.used_at DESC, f.family_id DESC OFFSET \(RefreshLimits.maximumFamilies - 1));
            IF cardinality(idle) > 0 THEN PERFORM portcullis.end_families(idle, began); END IF;
            INSERT INTO portcullis.refresh_family (
                family_id, account_id, epoch, beginner_kind, beginner, key, hash, began_at, used_at, expires_at)
            VALUES (id, of_account, present, of_kind, of_beginner, of_key, new_hash, began, began, new_expires);
            -- No change is noted: a gateway that knows the account without the family asks for it.
            RETURN 0;
        END $$;

        """

    private static let signingIn = """
        -- proof_spending and spending as spend, outcome and stored as use_passkey. Without its home a mark isn't spent. A
        -- proof that is foreign or has expired refuses nothing: the challenge does.
        CREATE FUNCTION portcullis.sign_in_and_begin(
            proof_home bytea, proof_kind int8, proof_bytes bytea, proof_expires int8, home_id bytea, mark_kind int8,
            mark_bytes bytea, mark_expires int8, of_mark bytea, new_count int8, new_flags int8, used int8, id bytea,
            of_account bytea, of_key bytea, new_hash bytea, began int8, new_expires int8, latest int8,
            witness bytea, seen int8, reached int8, run int8, histories bytea[],
            OUT proof_spending int8, OUT spending int8, OUT outcome int8, OUT stored int8
        ) LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM portcullis.refuse_late(latest);
            IF proof_home IS NOT NULL THEN
                proof_spending := portcullis.spend(proof_home, proof_kind, proof_bytes, proof_expires);
                IF proof_spending IN (1, 4) THEN RETURN; END IF;
            END IF;
            IF home_id IS NOT NULL THEN
                spending := portcullis.spend(home_id, mark_kind, mark_bytes, mark_expires);
                IF spending <> 0 THEN RETURN; END IF;
            END IF;
            PERFORM 1 FROM portcullis.passkey p WHERE p.mark = of_mark AND p.account_id = of_account;
            IF NOT FOUND THEN outcome := 2; RETURN; END IF;
            SELECT u.outcome, u.stored INTO outcome, stored
            FROM portcullis.use_passkey(of_mark, new_count, new_flags, used) u;
            -- None of these waits for the disk; the family does, and comes after them.
            IF outcome <> 0 THEN RETURN; END IF;
            IF portcullis.begin_family(
                id, of_account, \(RefreshBeginner.Kind.passkey.rawValue), of_mark, of_key, new_hash, began,
                new_expires, latest, witness, seen, reached, run, histories) <> 0
            THEN outcome := 2; END IF;
        END $$;

        """

    private static let usingFamily = """
        -- outcome: 0 rotated, 1 repeated (sealed), 2 unknown, 3 expired, 4 wrong key, 5 repeated too often, 6 reused. The
        -- rule is RefreshFamily.using. 7: the proof isn't unused (spending as spend). Without home_id it has no mark.
        -- 8: as 1, but late. It isn't used up before mark_repeated_late says so: the answer may still be lost.
        CREATE FUNCTION portcullis.use_family(
            home_id bytea, mark_kind int8, mark_bytes bytea, mark_expires int8, of_id bytea, of_key bytea,
            of_hash bytea, next_hash bytea, next_sealed bytea, used int8, next_expires int8, repeat_milliseconds int8,
            latest int8, witness bytea, seen int8, reached int8, run int8, histories bytea[],
            OUT outcome int8, OUT owner bytea, OUT began_as int8, OUT began_with bytea, OUT good_sealed bytea, OUT expires int8, OUT owner_origin int8, OUT owner_proof bytea,
            OUT owner_closed boolean, OUT spending int8
        ) LANGUAGE plpgsql AS $$
        DECLARE
            known record;
            present int8;
        BEGIN
            PERFORM portcullis.refuse_late(latest);
            IF home_id IS NOT NULL THEN
                spending := portcullis.spend(home_id, mark_kind, mark_bytes, mark_expires);
                IF spending <> 0 THEN outcome := 7; RETURN; END IF;
            END IF;
            -- A mark doesn't wait; this does, and comes after it.
            PERFORM portcullis.wait_for_disk();
            present := portcullis.refresh_epoch(witness, seen, reached, run, histories);
            SELECT f.* INTO known FROM portcullis.refresh_family f WHERE f.family_id = of_id AND f.epoch = present
            FOR UPDATE;
            IF NOT FOUND THEN outcome := 2; RETURN; END IF;
            -- It may have waited for the row.
            PERFORM portcullis.refuse_late(latest);
            owner := known.account_id;
            IF known.key <> of_key THEN outcome := 4; RETURN; END IF;
            IF used >= known.expires_at THEN outcome := 3; RETURN; END IF;
            IF known.hash = of_hash THEN
                UPDATE portcullis.refresh_family f
                SET hash = next_hash, last_hash = of_hash, sealed = next_sealed, last_expires_at = f.expires_at,
                    repeated_late = false, used_at = used, expires_at = next_expires
                WHERE f.family_id = of_id;
                outcome := 0;
                expires := next_expires;
            ELSIF known.last_hash = of_hash THEN
                IF used >= known.last_expires_at THEN outcome := 3; RETURN; END IF;
                IF abs(used - known.used_at) > repeat_milliseconds THEN
                    IF known.repeated_late THEN outcome := 5; RETURN; END IF;
                    outcome := 8;
                ELSE
                    outcome := 1;
                END IF;
                good_sealed := known.sealed;
                expires := known.expires_at;
            ELSE
                PERFORM portcullis.end_families(ARRAY[of_id], used);
                outcome := 6;
                RETURN;
            END IF;
            began_as := known.beginner_kind;
            began_with := known.beginner;
            SELECT a.origin, a.proof, a.closed_at IS NOT NULL INTO owner_origin, owner_proof, owner_closed
            FROM portcullis.account a WHERE a.account_id = known.account_id;
        END $$;

        -- True for one of all late repetitions of a token whose successor is unused.
        CREATE FUNCTION portcullis.mark_repeated_late(
            of_id bytea, of_hash bytea, witness bytea, seen int8, reached int8, run int8, histories bytea[]
        ) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            present int8;
        BEGIN
            PERFORM portcullis.wait_for_disk();
            present := portcullis.refresh_epoch(witness, seen, reached, run, histories);
            UPDATE portcullis.refresh_family f SET repeated_late = true
            WHERE f.family_id = of_id AND f.epoch = present AND f.last_hash = of_hash AND NOT f.repeated_late;
            RETURN FOUND;
        END $$;

        """

    private static let expiring = """
        CREATE FUNCTION portcullis.expire_families(expired_at int8, batch int8) RETURNS int8 LANGUAGE plpgsql AS $$
        DECLARE
            gone int8;
        BEGIN
            -- A gateway whose clock is ahead removes nothing that is good.
            DELETE FROM portcullis.refresh_family WHERE family_id = ANY (ARRAY(
                SELECT f.family_id FROM portcullis.refresh_family f
                WHERE f.expires_at <= least(expired_at, portcullis.milliseconds(clock_timestamp()))
                ORDER BY f.expires_at LIMIT batch FOR UPDATE SKIP LOCKED));
            GET DIAGNOSTICS gone = ROW_COUNT;
            RETURN gone + portcullis.end_old_families(batch, expired_at);
        END $$;

        """
}
