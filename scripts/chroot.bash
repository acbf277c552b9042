# Shared by scripts that work on another release of Debian or Ubuntu: a chroot made by debootstrap, kept in .build-on-NAME, with this machine's Swift
# (SWIFT_HOME, by default where `swift` is installed) and a copy of the current sources. Needs root. Sourced after setup.bash: `read_suite NAME`,
# `enter_chroot`, `in_chroot [NAME=VALUE]… COMMAND…`.

# read_suite NAME: sets `suite`.
read_suite() {
    [[ $1 =~ ^[a-z]+$ ]] || refuse_usage "--suite takes a name such as trixie"
    suite=$1
}

# enter_chroot: makes the chroot of `suite` if there is none (from `mirror`, if that is set), and copies the sources into it. Sets `root`, its folder, and
# `sources`, the copy in it. Until this script ends the chroot has this machine's devices, Swift and downloads.
enter_chroot() {
    [ "$(id -u)" -eq 0 ] || die "debootstrap and chroot need root." "sudo scripts/$script_name --suite $suite"
    require_swift
    require_packages debootstrap rsync
    local swift_home=${SWIFT_HOME:-$(realpath "$(command -v swift)" | sed 's|/usr/bin/.*||')}
    [ -x "$swift_home/usr/bin/swift" ] || die "Swift isn't in $swift_home." "set SWIFT_HOME to the folder that contains usr/bin/swift."
    root=$PWD/.build-on-$suite
    sources=$root/portcullis
    if [ ! -e "$root/.complete" ]; then
        say "making a chroot of $suite in $root: some minutes"
        debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" ${mirror:+"$mirror"} >"$PWD/.build-on-$suite.log" 2>&1 \
            || die "debootstrap failed: $(tail -n 1 "$PWD/.build-on-$suite.log")" "see .build-on-$suite.log; remove $root before the next run."
        touch "$root/.complete"
    fi
    copy_apt_settings "$root"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    grep -qw localhost "$root/etc/hosts" 2>/dev/null || printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n' >"$root/etc/hosts"
    mkdir -p "$root/opt/swift" "$sources" "$root/shared"
    rsync -a --delete --exclude='.build*' --exclude=.git --exclude='*.sqlite*' ./ "$sources/"
    trap leave_chroot EXIT
    attach proc /proc "-t proc"
    attach /dev /dev --rbind
    attach "$swift_home" /opt/swift --bind
    # Dependencies that are already here needn't be downloaded again.
    if [ -d "$HOME/.cache/org.swift.swiftpm" ]; then
        mkdir -p "$root/root/.cache/org.swift.swiftpm"
        attach "$HOME/.cache/org.swift.swiftpm" /root/.cache/org.swift.swiftpm --bind
    fi
    if [ -d ../shared ]; then attach "$(realpath ../shared)" /shared --bind; fi
}

mounts=()
leave_chroot() {
    local place
    for place in ${mounts[@]+"${mounts[@]}"}; do umount -l "$place" 2>/dev/null || true; done
}

# attach KIND-OR-FOLDER PLACE OPTIONS
attach() {
    mountpoint -q "$root$2" || mount $3 "$1" "$root$2" || die "can't mount $1 at $root$2." "a container may need more rights."
    mounts=("$root$2" ${mounts[@]+"${mounts[@]}"})
}

# in_chroot [NAME=VALUE]… COMMAND…: runs it in the copy of the sources, with these variables only. The chroot is the root of a mount namespace of its own, so that
# tests can make further ones in it: unshare(1) refuses where the root isn't a mount.
in_chroot() {
    unshare --mount --propagation private sh -c '
        mount --rbind "$0" "$0" && cd "$0" && mkdir -p .outside && pivot_root . .outside && umount -l .outside || exit 1
        exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin:/opt/swift/usr/bin LANG=C.UTF-8 bash -c "cd /portcullis && exec env \"\$@\"" chroot "$@"' \
        "$root" "$@"
}

# chroot_name: the release, in its own words.
chroot_name() { (. "$root/etc/os-release" && printf '%s' "$PRETTY_NAME"); }
