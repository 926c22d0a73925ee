# What a controller wants to know about a host or a guest before it works there. Read-only; variables as in wrapper.sh.

facts() {
    read -r boot </proc/sys/kernel/random/boot_id
    read -r stat </proc/1/stat
    stat=${stat##*) }
    read -r uptime rest </proc/uptime
    missing=
    for tool in flock setsid timeout mkdir mkfifo dd head tail wc grep env sync "${shell%% *}"; do
        command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
    done
    set -- $stat
    shift 19
    printf '\n%s INSTANCE %s\n' "$mark" "$boot:$1"
    printf '\n%s UPTIME %s\n' "$mark" "${uptime%.*}${uptime#*.}"
    printf '\n%s MISSING %s\n' "$mark" "$missing"
    [ -z "$versions" ] || printf '\n%s VERSION %s\n' "$mark" "$(pveversion 2>/dev/null)"
    printf '\n%s KERNEL %s\n' "$mark" "$(uname -r 2>/dev/null)"
    printf '\n%s NODE %s\n' "$mark" "$(uname -n 2>/dev/null)"
    printf '\n%s DONE\n' "$mark"
}
