# The faults of scripts/soak, and the checks of their effects. Sourced after trial.bash and authorities.bash by scripts/soak, whose
# variables it uses. `fault_NAME` injects one; `complain` records an unexpected effect.

all_faults=(clients target disk clock reload)
attested_tolerates=() gateway_environment=() store_mount=
# The approximate maximum duration of each, in seconds.
declare -A fault_seconds=([clients]=6 [target]=8 [disk]=8 [clock]=14 [reload]=14)
declare -A fault_played=()

fault_name() {
    local name
    for name in "${all_faults[@]}"; do [ "$name" != "${2:-}" ] || { printf '%s' "$name"; return 0; }; done
    refuse_usage "$1 takes one of ${all_faults[*]}"
}

plays() {
    local name
    for name in ${faults[@]+"${faults[@]}"}; do [ "$name" != "$1" ] || return 0; done
    return 1
}

complain() {
    good=false
    say "wrong: $*"
}

# ---- Requirements ---------------------------------------------------------------------------------------------------

# find_faults: removes the faults that can't be injected on this machine. For a full disk the script restarts itself in its own mount
# namespace.
find_faults() {
    local name found=()
    if $install && plays disk && ! command -v sqlite3 >/dev/null 2>&1; then require_packages sqlite3; fi
    for name in "${all_faults[@]}"; do
        plays "$name" || continue
        if "can_play_$name"; then found+=("$name"); else say "skipped the fault $name: $missing"; fi
    done
    faults=(${found[@]+"${found[@]}"})
    [ ${#faults[@]} -gt 0 ] || die "none of the faults can be injected on this machine."
}

can_play_clients() { :; }
can_play_target() { :; }
can_play_reload() { :; }

can_play_disk() {
    missing="there is no sqlite3 command (see --install)"
    command -v sqlite3 >/dev/null 2>&1 || return 1
    missing="this machine doesn't allow mounting a tmpfs in a namespace (unshare)"
    [ -z "${PORTCULLIS_SOAK_NAMESPACE:-}" ] || return 0
    local own=(unshare --mount)
    [ "$(id -u)" -eq 0 ] || own=(unshare --user --map-root-user --mount)
    "${own[@]}" mount -t tmpfs tmpfs /mnt 2>/dev/null || return 1
    PORTCULLIS_SOAK_NAMESPACE=1 exec "${own[@]}" "$script_path" "${arguments[@]}" --bin "$bin"
}

can_play_clock() {
    missing="there is no C compiler for scripts/clock.c"
    [ -n "$(compiler)" ]
}

compiler() { command -v cc || command -v clang || true; }

# Prepares, before the gateway starts, the files that will change, the disk and the clock.
prepare_faults() {
    certs=$state/live
    mkdir "$certs"
    make_authority server
    issue server one localhost '-1 day' '+10 days' server
    issue server two localhost '-1 day' '+10 days' server
    make_authority clients
    make_authority visitors
    local name
    for name in client killed marked blocked unused; do issue clients "$name" "soak $name" '-1 day' '+10 days'; done
    issue visitors visitor "soak visitor" '-1 day' '+10 days'
    lists=$state/lists
    mkdir "$lists"
    make_list visitors "$lists/visitors"
    make_list clients "$lists/nobody"
    revoke clients unused
    make_list clients "$lists/unused"
    revoke clients marked
    make_list clients "$lists/marked"

    put server-ca.pem "$state/authorities/server/ca.pem"
    put client.crt "$state/authorities/clients/client.pem"
    put client.key "$state/authorities/clients/client.key"
    show_server one
    put ca.pem "$state/authorities/clients/ca.pem"
    put lists.crl "$lists/nobody"
    put blocked /dev/null

    if plays disk; then
        store_mount=$state/store
        mkdir "$store_mount"
        mount -t tmpfs -o size=64m,mode=700 tmpfs "$store_mount" || die "no tmpfs could be mounted at $store_mount."
        attested_tolerates=(--tolerate refused_503_store_unavailable)
    fi
    if plays clock; then
        "$(compiler)" -O2 -shared -fPIC scripts/clock.c -o "$state/clock.so" -ldl || die "scripts/clock.c can't be compiled."
        set_clock 0
        gateway_environment=(LD_PRELOAD="$state/clock.so" SOAK_CLOCK="$state/clock")
    fi
}

fault_settings() {
    cat <<ENV
MTLS_CLIENT_CRL_PATH='$certs/lists.crl'
BLOCK_LIST_PATH='$certs/blocked'
RESUME_GRACE_MINUTES=1
# Excluded clients keep trying, a thousand times from one address.
FAILED_UPGRADES_PER_MINUTE=1000000
ENV
}

# put NAME FILE…: atomically replaces the gateway's file of that name with the concatenated files.
put() {
    local name=$1
    shift
    cat "$@" >"$certs/$name.new"
    chmod 600 "$certs/$name.new"
    mv -f "$certs/$name.new" "$certs/$name"
}

# Makes the gateway open everything that it opens only once, before files are counted.
warm_up() {
    by clients client
    expect_admitted "the first client" "${by[@]}"
    register_device "$state/device-first.json" >/dev/null || complain "the first device can't be registered"
    expect_admitted "the first device" --device "$state/device-first.json"
    reload
    sleep 1
    idle_files=$(open_files)
}

# ---- The crowds that they affect ------------------------------------------------------------------------------------

# Each crowd has its own addresses, with five clients per address: a session that ends keeps its place until the client has been told. The
# causes of ended sessions are counted, and the clients start new sessions.
start_concerned() {
    local few=$((sessions / 20 > 20 ? sessions / 20 : 20))
    fragile=$few
    if plays target; then
        # If a target resets its connections, the gateway closes with 1014, which libwebsockets' client reports as 1002.
        start_concerned_crowd fragile "$fragile" 10000 --target fragile --rate 0.5 \
            --certificate "$certs/client.crt" --key "$certs/client.key" \
            --tolerate closed_1000 --tolerate closed_1002 --tolerate disconnected --tolerate session_expired \
            --tolerate connection_failed --tolerate takeover_untold
    fi
    if plays reload; then
        start_by marked 40000 --tolerate refused_401_invalid_client_certificate
        start_by blocked 60000 --tolerate refused_403_device_blocked
        start_by visitor 50000 --tolerate refused_401_invalid_client_certificate
    fi
    if plays clients; then
        killed=$few
        start_killed
    fi
}

start_concerned_crowd() {
    local name=$1 clients=$2 first=$3
    shift 3
    crowds+=("$name")
    start_crowd "$name" "$clients" $(((clients + 4) / 5)) --first-source "$first" --sessions-end --seed "$first" "$@"
}

# start_by NAME FIRST-SOURCE ARGUMENT…: starts ten clients with the certificate of that name. A client that is excluded before it gets the
# answer to its resume may be away until its token has expired (30 s): then invalid_resume.
start_by() {
    local name=$1 first=$2 authority=clients
    shift 2
    [ "$name" != visitor ] || authority=visitors
    start_concerned_crowd "$name" 10 "$first" --target "127.0.0.1:$port_echo" --rate 0.5 \
        --certificate "$state/authorities/$authority/$name.pem" --key "$state/authorities/$authority/$name.key" \
        --tolerate closed_1008 --tolerate session_expired --tolerate invalid_resume --tolerate not_resumed --tolerate takeover_untold "$@"
}

# Two processes that will be killed: one with sessions that outlive their clients, one with sessions that don't. Their bytes aren't checked. Those that replace them have
# addresses of their own: MAX_SESSIONS_PER_ADDRESS counts the sessions that outlive their clients. After 9,000 addresses the first ones are free again.
killed_rounds=0
start_killed() {
    local first=$((20000 + (killed + 9) / 10 * killed_rounds % 9000))
    killed_rounds=$((killed_rounds + 1))
    start_killed_process killed_typed flap "$first" --flap-every 10 --flap-away 2
    start_killed_process killed_raw echo $((first + 10000)) --rate 5 --size 2000
    await_phase killed_typed flap 30
    await_phase killed_raw echo 30
    local name
    for name in killed_typed killed_raw; do
        tail -1 "$state/$name.progress" | grep -q " 0 errors" \
            || complain "clients that replaced killed ones weren't admitted: $(tail -1 "$state/$name.progress")"
    done
}

start_killed_process() {
    local name=$1 scenario=$2 first=$3
    shift 3
    : >"$state/$name.progress"
    plain "$bin/portcullis-sim" load --gateway "https://localhost:$port" --ca "$certs/server-ca.pem" --scenario "$scenario" \
        --clients "$killed" --seconds 1000000 --sources $(((killed + 9) / 10)) --first-source "$first" --output-buffer "$buffer" \
        --target "127.0.0.1:$port_echo" --certificate "$state/authorities/clients/killed.pem" \
        --key "$state/authorities/clients/killed.key" "$@" >"$state/$name.txt" 2>"$state/$name.progress" &
    pids+=($!)
    printf -v "pid_$name" '%s' $!
}

# kill_process VARIABLE: kills the process whose id is in VARIABLE with SIGKILL; returns when it has ended.
kill_process() {
    local pid=${!1} other rest=()
    { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null || true
    for other in "${pids[@]}"; do [ "$other" = "$pid" ] || rest+=("$other"); done
    pids=("${rest[@]}")
}

# await_phase NAME PHASE SECONDS: waits until the crowd's progress reports the phase.
await_phase() {
    local end=$((SECONDS + $3))
    until grep -q "^$2 " "$state/$1.progress" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { complain "the crowd $1 didn't reach $2: $(tail -1 "$state/$1.progress")"; return 0; }
        sleep 0.2
    done
}

# ---- Injecting them -------------------------------------------------------------------------------------------------

# Each fault must run twice, because the memory allocated the first time stays. Memory is watched in the second half: by then the histories
# are full, and the allocator has reached its peak.
least_seconds() {
    local name sum=10
    for name in "${faults[@]}"; do sum=$((sum + 2 * fault_seconds[$name])); done
    printf '%s' "$((sum > 60 ? sum : 60))"
}

play_faults() {
    local name end half watch= rounds=0
    for name in echo screens numbered; do await_phase "$name" flap $((crowd / rate + 120)); done
    end=$((SECONDS + seconds)) half=$((SECONDS + seconds / 2))
    start_concerned
    for name in "${crowds[@]:3}"; do await_phase "$name" flap 60; done
    while :; do
        for name in "${faults[@]}"; do
            [ $rounds -eq 0 ] || [ $((SECONDS + fault_seconds[$name])) -lt "$end" ] || break 2
            [ $rounds -eq 0 ] || [ -n "$watch" ] || [ $SECONDS -lt $half ] || start_watch
            kill -0 "$gateway_pid" 2>/dev/null || break 2
            say "fault: $name"
            "fault_$name"
            fault_played[$name]=$((${fault_played[$name]:-0} + 1))
        done
        rounds=$((rounds + 1))
        sleep 2
    done
    [ -n "$watch" ] || start_watch
    while [ $SECONDS -lt "$end" ]; do sleep 1; done
    kill -TERM "$watch" 2>/dev/null || true
    wait "$watch" || complain "$(tail -1 "$state/watch.txt")"
}

# Sets watch.
start_watch() {
    plain "$bin/portcullis-sim" watch --pid "$gateway_pid" --limit "$slope" --save "$state/watch.json" --trace "$state/watch.tsv" \
        >"$state/watch.txt" 2>&1 &
    watch=$!
    pids+=($watch)
}

# Prints the gateway's response to a client that connects, sends a word and disconnects.
probe() {
    (plain timeout 20 "$bin/portcullis-sim" device connect --gateway "https://localhost:$port" --ca "$certs/server-ca.pem" \
        --send soak "$@" 2>&1)
}

# expect_admitted WHO ARGUMENT…
expect_admitted() {
    local who=$1 said
    shift
    said=$(probe "$@") || complain "$who was refused: $said"
}

# expect_refused WHO WITH ARGUMENT…
expect_refused() {
    local who=$1 with=$2 said
    shift 2
    if said=$(probe "$@"); then
        complain "$who was admitted"
    elif ! grep -q "refused with $with" <<<"$said"; then
        complain "$who was not refused with $with: $said"
    fi
}

# by AUTHORITY NAME: sets by, the arguments of a client with that certificate.
by() { by=(--certificate "$state/authorities/$1/$2.pem" --key "$state/authorities/$1/$2.key"); }

# ---- clients, target ------------------------------------------------------------------------------------------------

fault_clients() {
    kill_process pid_killed_typed
    kill_process pid_killed_raw
    start_killed
    sleep 3
}

fault_target() {
    kill_process target_fragile
    # Some clients fail to connect meanwhile.
    sleep 2
    start_target fragile
    local end=$((SECONDS + 20))
    # Connected clients return soon, the others when their network is back.
    until [ "$(find "/proc/$target_fragile/fd" -mindepth 1 | wc -l)" -gt $((fragile / 2)) ]; do
        [ $SECONDS -lt $end ] || { complain "no client returned to the target"; return 0; }
        sleep 0.2
    done
}

# ---- disk -----------------------------------------------------------------------------------------------------------

# register_device FILE: prints the gateway's answer, and the key if it was registered.
register_device() {
    (plain timeout 20 "$bin/portcullis-sim" device register --gateway "https://localhost:$port" --ca "$certs/server-ca.pem" \
        --authority "$state/authority.json" --device "$1" 2>&1)
}

# stored COLUMN KEY: prints the column of that key in the store; nothing for an unknown key.
stored() {
    local key
    key=$(base64 -d <<<"$2" | od -An -v -tx1 | tr -d ' \n')
    sqlite3 -cmd '.timeout 5000' "$store_mount/keys.sqlite" "SELECT $1 FROM device_key WHERE key_id = x'$key'"
}

key_of() { grep -oE 'registered key [^ ]+' <<<"$1" | cut -d' ' -f3; }
counter_of() { grep -oE '"counter":[0-9]+' "$1" | cut -d: -f2; }

fault_disk() {
    local said key refusals=0 try stored counter
    rm -f "$state"/device*.json
    said=$(register_device "$state/device.json") || { complain "no device could be registered: $said"; return 0; }
    key=$(key_of "$said")
    # The WAL reuses the space that it has: it must be empty, so that each commit needs new space.
    for try in $(seq 50); do
        cat /dev/zero >"$store_mount/filler" 2>/dev/null || true
        [ "$(sqlite3 -cmd '.timeout 100' "$store_mount/keys.sqlite" 'PRAGMA wal_checkpoint(TRUNCATE)' 2>/dev/null)" != "0|0|0" ] || break
        sleep 0.1
    done
    cat /dev/zero >>"$store_mount/filler" 2>/dev/null || true
    for try in $(seq 5); do
        if said=$(probe --device "$state/device.json"); then
            stored=$(stored counter "$key") counter=$(counter_of "$state/device.json")
            [ "$stored" = "$counter" ] || complain "admitted with the counter $counter while $stored is on the disk"
        elif grep -q "refused with 503 store_unavailable" <<<"$said"; then
            refusals=$((refusals + 1))
        else
            complain "an assertion on a full disk got the wrong answer: $said"
        fi
    done
    [ "$refusals" -gt 0 ] || complain "the disk was not full: no client was refused"
    if said=$(register_device "$state/device-late.json"); then
        key=$(key_of "$said")
        [ -n "$(stored counter "$key")" ] || complain "a registered key is not in the store"
    else
        grep -q "refused with 503 attestation_unavailable" <<<"$said" || complain "a registration on a full disk got the wrong answer: $said"
    fi
    rm "$store_mount/filler"
    expect_admitted "a device, with room on the disk again," --device "$state/device.json"
    said=$(register_device "$state/device-late.json") || complain "with free space again, no device could be registered: $said"
    expect_admitted "a device that was registered then" --device "$state/device-late.json"
}

# ---- clock ----------------------------------------------------------------------------------------------------------

# set_clock SECONDS: sets the offset of the gateway's clock. Written in place, because the gateway maps the file.
set_clock() { printf '%+011d' "$1" 1<>"$state/clock"; }

fault_clock() {
    issue clients expiring "soak expiring" '-2 hours' '+30 minutes'
    issue clients young "soak young" '-30 minutes' '+1 day'
    local expiring young said
    by clients expiring
    expiring=("${by[@]}")
    by clients young
    young=("${by[@]}")
    # Sessions with a certificate that expires during the session.
    (plain timeout 60 "$bin/portcullis-sim" load --gateway "https://localhost:$port" --ca "$certs/server-ca.pem" --scenario echo \
        --clients 10 --sources 2 --first-source 45000 --rate 5 --seconds 12 "${expiring[@]}") \
        >"$state/stepped.txt" 2>"$state/stepped.progress" &
    local stepped=$!
    pids+=($stepped)
    await_phase stepped echo 20
    expect_admitted "a certificate that ends in half an hour" "${expiring[@]}"
    set_clock 3600
    expect_refused "a certificate that has ended" "401 invalid_client_certificate" "${expiring[@]}"
    expect_admitted "a certificate that has not" "${young[@]}"
    said=$(register_device "$state/device-clock.json") || complain "with the clock an hour ahead, no device could be registered: $said"
    expect_admitted "a device, an hour ahead," --device "$state/device-clock.json"
    set_clock -3600
    expect_refused "a certificate that hasn't begun" "401 invalid_client_certificate" "${young[@]}"
    expect_admitted "a certificate that has begun" "${expiring[@]}"
    said=$(register_device "$state/device-clock.json") || complain "with the clock an hour behind, no device could be registered: $said"
    expect_admitted "a device, an hour behind," --device "$state/device-clock.json"
    set_clock 0
    expect_admitted "a certificate, at its time," "${young[@]}"
    wait "$stepped" || complain "the clock affected sessions: $(grep -E '^error' "$state/stepped.txt" "$state/stepped.progress")"
}

# ---- reload ---------------------------------------------------------------------------------------------------------

show_server() {
    put server.crt "$state/authorities/server/$1.pem"
    put server.key "$state/authorities/server/$1.key"
}

expect_server() {
    local shown
    shown=$(openssl s_client -connect "localhost:$port" -CAfile "$certs/server-ca.pem" </dev/null 2>/dev/null \
        | openssl x509 -noout -serial 2>/dev/null) || true
    [ "$shown" = "$(serial_of "$state/authorities/server/$1.pem")" ] || complain "the gateway presents ${shown:-no certificate} instead of the certificate $1"
}

ask_reload() { (plain timeout 60 "$bin/portcullis" reload --socket "$state/control.sock" 2>&1); }

reload() {
    local said
    said=$(ask_reload) || complain "a reload was refused: $said"
}

# refuse_reload WHAT: expects a reload to fail because WHAT is broken.
refuse_reload() {
    local said
    if said=$(ask_reload); then
        complain "$1 was accepted: $said"
    elif ! grep -q "keeps its old settings" <<<"$said"; then
        complain "$1 got the wrong answer: $said"
    fi
}

storm() {
    while kill -HUP "$gateway_pid" 2>/dev/null; do sleep 0.2; done
}

fault_reload() {
    local ours=$state/authorities/clients/ca.pem theirs=$state/authorities/visitors/ca.pem name storm
    storm &
    storm=$!
    pids+=($storm)
    show_server two
    reload
    expect_server two
    # The authority is added before its list, and removed after it. In between its certificates are refused.
    put ca.pem "$ours" "$theirs"
    reload
    put lists.crl "$lists/nobody" "$lists/visitors"
    reload
    by visitors visitor
    expect_admitted "a certificate of the new authority" "${by[@]}"
    put lists.crl "$lists/unused" "$lists/visitors"
    reload
    by clients unused
    expect_refused "a revoked certificate that nobody had used" "401 invalid_client_certificate" "${by[@]}"
    put lists.crl "$lists/marked" "$lists/visitors"
    # Ten clients from two addresses, the 60,000th and the next one.
    put blocked <(printf 'address 127.0.234.98/31\n')
    reload
    by clients marked
    expect_refused "a revoked certificate" "401 invalid_client_certificate" "${by[@]}"
    sleep 2
    break_files
    expect_server two
    expect_refused "a revoked certificate, behind broken files," "401 invalid_client_certificate" "${by[@]}"
    by visitors visitor
    expect_admitted "a certificate of the new authority, behind broken files," "${by[@]}"

    show_server one
    put blocked /dev/null
    put lists.crl "$lists/nobody"
    put ca.pem "$ours"
    reload
    expect_server one
    expect_refused "a certificate of the authority that is gone" "401 invalid_client_certificate" "${by[@]}"
    by clients marked
    expect_admitted "a certificate that is off the list again" "${by[@]}"
    { kill "$storm" && wait "$storm"; } 2>/dev/null || true
}

# Each file is broken for a while, and also contains another change that must have no effect.
break_files() {
    local name kept=$state/kept
    mkdir -p "$kept"
    cp "$certs"/{server.crt,server.key,ca.pem,lists.crl,blocked} "$state/gateway.env" "$kept"
    put server.crt <(head -c 300 "$state/authorities/server/one.pem")
    refuse_reload "half a certificate"
    put server.crt "$state/authorities/server/one.pem"
    refuse_reload "a certificate with another's key"
    put server.crt "$kept/server.crt"
    put ca.pem <(printf 'nobody\n')
    refuse_reload "a file of no authorities"
    put ca.pem "$kept/ca.pem"
    put lists.crl "$lists/nobody" <(printf -- '-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n')
    refuse_reload "a broken revocation list"
    put lists.crl "$kept/lists.crl"
    # These are the addresses of the crowds.
    put blocked <(printf 'address 127.0.0.0/8\naddress nowhere\n')
    refuse_reload "a broken block list"
    put blocked "$kept/blocked"
    { cat "$kept/gateway.env"; printf 'MAX_SESSIONS_PER_ADDRESS=many\n'; } >"$state/gateway.env.new"
    mv -f "$state/gateway.env.new" "$state/gateway.env"
    refuse_reload "a setting that makes no sense"
    cp "$kept/gateway.env" "$state/gateway.env.new"
    mv -f "$state/gateway.env.new" "$state/gateway.env"
    reload
}

# ---- The results ----------------------------------------------------------------------------------------------------

# logged MESSAGE: prints the sum of the counts in the log lines with MESSAGE.
logged() {
    grep -F "$1" "$state/gateway.log" | grep -oE 'count=[0-9]+' | awk -F= '{ sum += $2 } END { printf "%d", sum }'
}

# expect_closed CROWD MESSAGE: checks that each time about all sessions of its ten clients were closed, and no others. Additionally, a
# client that starts a new session and vanishes before it learns the session's id leaves a session that no client resumes.
expect_closed() {
    local closed each=$((10 * ${fault_played[reload]:-0})) unclaimed
    closed=$(logged "$2")
    unclaimed=$(figure unclaimed "$state/$1.json")
    printf '%-10s %s sessions closed, %s expected and at most %s unclaimed\n' "$1" "$closed" "$each" "$unclaimed"
    [ "$closed" -le $((each + unclaimed)) ] || complain "$closed sessions were closed for $1, but only $each and $unclaimed were expected"
    [ "$closed" -ge $((each * 3 / 4)) ] || complain "only $closed sessions were closed for $1, but $each were expected"
}

judge_faults() {
    local name end files anew
    printf '\n== faults ==\n\n'
    for name in "${faults[@]}"; do printf '%-10s %s times\n' "$name" "${fault_played[$name]:-0}"; done
    if plays target; then
        anew=$(figure begunAnew "$state/fragile.json")
        printf '%-10s %s sessions ended and started again, of %s clients\n' fragile "$anew" "$fragile"
        [ "$anew" -ge "$fragile" ] || complain "not all sessions of the killed target were started again"
    fi
    if plays reload; then
        expect_closed marked "sessions of revoked certificates closed"
        expect_closed blocked "sessions of blocked clients closed"
    fi
    if plays clients; then
        kill_process pid_killed_typed
        kill_process pid_killed_raw
    fi
    printf '\n== memory, threads and files ==\n\n'
    cat "$state/watch.txt"
    # The sessions of killed clients are kept for a minute.
    end=$((SECONDS + 100))
    while files=$(open_files) && [ "$files" -gt "$idle_files" ] && [ $SECONDS -lt $end ]; do sleep 1; done
    printf 'left       %s files open, %s before the first session\n' "$files" "$idle_files"
    [ "$files" -le "$idle_files" ] || complain "$((files - idle_files)) files were left open"
    printf '\n== crowds without faults ==\n\n'
    printf '%s bytes lost, %s doubled, %s wrong; %s sessions lost; %s crashes\n' "$(figure lost_bytes "${reports[@]}")" \
        "$(figure doubled_bytes "${reports[@]}")" "$(figure corrupt_bytes "${reports[@]}")" "$(figure begunAnew "${reports[@]}")" \
        "$(kill -0 "$gateway_pid" 2>/dev/null && printf 0 || printf 1)"
}
