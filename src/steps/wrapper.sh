# The part of a step that runs on the target. Sent on standard input of `sh -s` inside a function body, so that a
# stream that breaks off is a syntax error and never half a script. common.sh stands before it. The variables it reads
# are set by script.rs: those of common.sh, and
#   runs        directory of all run directories; dir: that of this attempt, set in preamble.sh
#   instance    what the controller believes this boot of the target to be, empty when it does not know
#   start_limit uptime in centiseconds after which no start is allowed
#   supervisor  text of supervisor.sh with what stands before it
#   out_head out_tail err_head err_tail    bytes of output to send back

# Whether the supervisor wrote how the command ended; sets `record`.
has_record() {
    record=
    [ -s "$dir/result" ] && read -r record <"$dir/result"
    case $record in
    "oikos1 $id "*" END"*) return 0 ;;
    esac
    return 1
}

# send_output STREAM HEAD TAIL [SIZE]: all of a short stream, else head and tail. SIZE is the length of the whole stream,
# where the record knows it. Only bytes that are there are announced: the command may have removed files of its run
# directory, and an answer that announces more than follows stays incomplete however often it is asked for.
send_output() {
    read_length "$dir/$1.tail"
    kept_tail=$bytes
    read_length "$dir/$1.head"
    kept=$bytes
    case ${4:-} in
    '' | *[!0-9]*) size=$kept ;;
    *) size=$4 ;;
    esac
    if [ "$kept_tail" -eq 0 ] && [ "$size" -gt "$kept" ]; then size=$kept; fi
    if [ "$kept_tail" -eq 0 ] && [ "$size" -le $(($2 + $3)) ]; then
        say OUTPUT "$1" "$size" 0
        [ "$size" -eq 0 ] || head -c "$size" "$dir/$1.head"
        return
    fi
    last=$dir/$1.tail
    if [ "$kept_tail" -eq 0 ]; then last=$dir/$1.head kept_tail=$kept; fi
    size=$2 rest=$3
    [ "$size" -le "$kept" ] || size=$kept
    [ "$rest" -le "$kept_tail" ] || rest=$kept_tail
    say OUTPUT "$1" "$size" "$rest"
    [ "$size" -eq 0 ] || head -c "$size" "$dir/$1.head"
    [ "$rest" -eq 0 ] || tail -c "$rest" "$last"
}

# read_field NAME: sets `value` to that field of the record.
read_field() {
    case $record in
    *" $1="*) value=${record##*" $1="} value=${value%% *} ;;
    *) value= ;;
    esac
}

# verdict WORD...: says what became of the attempt, and sends the output.
verdict() {
    say "$@"
    read_field out_bytes
    send_output out "$out_head" "$out_tail" "$value"
    read_field err_bytes
    send_output err "$err_head" "$err_tail" "$value"
    say DONE
}

send_record() { verdict RECORD "$record"; }

not_started() { say NOTSTARTED "$@"; say DONE; }

# Makes the directory of all runs. It must be a real directory of ours: a link could lead the claims elsewhere.
open_runs() {
    [ -d "$runs" ] || { mkdir -p "$runs" && chmod 700 "$runs"; } 2>/dev/null
    if [ -L "$runs" ] || [ ! -d "$runs" ] || [ ! -O "$runs" ]; then
        not_started RunDirectory "$runs is not a directory of this user"
        return 1
    fi
    if ! printf '%-8191s\n' room >"$runs/.room" 2>/dev/null; then
        not_started RunDirectory "cannot write in $runs: full or read-only"
        return 1
    fi
}

start() {
    if find_missing_tools $required_tools; then not_started MissingTools "$missing"; return; fi
    read_instance
    read_uptime
    say HELLO "$this_instance" "$uptime"
    if [ -n "$instance" ] && [ "$instance" != "$this_instance" ]; then
        not_started OtherInstance "$this_instance"
        return
    fi
    open_runs || return
    if [ ! -d "$dir" ]; then
        # One mutating step per target at a time. The wait ends with the time in which a start is allowed.
        left=$(((start_limit - uptime) / 100))
        [ "$left" -ge 0 ] || left=0
        exec 7>>"$runs/.target.lock"
        if ! flock -n 7 && ! lock_within "$left" 7; then not_started Busy; return; fi
        read_uptime
        if [ "$uptime" -gt "$start_limit" ]; then not_started TooLate "$uptime" "$start_limit"; return; fi
    fi
    if ! mkdir -m 700 "$dir" 2>/dev/null; then
        exec 7>&-
        if [ -d "$dir" ]; then observe; else not_started RunDirectory "cannot make $dir"; fi
        return
    fi
    if ! true 2>/dev/null >>"$dir/sup.lock"; then not_started RunDirectory "cannot write in $dir"; return; fi
    exec 9>>"$dir/sup.lock"
    if ! flock -n 9 || [ -e "$dir/fenced" ] || [ -e "$dir/lost" ] || [ -e "$dir/cancel" ]; then not_started Fenced; return; fi
    if ! prepare; then
        true >"$dir/fenced"
        not_started RunDirectory "cannot write in $dir"
        return
    fi
    say STARTED
    # In the foreground: what a shell starts with & is born with SIGINT and SIGQUIT ignored. If the connection ends,
    # this shell dies of it or waits on; the supervisor has its own session and notices neither.
    (
        exec </dev/null >>"$dir/supervisor.log" 2>&1
        exec setsid /bin/sh -c "$supervisor" oikos-step "$id" "$dir" "$seconds" "$shell" "$command"
    )
    exec 7>&- 9>&-
    if [ ! -d "$dir" ]; then verdict LOST RunDirMissing; return; fi
    observe
}

# All that recovery reads must be on disk before the command can act; the result is overwritten in place, so that a
# disk that fills up during the run cannot lose the exit code.
prepare() {
    printf '%s' "$command" >"$dir/command" &&
        printf '%s\n' "$this_instance" >"$dir/instance" &&
        printf '%-1023s\n' pending >"$dir/result" &&
        true >"$dir/out.head" && true >"$dir/err.head" && true >"$dir/out.tail" && true >"$dir/err.tail" &&
        flush_to_disk "$dir/instance" "$dir/result" "$dir" "$runs"
}

# What happened to the attempt, decided by evidence; waits while it runs. Whoever makes the directory first settles
# whether the attempt can start, so an observer that finds none makes it and so forbids every later start.
observe() {
    said_running=
    # Two seconds.
    looks_before_fencing=40
    while :; do
        if [ ! -d "$dir" ]; then
            # A live process of the attempt proves that its directory was removed, and so does that it was seen running.
            # It is written down: the next observer may find neither.
            was_started=$said_running$(attempt_pids)
            if mkdir -m 700 "$dir" 2>/dev/null; then
                if [ -n "$was_started" ]; then true >"$dir/lost"; else true >"$dir/fenced"; fi
                flush_to_disk "$dir" "$runs"
                if [ -n "$was_started" ]; then verdict LOST RunDirMissing; else not_started Never; fi
                return
            fi
            [ -d "$dir" ] && continue
            say UNKNOWN "cannot make $dir"; say DONE
            return
        fi
        if has_record; then send_record; return; fi
        if [ -e "$dir/lost" ]; then verdict LOST RunDirMissing; return; fi
        if [ -e "$dir/fenced" ]; then not_started Fenced; return; fi
        # Between mkdir and the lock a starter has nothing to show yet: give it a moment before shutting it out.
        if [ ! -e "$dir/started" ] && [ "$looks_before_fencing" -gt 0 ]; then
            looks_before_fencing=$((looks_before_fencing - 1))
            sleep 0.05
            continue
        fi
        if ! true 2>/dev/null >>"$dir/sup.lock"; then say UNKNOWN "cannot write in $dir"; say DONE; return; fi
        exec 9>>"$dir/sup.lock"
        if flock -n 9; then
            settle && { exec 9>&-; return; }
            exec 9>&-
            say_running_once
            flock -s "$dir/tree.lock" true
        else
            say_running_once
            flock -s 9
            exec 9>&-
        fi
    done
}

say_running_once() {
    [ -n "$said_running" ] || say RUNNING
    said_running=1
}

# The supervisor's lock is ours: it is dead, or never was. Returns 1 while the command still runs without it.
settle() {
    if has_record; then send_record; return 0; fi
    read_instance
    recorded_instance=
    [ -s "$dir/instance" ] && read -r recorded_instance <"$dir/instance"
    if [ -n "$recorded_instance" ] && [ "$recorded_instance" != "$this_instance" ]; then
        verdict LOST Rebooted
        return 0
    fi
    if [ ! -e "$dir/started" ]; then
        if true >"$dir/fenced"; then not_started Fenced; else verdict UNKNOWN "cannot write in $dir"; fi
        return 0
    fi
    case $record in
    pending*) ;;
    *) verdict LOST RecordCorrupt; return 0 ;;
    esac
    if flock -n "$dir/tree.lock" true; then verdict LOST SupervisorVanished; return 0; fi
    return 1
}

# TERM, 10 s, KILL, for an attempt whose directory was removed: nobody holds the locks in the new one. A supervisor that
# is still there writes its record into that one, within two seconds.
end_without_locks() {
    for signal in TERM KILL; do
        looks=100
        signal_attempt "$signal"
        while [ -n "$(attempt_pids)" ] && [ "$looks" -gt 0 ]; do
            sleep 0.1
            looks=$((looks - 1))
        done
    done
    looks=20
    while ! has_record && [ "$looks" -gt 0 ]; do
        sleep 0.1
        looks=$((looks - 1))
    done
}

# TERM, 10 s, KILL. The supervisor ends what its command left behind and writes the record.
cancel() {
    if [ ! -d "$dir" ]; then
        mkdir -p "$runs" 2>/dev/null
        alive=$(attempt_pids)
        if mkdir -m 700 "$dir" 2>/dev/null; then
            if [ -z "$alive" ]; then
                true >"$dir/fenced"
                not_started Never
                return
            fi
            true >"$dir/lost"
        fi
    fi
    true >"$dir/cancel"
    if [ -e "$dir/lost" ]; then
        end_without_locks
        if has_record; then say KILLED; say DONE; else verdict LOST RunDirMissing; fi
        return
    fi
    wait_for_start=20
    signal_attempt TERM
    while [ "$signalled_processes" -eq 0 ] && [ "$wait_for_start" -gt 0 ] && ! flock -n -s "$dir/sup.lock" true; do
        sleep 0.1
        wait_for_start=$((wait_for_start - 1))
        signal_attempt TERM
    done
    for lock in sup.lock tree.lock; do
        lock_within 10 -s "$dir/$lock" true && continue
        signal_attempt KILL
        lock_within 10 -s "$dir/$lock" true
    done
    say KILLED
    say DONE
}
