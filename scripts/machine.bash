# Shared by trials in a clean Debian of their own: makes it, and boots systemd in it, in namespaces. Needs root. Sourced after setup.bash, with
# `script_name`, `release` (debootstrap's name, such as bookworm), `output` (a folder), `machine` (a folder below it) and `keep` set:
# `make_clean_system`, `make_machine`, `inside`, `check`, `equals`, `eventually`, `boot`. A trial with several machines sets `machine`, `host`, `init`,
# `starter` and `group` to those of one at a time.

# make_clean_system: makes $output/clean-$release by debootstrap, once.
make_clean_system() {
    clean=$output/clean-$release
    require_packages debootstrap util-linux iproute2
    if [ ! -e "$clean/.complete" ]; then
        say "making a clean $release in $clean: some minutes"
        mkdir -p "$output"
        rm -rf "$clean"
        debootstrap --variant=minbase --include=ca-certificates,systemd,systemd-sysv "$release" "$clean" >"$output/debootstrap.log" 2>&1 \
            || die "debootstrap failed: $(tail -n 1 "$output/debootstrap.log")" "see $output/debootstrap.log"
        touch "$clean/.complete"
    fi
}

# make_machine: `machine` becomes a copy of the clean system.
make_machine() {
    require_packages procps
    make_clean_system
    rm -rf "$machine"
    cp -a "$clean" "$machine"
    copy_apt_settings "$machine"
    cp -L /etc/resolv.conf "$machine/etc/resolv.conf"
    trap stop EXIT
}

host=mud init= starter= group=
stop() {
    [ -z "$starter" ] || { kill -KILL "$starter" 2>/dev/null; wait "$starter" 2>/dev/null; } || true
    [ -z "$group" ] || { sleep 1; find "$group" -depth -type d -exec rmdir {} + 2>/dev/null; } || true
    init=
    [ -n "$keep" ] || rm -rf "$machine"
}

# inside COMMAND…: runs it in the machine: before its start in a chroot, then beside its process 1.
inside() {
    local environment=(env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
    if [ -z "$init" ]; then
        unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' \
            "$machine" "${environment[@]}" "$@"
    else
        nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup --root --wd "${environment[@]}" "$@"
    fi
}

# check SENTENCE COMMAND…: the command, run inside, must succeed.
check() {
    local sentence=$1
    shift
    local answer
    answer=$(inside "$@" 2>&1) || {
        inside journalctl --no-pager -n 30 -u portcullis >&2 2>/dev/null || true
        die "it is not so that $sentence: $* said: $answer"
    }
    say "ok: $sentence"
}

# equals SENTENCE EXPECTED COMMAND…: the command, run inside, must print that.
equals() {
    local sentence=$1 expected=$2 answer
    shift 2
    answer=$(inside "$@" 2>&1) || true
    [ "$answer" = "$expected" ] || {
        inside journalctl --no-pager -n 30 -u portcullis >&2 2>/dev/null || true
        die "it is not so that $sentence: $* said: $answer"
    }
    say "ok: $sentence"
}

# eventually COMMAND…: waits until it succeeds inside.
eventually() {
    local attempt
    for attempt in $(seq 150); do
        ! inside "$@" >/dev/null 2>&1 || return 0
        sleep 0.2
    done
    inside journalctl --no-pager -n 30 -u portcullis >&2 || true
    inside systemctl --no-pager --failed >&2 || true
    die "waited in vain for: $*"
}

# boot: starts systemd in the machine, with a network that has a loopback interface only.
boot() {
    # The kernel is the host's: its modules are none of the machine's business.
    ln -sf /dev/null "$machine/etc/systemd/system/systemd-modules-load.service"
    cat >"$output/boot" <<'BOOT'
set -e
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
for device in null zero full random urandom tty; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ip link set lo up
# The way to Debian's mirror.
touch "$root/run/outside"
mount --bind "/proc/$3/ns/net" "$root/run/outside"
hostname "$2"
cd "$root"
mkdir -p .old
pivot_root . .old
umount -l /.old
exec env -i container=try-package PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init --log-target=journal </dev/null >/dev/null 2>&1
BOOT
    # systemd needs a control group of its own.
    group=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)/portcullis-$script_name-$$-$host
    mkdir -p "$group" || die "a control group can't be made." "a container may need more rights."
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        exec unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child=KILL bash "$output/boot" "$machine" "$host" "$$" 2>"$output/boot.log"
    ) &
    starter=$!
    local attempt
    for attempt in $(seq 100); do
        kill -0 "$starter" 2>/dev/null || die "systemd can't be started in namespaces: $(cat "$output/boot.log")" "a container may need more rights."
        init=$(pgrep -P "$starter" | head -n 1 || true)
        [ -n "$init" ] && [ "$(cat "/proc/$init/comm" 2>/dev/null)" = systemd ] && break
        init=
        sleep 0.1
    done
    [ -n "$init" ] || die "systemd didn't start." "see $output/boot.log"
    eventually systemctl is-system-running --quiet
}
