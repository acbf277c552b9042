# Shared by trials that follow a document in machines of machine.bash, block by block. Sourced after it: `read_guide`, `guide`, `follow`, `follow_typing`,
# `elsewhere`, `said`, `write`, `set_settings`, `let_apt_out`. A test finds the blocks that no trial follows, and that none names by `elsewhere`.

# For bare machines; a shell without extensions, which stops at the first command that fails.
shell=(env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -ec)

# read_guide DOCUMENT…: what follows is about these.
read_guide() {
    guide_pages=("$@")
    say "reading $*"
}

# guide TEXT: the block that has this text.
guide() {
    awk -v text="$1" '
        /^ *```/ {
            if (open && index(block, text)) { found++; answer = block }
            open = !open; block = ""; margin = index($0, "`")
            next
        }
        open { block = block substr($0, margin) "\n" }
        END { printf "%s", answer; exit found != 1 }' "${guide_pages[@]}" || die "the guide hasn't exactly one block with: $1"
}

# follow TEXT [SED]: runs the block here, in root's folder. Sets `answer`. What it leaves in the background goes on.
follow() {
    local commands
    commands=$(guide "$1" | sed -e "${2:-}")
    inside "${shell[@]}" "cd; $commands" >"$output/answer" 2>&1 </dev/null || die "$host: the guide's commands failed: $commands" "they said: $(cat "$output/answer")"
    answer=$(tr -d '\0' <"$output/answer")
    say "$host: ok: $(head -n 1 <<<"$commands") …"
}

# Types each answer when a password is asked for.
typist='
import os, pty, sys
answers, asked = sys.argv[1].split(), b""
child, terminal = pty.fork()
if child == 0: os.execvp(sys.argv[2], sys.argv[2:])
while True:
    try: said = os.read(terminal, 4096)
    except OSError: break
    if not said: break
    sys.stdout.buffer.write(said)
    asked += said
    if asked.rstrip().endswith(b":"): os.write(terminal, answers.pop(0).encode() + b"\n"); asked = b""
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))'

# follow_typing ANSWERS TEXT: the same, on a terminal.
follow_typing() {
    local commands answer
    commands=$(guide "$2")
    answer=$(TERM=dumb python3 -c "$typist" "$1" nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup --root --wd \
        env -i HOME=/root "${shell[@]}" "cd; $commands" 2>&1) || die "$host: the guide's commands failed: $commands" "they said: $answer"
    say "$host: ok: $(head -n 1 <<<"$commands") …"
}

# elsewhere TEXT REASON: the block is there, and isn't run.
elsewhere() {
    guide "$1" >/dev/null
    say "not run: $1 …: $2"
}

# said SENTENCE PATTERN: the last answer has it.
said() { grep -qE "$2" <<<"$answer" || die "$host: it is not so that $1: $answer"; say "$host: ok: $1"; }

# write FILE TEXT [SED]: appends the block to a file.
write() { guide "$2" | sed -e "${3:-}" | inside sh -c "cat >>$1"; }

# set_settings: changes or adds the lines of standard input in the package's file.
set_settings() {
    local line
    while IFS= read -r line; do
        inside sh -c 'sed -i "/^${0%%=*}=/d" /etc/portcullis/portcullis.env && echo "$0" >>/etc/portcullis/portcullis.env' "$line" </dev/null
    done
}

# let_apt_out: `apt-get` reaches Debian's mirror, as on a machine that has a way there. Services begin in the machine's own network.
let_apt_out() {
    cat >"$machine/usr/local/sbin/apt-get" <<'APT'
#!/bin/sh
set -e
case $1 in install) nsenter --net=/run/outside /usr/bin/apt-get -qq -y --download-only "$@" >/dev/null ;; *) exec nsenter --net=/run/outside /usr/bin/apt-get -qq "$@" ;; esac
exec /usr/bin/apt-get -qq -y "$@" >/var/log/apt-get.log 2>&1
APT
    chmod 0755 "$machine/usr/local/sbin/apt-get"
}
