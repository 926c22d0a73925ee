# Names of the run directories that begin with the id. Read-only; variables as in wrapper.sh.

claims() {
    for found in "$dir"*; do
        [ -d "$found" ] && printf '\n%s CLAIM %s\n' "$mark" "${found##*/}"
    done
    printf '\n%s DONE\n' "$mark"
}
