# Shared by the scripts: messages, usage and the installation of missing packages. Sourced, not run: `usage`, `refuse_usage`,
# `require_swift`, `require_packages NAME…`, `require_servers NAME…`, `require_postgresql`, `copy_apt_settings FOLDER`.

say() { printf '%s: %s\n' "$script_name" "$*"; }

die() {
    printf '%s: error: %s\n' "$script_name" "$1" >&2
    [ $# -lt 2 ] || printf '%s: hint: %s\n' "$script_name" "$2" >&2
    exit 1
}

# Prints the comment at the head of the script, for `--help`.
usage() { sed -n '2,/^set -euo/{/^set -euo/d;s/^# \{0,1\}//p;}' "$script_path"; }

# refuse_usage PROBLEM: prints the problem and the usage to standard error; exits with EX_USAGE of sysexits(3).
refuse_usage() {
    printf '%s: error: %s\n\n' "$script_name" "$1" >&2
    usage >&2
    exit 64
}

# Packages for building and running the gateway; `libwebsockets-evlib-uv` is loaded at run time.
build_packages=(libwebsockets-dev libwebsockets-evlib-uv libuv1-dev libssl-dev libsqlite3-dev zlib1g-dev libpq-dev pkg-config openssl)

# The libraries that Swift's own programs are linked with.
swift_runtime_packages=(libncurses6 libedit2 libxml2 libcurl4 libsqlite3-0 libz3-4 libgcc-s1 libstdc++6 zlib1g tzdata)

# Packages that Swift needs to compile and link on this distribution. Empty if apt doesn't know them.
swift_packages() {
    local cxx
    cxx=$(apt-cache depends g++ 2>/dev/null | sed -n 's/^ *Depends: g++-\([0-9]*\).*/\1/p' | head -n 1)
    printf 'binutils libc6-dev'
    [ -z "$cxx" ] || printf ' libgcc-%s-dev libstdc++-%s-dev' "$cxx" "$cxx"
}

# Finds Swift 6.2 or later in PATH or in the usual folders of Swift's archives. It must run, and link a program.
require_swift() {
    command -v swift >/dev/null 2>&1 || export PATH="$PATH:/opt/swift/usr/bin:/usr/share/swift/usr/bin:$HOME/.local/share/swiftly/bin"
    command -v swift >/dev/null 2>&1 || die "there is no swift command." "install Swift 6.2 or later: https://www.swift.org/install/linux/"
    local answer version
    answer=$(swift --version 2>&1) || {
        say "swift doesn't run: ${answer##*$'\n'}"
        require_packages "${swift_runtime_packages[@]}"
        answer=$(swift --version 2>&1)
    } || die "swift doesn't run: ${answer##*$'\n'}" "Swift's own libraries may be missing: https://www.swift.org/install/linux/ lists the packages."
    version=$(grep -oE 'Swift version [0-9]+\.[0-9]+' <<<"$answer" | grep -oE '[0-9]+\.[0-9]+' | head -n 1)
    [ -n "$version" ] || die "swift --version prints no version: ${answer%%$'\n'*}" "https://www.swift.org/install/linux/"
    [ "${version%%.*}" -gt 6 ] || { [ "${version%%.*}" -eq 6 ] && [ "${version#*.}" -ge 2 ]; } \
        || die "this is Swift $version; 6.2 or later is needed." "https://www.swift.org/install/linux/"
    say "Swift $version"
    links_program || { require_packages $(swift_packages) && links_program; } \
        || die "swift can't link a program: $link_problem" "Swift needs a linker and the C and C++ headers: $(swift_packages)"
}

# links_program: checks that Swift compiles and links an empty program; otherwise sets `link_problem` to the reason.
links_program() {
    local folder
    folder=$(mktemp -d)
    printf 'import Glibc\n' >"$folder/main.swift"
    link_problem=$(swiftc "$folder/main.swift" -o "$folder/program" 2>&1 | grep -m 1 -E 'error|not found' || true)
    [ -x "$folder/program" ]
    local result=$?
    rm -rf "$folder"
    return $result
}

# Installs the given Debian packages that are missing.
require_packages() {
    local missing=() name
    for name in "$@"; do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || { say "all Debian packages are installed"; return 0; }
    local by_hand="run as root: apt-get install ${missing[*]}"
    command -v apt-get >/dev/null 2>&1 || die "missing: ${missing[*]}" "this script uses apt-get; install them with your system's package manager."
    local root=(env DEBIAN_FRONTEND=noninteractive)
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || die "missing: ${missing[*]}" "$by_hand"
        say "sudo is needed to install ${missing[*]}"
        sudo true || die "sudo refused." "$by_hand"
        root=(sudo "${root[@]}")
    fi
    say "installing ${missing[*]}"
    "${root[@]}" apt-get update -qq >/dev/null </dev/null || die "apt-get update failed." "check the network and /etc/apt."
    # A file of settings that is there already stays: dpkg would ask.
    "${root[@]}" apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "${missing[@]}" >/dev/null </dev/null \
        || die "apt-get could not install ${missing[*]}" "run it by hand to see why."
}

# copy_apt_settings FOLDER: this machine's apt settings, such as a proxy, also apply in the system below that folder. Those that packages have brought
# would be in the way of the same packages there.
copy_apt_settings() {
    local file
    for file in /etc/apt/apt.conf.d/*; do
        [ -f "$file" ] && ! dpkg-query --search "$file" >/dev/null 2>&1 || continue
        cp -a "$file" "$1/etc/apt/apt.conf.d/"
    done
}

# Where `require_servers` puts programs; tests look here too.
servers_folder=.build/servers

# Makes nginx, caddy, haproxy, prometheus and promtool available as Debian has them. Debian 12 has promtool in the package prometheus, so name that first. Installed packages would start and enable services, so the programs are only unpacked,
# into `servers_folder`; what is installed already is used as it is. Sets the variables of these names to their paths.
require_servers() {
    local name
    for name in "$@"; do
        local program
        program=$(find_server "$name") || { unpack_server "$name"; program=$(find_server "$name"); } \
            || die "$name can't be had." "install it with your system's package manager."
        printf -v "$name" '%s' "$program"
        say "$name: $program"
    done
}

# Makes nginx's JavaScript module available in the same way. Sets `nginx_js` to its path.
require_nginx_js() {
    nginx_js=$(find_nginx_js) || { unpack_server libnginx-mod-http-js; nginx_js=$(find_nginx_js); } \
        || die "nginx's JavaScript module can't be had." "install libnginx-mod-http-js with your system's package manager."
    say "nginx's JavaScript module: $nginx_js"
}

find_nginx_js() {
    local path name=/usr/lib/nginx/modules/ngx_http_js_module.so
    for path in "$name" "$PWD/$servers_folder$name"; do
        [ ! -f "$path" ] || { printf '%s' "$path"; return 0; }
    done
    return 1
}

# find_server NAME: prints the path of a program that runs.
find_server() {
    local path
    for path in "$(PATH="$PATH:/usr/sbin" command -v "$1" || true)" "$PWD/$servers_folder"/usr/{sbin,bin}/"$1"; do
        [ -n "$path" ] && [ -x "$path" ] || continue
        case $1 in
            nginx | haproxy) "$path" -v >/dev/null 2>&1 || continue ;;
            prometheus | promtool) "$path" --version >/dev/null 2>&1 || continue ;;
            *) "$path" version >/dev/null 2>&1 || continue ;;
        esac
        printf '%s' "$path"
        return 0
    done
    return 1
}

# unpack_server NAME: its Debian package, without its service.
unpack_server() {
    command -v apt-get >/dev/null 2>&1 || return 1
    case $1 in
        nginx) require_packages libpcre2-8-0 zlib1g libcrypt1 ;;
        haproxy) require_packages $(apt-cache depends haproxy | sed -n 's/^ *Depends: \(lib[^ ]*\)$/\1/p') ;;
    esac
    local folder
    folder=$(mktemp -d)
    (cd "$folder" && apt-get download -qq "$1" >/dev/null 2>&1) || {
        # The lists of packages are old, or there are none.
        rm -f "$folder"/*.deb
        local root=()
        [ "$(id -u)" -eq 0 ] || root=(sudo)
        "${root[@]}" apt-get update -qq >/dev/null </dev/null || true
        (cd "$folder" && apt-get download -qq "$1" >/dev/null 2>&1) || { rm -rf "$folder"; return 1; }
    }
    say "unpacking $(basename "$folder"/*.deb) into $servers_folder"
    mkdir -p "$servers_folder"
    dpkg -x "$folder"/*.deb "$servers_folder"
    rm -rf "$folder"
}

# Makes PostgreSQL's server programs available as Debian has them. As with `require_servers` they are only unpacked, so that no server is started; the libraries that they need are
# installed. Sets `postgresql` to the folder of the programs.
require_postgresql() {
    postgresql=$(find_postgresql) || { unpack_postgresql; postgresql=$(find_postgresql); } \
        || die "PostgreSQL can't be had." "install postgresql with your system's package manager."
    say "PostgreSQL: $postgresql"
}

# Prints the folder with the programs of the newest version that runs.
find_postgresql() {
    local folder
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin "$PWD/$servers_folder"/usr/lib/postgresql/*/bin | sort -Vr); do
        "$folder/postgres" --version >/dev/null 2>&1 && [ -x "$folder/initdb" ] || continue
        printf '%s' "$folder"
        return 0
    done
    return 1
}

unpack_postgresql() {
    command -v apt-cache >/dev/null 2>&1 || return 1
    local version libraries
    version=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
    [ -n "$version" ] || return 1
    libraries=$(apt-cache depends "postgresql-$version" | sed -n 's/^ *Depends: \(lib[^ ]*\)$/\1/p')
    require_packages $libraries tzdata util-linux
    unpack_server "postgresql-client-$version" && unpack_server "postgresql-$version"
}
