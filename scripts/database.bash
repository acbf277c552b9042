# Shared by trials that need a database: a private PostgreSQL server on a Unix socket in the trial's folder. Sourced after setup.bash and trial.bash: `start_database`,
# `database`, `database_cpu`.

# start_database [SETTING…]: settings are lines of postgresql.conf. Sets database_pid, database_url and store_key. The server ends with the trial.
start_database() {
    require_postgresql
    local folder=$state/database user=()
    mkdir -p "$folder"
    # PostgreSQL refuses to run as root.
    if [ "$(id -u)" -eq 0 ]; then
        chmod 755 "$state"
        chown 65534:65534 "$folder"
        user=(setpriv --reuid=65534 --regid=65534 --clear-groups --pdeathsig KILL --)
    fi
    "${user[@]}" env -C "$folder" HOME="$folder" "$postgresql/initdb" --pgdata "$folder/data" --username portcullis --auth trust --no-sync \
        --encoding UTF8 --no-locale >"$state/initdb.log" 2>&1 || die "initdb failed." "see: $(tail -1 "$state/initdb.log")"
    printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$folder'" "max_connections = 100" "shared_buffers = 256MB" "$@" \
        >>"$folder/data/postgresql.conf"
    "${user[@]}" env -C "$folder" "$postgresql/postgres" -D "$folder/data" >"$state/database.log" 2>&1 &
    database_pid=$!
    pids+=("$database_pid")
    await "$state/database.log" 'ready to accept connections' "PostgreSQL" >/dev/null
    database_url="postgresql://portcullis@/postgres?host=$folder"
    store_key=$state/store.key
    openssl rand -hex 32 >"$store_key"
    chmod 600 "$store_key"
    (plain STORE_URL="$database_url" STORE_SECRETS_KEY_PATH="$store_key" "$bin/portcullis" store migrate) >/dev/null \
        || die "the fleet's tables couldn't be made."
}

# database SQL: prints the answer. `database_name` may be another database of the server.
database() { "$postgresql/psql" -h "$state/database" -U portcullis -d "${database_name:-postgres}" -XAtq -c "$1"; }

# The CPU time of all of the server's processes, present and ended, in hundredths of a second. That of the ended ones is counted in whole hundredths; that of the present
# ones isn't, since many of them do less than that.
database_cpu() {
    local child
    {
        awk '{ printf "%.0f\n", ($16 + $17) * 1e7 }' "/proc/$database_pid/stat"
        for child in "$database_pid" $(cat "/proc/$database_pid/task/$database_pid/children"); do
            cat "/proc/$child/schedstat" 2>/dev/null || true
        done
    } | awk '{ nanoseconds += $1 } END { printf "%.4f", nanoseconds / 1e7 }'
}
