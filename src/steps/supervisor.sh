# Runs one command in its own session and writes down how it ended. Started by wrapper.sh with setsid; nothing here
# depends on the connection. Inherits fd 9 (lock of this attempt) and fd 7 (lock of the target).
id=$1 dir=$2 seconds=$3 shell=$4 search=$5 command=$6
limit=524288

read_uptime() {
    read -r uptime rest </proc/uptime
    uptime=${uptime%.*}${uptime#*.}
    uptime=${uptime#"${uptime%%[!0]*}"}
    uptime=${uptime:-0}
}

marked() { grep -lsF "OIKOS_TREE=.$id." /proc/[0-9]*/environ; }

# As in wrapper.sh.
lock_within() {
    tries=$(($1 * 10))
    read_uptime
    too_early=$((uptime + tries * 9))
    limit_of_lock=$1
    shift
    flock -w "$limit_of_lock" "$@" 2>/dev/null && return 0
    read_uptime
    [ "$uptime" -lt "$too_early" ] || return 1
    while ! flock -n "$@"; do
        [ "$tries" -gt 0 ] || return 1
        tries=$((tries - 1))
        sleep 0.1
    done
}

signal_marked() {
    for file in $(marked); do
        pid=${file#/proc/}
        kill -s "$1" "${pid%/environ}" 2>/dev/null
    done
}

# Keeps the first and the last half MiB of a stream, counts all of it and never stops reading before the end: a
# command must not die of SIGPIPE or block because we had enough. tee writes the first part at once, so that what a
# command printed is there even if a daemon of it holds the stream open; the file size limit, and nothing else, ends
# that part. The second stage may buffer.
collect() {
    trap '' HUP INT TERM PIPE XFSZ
    (ulimit -f $((limit / 512)) && exec tee "$dir/$1.head" 2>/dev/null) | measure "$1" "$2"
}

# dd with fullblock reads exactly what it keeps and leaves the rest in the pipe.
measure() {
    if ! dd of="$dir/$1.spill" bs=8192 count=$((limit / 8192)) iflag=fullblock 2>/dev/null; then
        rest=$(wc -c)
        size=$(wc -c <"$dir/$1.spill")
        printf '%s -\n' $((size + rest)) >"$dir/$1.total"
        return
    fi
    size=0
    [ -s "$dir/$1.spill" ] && size=$(($(wc -c <"$dir/$1.spill")))
    digest=
    command -v sha256sum >/dev/null && digest=sha256sum
    if [ "$size" -lt "$limit" ]; then
        sum=-
        # The controller is sent all of a short output and digests it itself.
        if [ "$size" -gt "$2" ] && [ -n "$digest" ]; then sum=$($digest <"$dir/$1.spill"); fi
        printf '%s %s\n' "$size" "${sum%% *}" >"$dir/$1.total"
        return
    fi
    mkfifo "$dir/$1.sum" "$dir/$1.count"
    ${digest:-wc -c} <"$dir/$1.sum" >"$dir/$1.digest" &
    wc -c <"$dir/$1.count" >"$dir/$1.bytes" &
    cat "$dir/$1.spill" - | tee "$dir/$1.sum" "$dir/$1.count" | tail -c "$limit" >"$dir/$1.tail"
    wait
    read -r size <"$dir/$1.bytes"
    read -r sum rest <"$dir/$1.digest"
    [ -n "$digest" ] || sum=-
    printf '%s %s\n' $((size)) "$sum" >"$dir/$1.total"
    rm -f "$dir/$1.sum" "$dir/$1.count" "$dir/$1.bytes" "$dir/$1.digest"
}

total() {
    bytes=- sum=-
    [ -s "$dir/$1.total" ] && read -r bytes sum <"$dir/$1.total"
}

mkfifo "$dir/out.pipe" "$dir/err.pipe" || exit 70
exec 6>>"$dir/collect.lock" 8>>"$dir/tree.lock"
flock -s 6
flock -s 8
collect out 12288 <"$dir/out.pipe" 7>&- 8>&- 9>&- &
collectors=$!
collect err 6144 <"$dir/err.pipe" 7>&- 8>&- 9>&- &
collectors="$collectors $!"
exec 6>&-
read_uptime
begun=$uptime
# From here on the command may have acted.
printf '%s\n' "$begun" >"$dir/started" || { kill $collectors; exit 70; }
# In the foreground of a subshell: a background command would be born with SIGINT and SIGQUIT ignored. The shell names
# a signal that killed the command on its standard error; an exit code above 128 that a program chose itself comes
# without such a line (nor do SIGINT and SIGPIPE have one).
end=$({
    (
        exec </dev/null >"$dir/out.pipe" 2>"$dir/err.pipe" 7>&- 9>&-
        exec setsid env -i PATH="$search" HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
            PAGER=cat TERM=dumb OIKOS_ATTEMPT="$id" OIKOS_TREE=".$id." timeout -k 10 "$seconds" $shell -c "$command"
    )
    printf ' %s' "$?"
} 2>&1 7>&- 9>&-)
exec 8>&-
code=${end##* }
read_uptime
elapsed=$((uptime - begun))
signalled=0 timed_out=0 cancelled=0 leaked=0
if [ "$code" -gt 128 ] && [ "$end" != " $code" ]; then signalled=1; fi
[ -e "$dir/cancel" ] && cancelled=1
if [ "$elapsed" -ge $((seconds * 100)) ]; then
    # busybox has no code of its own for it.
    case $code in 124 | 137 | 143) timed_out=1 ;; esac
fi
if ! flock -n "$dir/tree.lock" true; then
    if [ "$timed_out$cancelled" != 00 ]; then
        signal_marked TERM
        lock_within 10 "$dir/tree.lock" true || signal_marked KILL
        lock_within 5 "$dir/tree.lock" true
    fi
    # After a plain end survivors are left alone, they may be what the step was for; only their number is reported.
    for file in $(marked); do leaked=$((leaked + 1)); done
fi
lock_within 2 "$dir/collect.lock" true
total out
out_bytes=$bytes out_sum=$sum
total err
printf '%-1023s\n' "oikos1 $id code=$code signalled=$signalled timed_out=$timed_out cancelled=$cancelled \
leaked=$leaked centiseconds=$elapsed out_bytes=$out_bytes out_sha256=$out_sum err_bytes=$bytes err_sha256=$sum END" \
    1<>"$dir/result"
sync "$dir/result" 2>/dev/null || sync
exec 7>&- 9>&-
# The claims stay for ever, the output for a week. Looked at now and then is enough.
if [ $(($$ % 50)) -eq 0 ]; then
    find "${dir%/*}" -mindepth 2 -maxdepth 2 -type f -mtime +7 \( -name 'out.*' -o -name 'err.*' -o -name command \) \
        -exec rm -f {} + &
fi
rm -f "$dir/out.pipe" "$dir/err.pipe" "$dir/out.spill" "$dir/err.spill" &
