# What the other scripts share. Only functions and lists: nothing runs here. Plain POSIX sh (dash, bash, busybox ash).
# Variables that it reads are set by script.rs, or by the script that uses the function:
#   mark     random word that starts every line meant for the controller; other lines are noise of the login
#   id       attempt id
#   seconds  time limit of the command
#   shell    words of the shell that runs the command
#   command  text of the command

# Programs that a step with a run directory needs, beside its shell.
required_tools="flock setsid timeout mkdir mkfifo dd head tail tee cat wc grep env sync sleep rm chmod"
# The few of them that a read-only step needs.
required_tools_direct="timeout env"

say() { printf '\n%s %s\n' "$mark" "$*"; }

# find_missing_tools TOOL...: sets `missing` to those of the tools, and of the command's shell, that are not in PATH.
# Fails if none is missing.
find_missing_tools() {
    missing=
    for tool in "$@" "${shell%% *}"; do
        command -v "$tool" >/dev/null 2>&1 || missing="${missing:+$missing }$tool"
    done
    [ -n "$missing" ]
}

# Sets `uptime` in centiseconds, without leading zeros, which would make it an octal number.
read_uptime() {
    read -r uptime rest </proc/uptime
    uptime=${uptime%.*}${uptime#*.}
    uptime=${uptime#"${uptime%%[!0]*}"}
    uptime=${uptime:-0}
}

# Sets `this_instance`, which names this boot of the target. The boot id in a container is that of its host; the start
# time of PID 1 (field 22 of its stat) tells the two and their restarts apart.
read_instance() {
    read -r boot </proc/sys/kernel/random/boot_id
    read -r stat </proc/1/stat
    # The second field is a name in parentheses that may contain spaces.
    stat=${stat##*) }
    set -- $stat
    shift 19
    this_instance=$boot:$1
}

# lock_within SECONDS ARGUMENTS...: flock with a limit. busybox has no -w and says so at once: then look ten times a
# second.
lock_within() {
    lock_seconds=$1
    tries=$((lock_seconds * 10))
    read_uptime
    too_early=$((uptime + tries * 9))
    shift
    flock -w "$lock_seconds" "$@" 2>/dev/null && return 0
    read_uptime
    [ "$uptime" -lt "$too_early" ] || return 1
    while ! flock -n "$@"; do
        [ "$tries" -gt 0 ] || return 1
        tries=$((tries - 1))
        sleep 0.1
    done
}

flush_to_disk() { sync "$@" 2>/dev/null || sync; }

# Sets `bytes` to the length of a file, 0 if there is none.
read_length() {
    bytes=$({ wc -c <"$1"; } 2>/dev/null)
    bytes=$((${bytes:-0}))
}

# Prints the process ids of the command and its descendants, also of those that left its session: they carry the
# attempt id in their environment.
attempt_pids() {
    for file in $(grep -lsF "OIKOS_TREE=.$id." /proc/[0-9]*/environ); do
        pid=${file#/proc/}
        printf '%s\n' "${pid%/environ}"
    done
}

# signal_attempt SIGNAL: sets `signalled_processes` to how many of them could be sent the signal.
signal_attempt() {
    signalled_processes=0
    for pid in $(attempt_pids); do
        kill -s "$1" "$pid" 2>/dev/null && signalled_processes=$((signalled_processes + 1))
    done
}

# exec_command [PREFIX...]: this shell becomes the command, with its time limit and an environment in which nothing asks
# or pages.
exec_command() {
    exec "$@" env -i PATH="$PATH" HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
        PAGER=cat TERM=dumb OIKOS_ATTEMPT="$id" OIKOS_TREE=".$id." timeout -k 10 "$seconds" $shell -c "$command"
}

# read_ending TEXT: TEXT is what the shell printed on standard error about a command's end, then a space and the exit
# code. Sets `code`, and `signalled` to 1 if the shell named a signal: an exit code above 128 that a program chose itself
# comes without such a line (nor do SIGINT and SIGPIPE have one).
read_ending() {
    code=${1##* }
    signalled=0
    if [ "$code" -gt 128 ] && [ "$1" != " $code" ]; then signalled=1; fi
}
