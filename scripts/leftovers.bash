# What a run of the tests leaves behind. Sourced after setup.bash: `take_turn`, `begin_leftovers`, `expect_no_leftovers`.

# take_turn: waits until no other run of the tests uses this checkout's .build. (Swift's own lock is in TMPDIR, which each run has for itself.)
take_turn() {
    mkdir -p .build
    exec 9>.build/test.lock
    flock --nonblock 9 && return 0
    say "another run of the tests uses .build: waiting for its end"
    flock 9
}

# begin_leftovers: from now on TMPDIR is a folder of this run, `leftovers`. When the script ends, the folder is removed and every process ended that was
# started with it. Compilers leave the expansions of macros there: 80 MB for all of this project.
begin_leftovers() {
    leftovers=$(mktemp -d "${TMPDIR:-/tmp}/pc-test.XXXXXX")
    # PostgreSQL's servers don't run as root.
    chmod 0711 "$leftovers"
    export TMPDIR=$leftovers
    trap end_leftovers EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# left_behind: prints the numbers of the processes that were started with this TMPDIR. Without a program: that would be one of them.
left_behind() {
    local entry variable
    for entry in /proc/[0-9]*; do
        [ "$entry" != "/proc/$BASHPID" ] || continue
        {
            while IFS= read -r -d '' variable; do
                [ "$variable" != "TMPDIR=$leftovers" ] || { printf '%s ' "${entry#/proc/}"; break; }
            done <"$entry/environ"
        } 2>/dev/null || true
    done
}

# expect_no_leftovers: fails if processes are left. Some take a moment to end.
expect_no_leftovers() {
    local attempt processes
    for attempt in $(seq 50); do
        processes=$(left_behind)
        [ -n "$processes" ] || return 0
        sleep 0.2
    done
    processes=${processes% }
    ps -o pid,ppid,stat,args -p "${processes// /,}" >&2 || true
    die "the tests have left processes behind: $processes"
}

end_leftovers() {
    local processes
    processes=$(left_behind)
    # shellcheck disable=SC2086
    [ -z "$processes" ] || kill -KILL $processes 2>/dev/null || true
    rm -rf "$leftovers"
}
