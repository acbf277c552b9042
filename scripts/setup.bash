# What the scripts share: how they speak, and installing what is missing. Sourced, not run: `usage`, `refuse_usage`,
# `require_swift`, `require_packages NAME…`.

say() { printf '%s: %s\n' "$script_name" "$*"; }

die() {
    printf '%s: error: %s\n' "$script_name" "$1" >&2
    [ $# -lt 2 ] || printf '%s: hint: %s\n' "$script_name" "$2" >&2
    exit 1
}

# Prints the comment at the head of the script: what `--help` shows.
usage() { sed -n '2,/^set -euo/{/^set -euo/d;s/^# \{0,1\}//p;}' "$script_path"; }

# refuse_usage PROBLEM: how the script is to be called, on standard error; ends with EX_USAGE of sysexits(3).
refuse_usage() {
    printf '%s: error: %s\n\n' "$script_name" "$1" >&2
    usage >&2
    exit 64
}

# What the gateway is built and run with; `libwebsockets-evlib-uv` is loaded at run time.
build_packages=(libwebsockets-dev libwebsockets-evlib-uv libuv1-dev libssl-dev libsqlite3-dev pkg-config openssl)

# Swift 6.2 or later, from PATH or from where Swift's own archives are often unpacked.
require_swift() {
    command -v swift >/dev/null 2>&1 || export PATH="$PATH:/opt/swift/usr/bin:/usr/share/swift/usr/bin:$HOME/.local/share/swiftly/bin"
    command -v swift >/dev/null 2>&1 || die "there is no swift command." "install Swift 6.2 or later: https://www.swift.org/install/linux/"
    local version
    version=$(swift --version 2>/dev/null | grep -oE 'Swift version [0-9]+\.[0-9]+' | grep -oE '[0-9]+\.[0-9]+') || version=0.0
    [ "${version%%.*}" -gt 6 ] || { [ "${version%%.*}" -eq 6 ] && [ "${version#*.}" -ge 2 ]; } \
        || die "this is Swift $version; 6.2 or later is needed." "https://www.swift.org/install/linux/"
    say "Swift $version"
}

# Installs those of the named Debian packages that are missing; nothing where all are there.
require_packages() {
    local missing=() name
    for name in "$@"; do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || { say "all Debian packages are there"; return 0; }
    command -v apt-get >/dev/null 2>&1 || die "missing: ${missing[*]}" "this script installs with apt-get; install them in your system's way."
    local root=()
    [ "$(id -u)" -eq 0 ] || root=(sudo)
    [ ${#root[@]} -eq 0 ] || command -v sudo >/dev/null 2>&1 || die "missing: ${missing[*]}" "run as root: apt-get install ${missing[*]}"
    say "installing ${missing[*]}"
    "${root[@]}" apt-get update -qq >/dev/null || die "apt-get update failed." "check the network and /etc/apt."
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null \
        || die "apt-get could not install ${missing[*]}" "run it by hand to see why."
}
