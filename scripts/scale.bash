# The part of bench-fleet that fills a fleet's database. Sourced by it; uses its `start_one`, `measure` and settings: `run_scale`.
#
# Two databases of one server: "small" has 1,000 sessions and one other gateway, "large" has as many sessions and other gateways as asked for. Both have the same
# kinds of rows, so all statements do the same work in both, and what differs is what the rows cost. The other gateways are rows alone: their heartbeats lie in the
# future, so that the real gateways take them for alive, and they have no address that one could connect to.

scale_gateways=8

# make_store NAME SESSIONS GATEWAYS: a database with the fleet's tables, filled. Appends the tables' sizes to sizes.
make_store() {
    local began=$EPOCHREALTIME log
    database "CREATE DATABASE $1"
    use_store "$1"
    (plain STORE_URL="$store_url" STORE_SECRETS_KEY_PATH="$store_key" "$bin/portcullis" store migrate) >/dev/null \
        || die "the tables of the database $1 couldn't be made."
    database "CREATE EXTENSION pg_stat_statements" >/dev/null
    log=$(database "SELECT pg_current_wal_insert_lsn()")
    "$postgresql/psql" -h "$state/database" -U portcullis -d "$1" -Xq -v ON_ERROR_STOP=1 -v sessions="$2" -v gateways="$3" -v keys="$(keys_of "$2")" \
        -v revoked="$(($2 / 10))" <<'SQL' >/dev/null || die "the database $1 couldn't be filled."
SET session_replication_role = replica;
SET synchronous_commit = off;
SELECT (extract(epoch FROM now()) * 1000)::int8 AS present \gset
INSERT INTO portcullis.gateway (id, name, version, schema, state, sessions, connections, lag, started, heartbeat)
SELECT 'scale-' || n, 'scale-' || n, '1.0', s.version, 0, :sessions / :gateways, :sessions / :gateways, 0, now(), now() + interval '1 day'
FROM generate_series(1, :gateways) n, portcullis.schema s;
-- Gateways of earlier builds don't say what they have announced.
SELECT count(*) > 0 AS announces FROM information_schema.columns
WHERE table_schema = 'portcullis' AND table_name = 'gateway' AND column_name = 'announced_at' \gset
\if :announces
UPDATE portcullis.gateway SET announced = h.incarnation, announced_at = :present + 86400000 FROM portcullis.home h;
\endif
INSERT INTO portcullis.session SELECT sha256(int8send(n)), 'scale-' || n % :gateways + 1 FROM generate_series(1, :sessions) n;
INSERT INTO portcullis.holding SELECT sha256(int8send(n)), 'scale-' || n % :gateways + 1, 1, 0 FROM generate_series(1, :sessions) n;
INSERT INTO portcullis.spent SELECT 1, sha256(int8send(n)), :present + 86400000 FROM generate_series(1, :sessions) n;
INSERT INTO portcullis.device_key
SELECT sha256(int8send(-n)), '\x04' || sha256(int8send(n)) || sha256(int8send(-n)), 'ABCDE12345.com.example.mud', 'development', sha256('root'), 0, NULL, '1.0',
    :present, :present, CASE WHEN n > :keys - :revoked THEN :present END, CASE WHEN n > :keys - :revoked THEN 'trial' END
FROM generate_series(1, :keys) n;
INSERT INTO portcullis.receipt SELECT sha256(int8send(-n)), '' FROM generate_series(1, :keys) n;
-- For its size alone: real receipts are about so long, and can't be compressed.
CREATE TABLE long_receipt (LIKE portcullis.receipt INCLUDING ALL);
INSERT INTO long_receipt
SELECT sha256(int8send(n)), (SELECT string_agg(sha256(int8send(n * 1000 + p)), '') FROM generate_series(1, 125) p) FROM generate_series(1, least(:sessions, 10000)) n;
VACUUM ANALYZE;
CHECKPOINT;
SQL
    say "$1: $2 sessions of $3 gateways, $(keys_of "$2") keys, $(($2 / 10)) of them revoked, and $2 used challenges;" \
        "filled in $(awk "BEGIN { printf \"%.0f\", $EPOCHREALTIME - $began }") s," \
        "$(database "SELECT pg_size_pretty(pg_database_size('$1')), pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$log'))" | sed 's/|/ and /') of log"
    database "SELECT '$1', t.name, t.rows, pg_table_size(t.name::regclass), pg_indexes_size(t.name::regclass) FROM (VALUES
        ('portcullis.session', $2), ('portcullis.holding', $2), ('portcullis.spent', $2), ('portcullis.device_key', $(keys_of "$2")),
        ('portcullis.receipt', $(keys_of "$2")), ('long_receipt', least($2, 10000))) AS t (name, rows)" >>"$state/sizes"
}

# keys_of SESSIONS: how many keys go with them.
keys_of() { printf '%s' "$(($1 * 10))"; }

# use_store NAME: that of the next gateways, and of `database`.
use_store() {
    database_name=$1
    store_url=${database_url/@\/postgres/@\/$1}
    fleet=("STORE_URL='$store_url'" "STORE_SECRETS_KEY_PATH='$store_key'")
}

# note FIGURE VALUE: one of the present store and round.
note() { printf '%s|%s|%s\n' "$database_name" "$1" "$2" >>"$state/figures"; }

# stop_one NAME…: gateways that start_one has started.
stop_one() {
    local name process kept=() pid
    for name in "$@"; do
        process=gateway_$name
        kill "${!process}"
        wait "${!process}" || true
        for pid in "${pids[@]}"; do [ "$pid" = "${!process}" ] || kept+=("$pid"); done
        pids=("${kept[@]}")
        kept=()
    done
}

# The CPU time of the gateways NAME…, in hundredths of a second.
gateways_cpu() {
    local name process files=()
    for name in "$@"; do
        process=gateway_$name
        files+=("/proc/${!process}/stat")
    done
    awk '{ sum += $14 + $15 } END { printf "%d", sum }' "${files[@]}"
}

# How many transactions the database has had, and the time.
transactions() {
    printf '%s %s' "$(database "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")" "$EPOCHREALTIME"
}

# The CPU time of the database, that of the gateways NAME…, and the time.
cpu() { printf '%s %s %s' "$(database_cpu)" "$(gateways_cpu "$@")" "$EPOCHREALTIME"; }

# The beginning, and the end, of an interval: `transactions` and `cpu` NAME…. The connections of the measurement lie outside the interval whose CPU time is measured.
beginning() {
    local before
    # The server tells its counters once a second.
    sleep 1.2
    before=$(transactions)
    # That connection's process ends after its client.
    sleep 0.5
    printf '%s %s' "$before" "$(cpu "$@")"
}
ending() {
    local after
    sleep 1.2
    after=$(cpu "$@")
    printf '%s %s' "$(transactions)" "$after"
}

# One gateway: its start, its memory, and clients' connects.
measure_one() {
    local began=$EPOCHREALTIME process=gateway_one
    await_pause=0.01 await_tries=3000 start_one one "${tls[@]}" "${fleet[@]}"
    note "start until ready, ms" "$(awk "BEGIN { print ($EPOCHREALTIME - $began) * 1000 }")"
    sleep 3
    note "memory of a gateway, MiB" "$(awk '/^VmRSS/ { print $2 / 1024 }' "/proc/${!process}/status")"
    measure "$database_name, one at a time" 1 one
    measure "$database_name, 64 at once" 64 one
    stop_one one
}

# measure_idle SESSIONS: eight gateways: what they cost the database when nothing happens, and when keys are revoked; and whether they delay an admission.
measure_idle() {
    local names=() number since before after idle changes=$((seconds * 4))
    for number in $(seq "$scale_gateways"); do
        names+=("idle$number")
        start_one "idle$number" "${tls[@]}" "${fleet[@]}"
    done
    # What a gateway does once when it starts is no part of this.
    sleep 15
    database "SELECT pg_stat_statements_reset()" >/dev/null
    since=$EPOCHREALTIME
    before=$(beginning "${names[@]}")
    sleep "$seconds"
    idle="$before $(ending "${names[@]}")"
    database "SELECT '$database_name', $(awk "BEGIN { print $EPOCHREALTIME - $since }"), calls, total_exec_time, regexp_replace(query, '\s+', ' ', 'g')
        FROM pg_stat_statements s WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query LIKE '%portcullis.%'" >>"$state/statements"
    database "SELECT format('SELECT portcullis.revoke_key(%L, ''trial'', 1); SELECT pg_sleep(0.25);', key_id) FROM portcullis.device_key
        WHERE revoked_at IS NULL ORDER BY key_id LIMIT $changes" >"$state/revoke.sql"
    before=$(beginning "${names[@]}")
    "$postgresql/psql" -h "$state/database" -U portcullis -d "$database_name" -Xq -f "$state/revoke.sql" >/dev/null
    after=$(ending "${names[@]}")
    note_longest "an admission beside eight gateways" < <(admission "$1")
    stop_one "${names[@]}"
    awk -v n="$scale_gateways" -v changes="$changes" -v store="$database_name" '{
        statements = ($6 - $1) / ($7 - $2); time = $10 - $5
        printf "%s|idle, statements/s|%f\n", store, statements
        printf "%s|idle, database CPU, ms/s|%f\n", store, ($8 - $3) * 10 / time
        printf "%s|idle, CPU of a gateway, ms/s|%f\n", store, ($9 - $4) * 10 / time / n
        # The revoking session has two statements for each key.
        printf "%s|a revocation, statements|%f\n", store, ($16 - $11 - statements * ($17 - $12)) / changes - 2
        printf "%s|a revocation, CPU of a gateway, ms|%f\n", store, ($19 - $14 - ($9 - $4) / time * ($20 - $15)) * 10 / changes / n
    }' <<<"$idle $before $after" >>"$state/figures"
}

# one_statement FIGURE: pgbench runs the script on standard input, one transaction after the other, on rows that it chooses at random.
one_statement() {
    cat >"$state/statement.sql"
    rm -f "$state"/pgbench.*
    "$postgresql/pgbench" -h "$state/database" -U portcullis -n -M prepared -c 1 -T "$seconds" -l --log-prefix="$state/pgbench" -f "$state/statement.sql" \
        "$database_name" >"$state/pgbench.out" 2>&1 || { cat "$state/pgbench.out" >&2; die "pgbench failed."; }
    note "$1, median, µs" "$(cat "$state"/pgbench.[0-9]* | awk '{ print $3 }' | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }')"
    note "$1, 99 %, µs" "$(cat "$state"/pgbench.[0-9]* | awk '{ print $3 }' | sort -n | awk '{ all[NR] = $1 } END { print all[int(NR * 0.99)] }')"
}

# note_longest FIGURE: as one_statement; the longest too, and how many took more than 20 ms.
note_longest() {
    one_statement "$1"
    note "$1, longest, ms" "$(cat "$state"/pgbench.[0-9]* | awk '$3 > most { most = $3 } END { print most / 1000 }')"
    note "$1, above 20 ms, in a million" "$(cat "$state"/pgbench.[0-9]* | awk '$3 > 20000 { above++ } END { print above * 1000000 / NR }')"
}

# admission SESSIONS: prints the statement of an admission, with a key and a challenge that pgbench chooses.
admission() {
    cat <<SQL
\\set n 0 - random(1, $(keys_of "$1") - $1 / 10)
\\set m 0 - random(1, 1000000000000000)
SELECT spending, outcome, stored FROM portcullis.admit((SELECT incarnation FROM portcullis.home), 1, sha256(int8send(:m)), $present + 60000,
    sha256(int8send(:n)), $present & 4294967295, $present);
SQL
}

# The present time, as a term of SQL.
present="(extract(epoch FROM clock_timestamp()) * 1000)::int8"

# measure_statements SESSIONS: those of a resume at another gateway and of an admission, as the gateways send them.
measure_statements() {
    local find="SELECT f.holder, f.address, f.silence, f.lived, d.id
        FROM portcullis.find_session(sha256(int8send(:n)), 2000) f LEFT JOIN LATERAL unnest(f.doubtful) AS d (id) ON true;"
    # Earlier builds have another statement for it.
    if [ -n "$(database "SELECT to_regproc('portcullis.find_session')")" ]; then
        one_statement "find a session" <<<"\\set n random(1, $1)"$'\n'"$find"
        one_statement "find no session" <<<"\\set n random($1 + 1, $1 * 1000)"$'\n'"$find"
    fi
    note_longest "admit" < <(admission "$1")
    # Otherwise the next measurement has them to delete.
    database "DELETE FROM portcullis.spent WHERE expires < $present + 3600000" >/dev/null
    database "VACUUM portcullis.spent, portcullis.device_key" >/dev/null
    database CHECKPOINT >/dev/null
}

# need_room SESSIONS: refuses if the disk hasn't the room for them, with the log.
need_room() {
    local needed=$(($1 * 11 / 1000 + 6000)) free
    free=$(df --output=avail -BM "${TMPDIR:-/tmp}" | tail -n 1 | tr -dc 0-9)
    [ "$free" -ge "$needed" ] || die "$1 sessions need $needed MB in ${TMPDIR:-/tmp}, and $free MB are free." "TMPDIR names another folder."
}

# run_scale SESSIONS: fills, measures in rounds, and prints the tables.
run_scale() {
    local name round of
    make_store small 1000 1
    make_store large "$1" "${others:-100}"
    for round in $(seq "$rounds"); do
        for name in small large; do
            use_store "$name"
            measure_one
            of=$([ "$name" = small ] && printf 1000 || printf '%s' "$1")
            measure_idle "$of"
            measure_statements "$of"
        done
        say "round $round of $rounds is done"
    done
    python3 scripts/scale_report.py "$state"
}
