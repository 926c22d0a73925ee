# A read-only step: the command runs straight on the channel. Marks on both streams surround its output, so that the
# noise of a login is told from output, and no exit status of ssh or lxc-attach is believed without our own line.
# Variables as in common.sh.

direct() {
    if find_missing_tools $required_tools_direct; then
        say MISSING "$missing" >&2
        return
    fi
    say BEGIN
    say BEGIN >&2
    exec 3>&1 4>&2
    ending=$({
        (
            exec >&3 2>&4 3>&- 4>&- </dev/null
            exec_command
        )
        printf ' %s' "$?"
    } 2>&1)
    read_ending "$ending"
    say END "$code" "$signalled" >&2
}

# Ends a read-only step that is no longer wanted: TERM, 10 s, KILL.
stop() {
    for signal in TERM KILL; do
        signal_attempt "$signal"
        tries=100
        while [ "$tries" -gt 0 ]; do
            [ -n "$(attempt_pids)" ] || return 0
            tries=$((tries - 1))
            sleep 0.1
        done
    done
}
