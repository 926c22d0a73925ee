# Runs one command in its own session and writes down how it ended. Started by wrapper.sh with setsid; nothing here
# depends on the connection. common.sh stands before it, and these variables are set by script.rs:
#   kept_bytes           bytes of each stream to keep from its beginning, and as many from its end
#   out_shown err_shown  bytes of a stream that are sent back whole
# Inherits fd 9 (lock of this attempt) and fd 7 (lock of the target). Other locks, which nobody takes but processes hold
# by inheritance: fd 6 (collect.lock) until all output is collected, fd 8 (tree.lock) until all processes of the command
# have ended.
id=$1 dir=$2 seconds=$3 shell=$4 command=$5

# collect STREAM SHOWN: keeps the beginning and the end of a stream, counts all of it and never stops reading before the
# end: a command must not die of SIGPIPE or block because we had enough. tee writes the beginning at once, so that what a
# command printed is there even if a daemon of it holds the stream open; the file size limit, and nothing else, ends
# that part. The second stage may buffer.
collect() {
    trap '' HUP INT TERM PIPE XFSZ
    (ulimit -f $((kept_bytes / 512)) && exec tee "$dir/$1.head" 2>/dev/null) | measure "$1" "$2"
}

# measure STREAM SHOWN: writes STREAM.total (length and digest), and STREAM.tail if the stream is long.
measure() {
    # dd with fullblock reads exactly what it keeps and leaves the rest in the pipe.
    if ! dd of="$dir/$1.spill" bs=8192 count=$((kept_bytes / 8192)) iflag=fullblock 2>/dev/null; then
        rest=$(wc -c)
        read_length "$dir/$1.spill"
        printf '%s -\n' $((bytes + rest)) >"$dir/$1.total"
        return
    fi
    read_length "$dir/$1.spill"
    digest=
    command -v sha256sum >/dev/null && digest=sha256sum
    if [ "$bytes" -lt "$kept_bytes" ]; then
        sum=-
        # The controller is sent all of a short output and digests it itself.
        if [ "$bytes" -gt "$2" ] && [ -n "$digest" ]; then sum=$($digest <"$dir/$1.spill"); fi
        printf '%s %s\n' "$bytes" "${sum%% *}" >"$dir/$1.total"
        return
    fi
    mkfifo "$dir/$1.sum" "$dir/$1.count"
    ${digest:-wc -c} <"$dir/$1.sum" >"$dir/$1.digest" &
    wc -c <"$dir/$1.count" >"$dir/$1.bytes" &
    cat "$dir/$1.spill" - | tee "$dir/$1.sum" "$dir/$1.count" | tail -c "$kept_bytes" >"$dir/$1.tail"
    wait
    read -r bytes <"$dir/$1.bytes"
    read -r sum rest <"$dir/$1.digest"
    [ -n "$digest" ] || sum=-
    printf '%s %s\n' $((bytes)) "$sum" >"$dir/$1.total"
    rm -f "$dir/$1.sum" "$dir/$1.count" "$dir/$1.bytes" "$dir/$1.digest"
}

# read_total STREAM: sets `bytes` and `sum`, each '-' where it is not known.
read_total() {
    bytes=- sum=-
    [ -s "$dir/$1.total" ] && read -r bytes sum <"$dir/$1.total"
}

mkfifo "$dir/out.pipe" "$dir/err.pipe" || exit 70
exec 6>>"$dir/collect.lock" 8>>"$dir/tree.lock"
flock -s 6
flock -s 8
collect out "$out_shown" <"$dir/out.pipe" 7>&- 8>&- 9>&- &
collectors=$!
collect err "$err_shown" <"$dir/err.pipe" 7>&- 8>&- 9>&- &
collectors="$collectors $!"
exec 6>&-
read_uptime
begun=$uptime
# From here on the command may have acted.
printf '%s\n' "$begun" >"$dir/started" || { kill $collectors; exit 70; }
# In the foreground of a subshell: a background command would be born with SIGINT and SIGQUIT ignored.
ending=$({
    (
        exec </dev/null >"$dir/out.pipe" 2>"$dir/err.pipe" 7>&- 9>&-
        exec_command setsid
    )
    printf ' %s' "$?"
} 2>&1 7>&- 9>&-)
exec 8>&-
read_uptime
elapsed=$((uptime - begun))
read_ending "$ending"
timed_out=0 cancelled=0 leaked=0
[ -e "$dir/cancel" ] && cancelled=1
if [ "$elapsed" -ge $((seconds * 100)) ]; then
    # busybox's timeout has no exit code of its own for a command that it ended.
    case $code in 124 | 137 | 143) timed_out=1 ;; esac
fi
if ! flock -n "$dir/tree.lock" true; then
    if [ "$timed_out$cancelled" != 00 ]; then
        signal_attempt TERM
        lock_within 10 "$dir/tree.lock" true || signal_attempt KILL
        lock_within 5 "$dir/tree.lock" true
    fi
    # After a plain end survivors are left alone, they may be what the step was for; only their number is reported.
    for pid in $(attempt_pids); do leaked=$((leaked + 1)); done
fi
# A daemon may hold a stream open for ever.
lock_within 2 "$dir/collect.lock" true
read_total out
out_bytes=$bytes out_sum=$sum
read_total err
# Exactly over the placeholder that wrapper.sh wrote, without truncating it: this needs no space on the disk.
printf '%-1023s\n' "oikos1 $id code=$code signalled=$signalled timed_out=$timed_out cancelled=$cancelled \
leaked=$leaked centiseconds=$elapsed out_bytes=$out_bytes out_sha256=$out_sum err_bytes=$bytes err_sha256=$sum END" \
    1<>"$dir/result"
flush_to_disk "$dir/result"
exec 7>&- 9>&-
# Run directories stay for ever, because they are the claims; output stays for a week. Removing it after one step in
# fifty is enough.
if [ $(($$ % 50)) -eq 0 ]; then
    find "${dir%/*}" -mindepth 2 -maxdepth 2 -type f -mtime +7 \( -name 'out.*' -o -name 'err.*' -o -name command \) \
        -exec rm -f {} + &
fi
rm -f "$dir/out.pipe" "$dir/err.pipe" "$dir/out.spill" "$dir/err.spill" &
