# A read-only step: the command straight on the channel, bracketed by marks on both streams, so that the noise of a
# login is told from output and no exit status of ssh or lxc-attach is believed without our own line. Variables as in
# wrapper.sh.

direct() {
    if ! command -v timeout >/dev/null 2>&1 || ! command -v "${shell%% *}" >/dev/null 2>&1; then
        printf '\n%s MISSING timeout %s\n' "$mark" "${shell%% *}" >&2
        return
    fi
    printf '\n%s BEGIN\n' "$mark"
    printf '\n%s BEGIN\n' "$mark" >&2
    exec 3>&1 4>&2
    # See supervisor.sh for what the shell adds when a signal killed the command.
    end=$({
        (
            exec >&3 2>&4 3>&- 4>&- </dev/null
            exec env -i PATH="$PATH" HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
                PAGER=cat TERM=dumb OIKOS_ATTEMPT="$id" OIKOS_TREE=".$id." timeout -k 10 "$seconds" $shell -c "$command"
        )
        printf ' %s' "$?"
    } 2>&1)
    signalled=1
    [ "$end" != " ${end##* }" ] || signalled=0
    printf '\n%s END %s %s\n' "$mark" "${end##* }" "$signalled" >&2
}

# Ends a read-only step that is no longer wanted.
stop() {
    for signal in TERM KILL; do
        tries=100
        while [ "$tries" -gt 0 ]; do
            files=$(grep -lsF "OIKOS_TREE=.$id." /proc/[0-9]*/environ)
            [ -n "$files" ] || return 0
            for file in $files; do
                [ "$tries" -lt 100 ] && break
                pid=${file#/proc/}
                kill -s "$signal" "${pid%/environ}" 2>/dev/null
            done
            tries=$((tries - 1))
            sleep 0.1
        done
    done
}
