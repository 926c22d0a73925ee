# Prints the names of the run directories that begin with the id. Read-only; variables as in wrapper.sh.

claims() {
    for found in "$dir"*; do
        [ -d "$found" ] && say CLAIM "${found##*/}"
    done
    say DONE
}
