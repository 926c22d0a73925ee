# What a controller wants to know about a host or a guest before it works there. Read-only. Variables as in common.sh,
# and versions: not empty if the target is a host, which can tell its version of Proxmox VE.

facts() {
    read_instance
    read_uptime
    find_missing_tools $required_tools
    say INSTANCE "$this_instance"
    say UPTIME "$uptime"
    say MISSING "$missing"
    [ -z "$versions" ] || say VERSION "$(pveversion 2>/dev/null)"
    say DONE
}
