# Shared by trials that start their own gateway: starts its processes, and stops all of them at the end. Sourced after setup.bash, with
# `script_name` set: `number`, `find_programs`, `begin_trial`, `plain`, `await`, `start_target`, `start_gateway`, `resident`, `open_files`,
# `figure`.

# number OPTION VALUE: checks an argument.
number() {
    [[ ${2:-} =~ ^[1-9][0-9]{0,6}$ ]] || refuse_usage "$1 takes a number"
    printf '%s' "$2"
}

# find_programs [DIR]: sets bin; without DIR it builds the release.
find_programs() {
    bin=${1:-}
    if [ -z "$bin" ]; then
        require_swift
        require_packages "${build_packages[@]}"
        say "building (release)"
        swift build -c release --product portcullis
        swift build -c release --product portcullis-sim
        bin=$(swift build -c release --show-bin-path)
    fi
    local program
    for program in portcullis portcullis-sim; do
        [ -x "$bin/$program" ] || die "$bin/$program does not exist." "without --bin, it is built."
    done
}

# begin_trial: makes certificates and the folder `state`, and sets the trap that stops everything. `keep` tells whether the folder is kept.
begin_trial() {
    command -v openssl >/dev/null 2>&1 || die "there is no openssl command." "install openssl."
    scripts/make-dev-certs >/dev/null || die "scripts/make-dev-certs failed."
    certs=$PWD/certs/dev
    state=$(mktemp -d "${TMPDIR:-/tmp}/portcullis-$script_name.XXXXXX")
    pids=()
    trap end_trial EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    "$bin/portcullis-sim" authority --authority "$state/authority.json" --root "$state/root.pem" >/dev/null
}

end_trial() {
    local pid
    trap 'kill -KILL "${pids[@]}" 2>/dev/null || true' INT TERM HUP
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    [ -z "${store_mount:-}" ] || umount "$store_mount" 2>/dev/null || true
    if ${keep:-false}; then
        rm -rf "$state"/authority.json "$state"/keys.sqlite* "$state"/device*.json "$state"/authorities
        say "logs and reports: $state"
    else
        rm -rf "$state"
    fi
}

# plain PROGRAM ARGUMENT…: runs it without the caller's environment, which may have settings of another gateway.
plain() {
    exec env -i PATH="$PATH" HOME="${HOME:-/}" ${LD_LIBRARY_PATH:+LD_LIBRARY_PATH="$LD_LIBRARY_PATH"} "$@"
}

# await FILE PATTERN NAME: waits until a line of FILE matches, and prints it. It looks every `await_pause` seconds, `await_tries` times.
await() {
    local try
    for try in $(seq "${await_tries:-200}"); do
        if grep -m1 -E "$2" "$1" 2>/dev/null; then return 0; fi
        sleep "${await_pause:-0.1}"
    done
    cat "$1" >&2
    die "$3 did not start." "see its log above."
}

# start_target NAME ARGUMENT…: sets port_NAME and target_NAME, its process. If port_NAME is set already, that port is used again.
start_target() {
    local name=$1 kept=port_$1
    shift
    : >"$state/target-$name.log"
    plain "$bin/portcullis-sim" echo --port "${!kept:-0}" "$@" >"$state/target-$name.log" 2>&1 &
    pids+=($!)
    printf -v "target_$name" '%s' $!
    printf -v "port_$name" '%s' "$(await "$state/target-$name.log" 'listens on' "the target" | grep -oE '[0-9]+$')"
}

# start_gateway [VARIABLE=VALUE…]: two reactors; only simulated devices and debug clients are admitted. Standard input has further settings;
# the arguments are its environment. `gateway_program` may be another build. Sets gateway_pid, port, idle and idle_files.
start_gateway() {
    {
        cat <<ENV
WS_PORT=0
REACTOR_THREADS=2
TARGET_HOST=127.0.0.1
TLS_CERT_PATH='$certs/server.crt'
TLS_KEY_PATH='$certs/server.key'
APPATTEST_TEAM_ID=ABCDE12345
APPATTEST_BUNDLE_ID=com.example.mud
APPATTEST_ROOT_CA_PATH='$state/root.pem'
APPATTEST_ALLOW_CUSTOM_ROOT=true
ATTESTED_KEYS_PATH='${store_mount:-$state}/keys.sqlite'
MTLS_CLIENT_CA_PATH='$certs/ca.pem'
AUDIT_LOG_PATH='$state/audit.log'
CONTROL_SOCKET_PATH='$state/control.sock'
ENV
        cat
    } >"$state/gateway.env"
    plain "$@" "${gateway_program:-$bin/portcullis}" serve --env-file "$state/gateway.env" >"$state/gateway.out" 2>"$state/gateway.log" &
    gateway_pid=$!
    pids+=("$gateway_pid")
    port=$(await "$state/gateway.log" 'listening on https?:' "the gateway" | sed -E 's/.*listening on [^ ]*:([0-9]+) .*/\1/')
    idle=$(resident)
    idle_files=$(open_files)
}

# The gateway's current memory.
resident() { awk '/^VmRSS/ {printf "%.1f MiB", $2 / 1024}' "/proc/$gateway_pid/status" 2>/dev/null || printf 'gone'; }

# Without the key store's files: each of its connections, whose number is fixed, opens the WAL at its first use.
# A file that is closed meanwhile makes find fail.
open_files() { { find "/proc/$gateway_pid/fd" -mindepth 1 ! -lname '*/keys.sqlite*' 2>/dev/null || true; } | wc -l; }

# figure NAME FILE…: prints the sum of a report's figure over the files.
figure() {
    local name=$1
    shift
    cat "$@" 2>/dev/null | awk -v name="\"$name\"" '$1 == name { sum += $3 } END { printf "%d", sum }'
}
