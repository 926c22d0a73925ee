# Runs a control plane's servers for as long as its owner lives.
#
# usage: sh supervise.sh DIRECTORY, with commands on standard input:
#   start NAME   runs the words of DIRECTORY/NAME.argv (one a line), output to DIRECTORY/NAME.log; answers "started NAME"
#   stop NAME    TERM, and KILL after ten seconds; answers "stopped NAME"
# While a server runs, DIRECTORY/NAME.pid names it; once it ended, DIRECTORY/NAME.exit holds its exit code.
#
# End of input means that the owner ended, by whatever way: every server is killed and DIRECTORY removed.
directory=$1

start() {
    rm -f "$directory/$1.exit" "$directory/$1.pid"
    (
        trap - TERM INT HUP EXIT
        name=$1
        set --
        while IFS= read -r word; do set -- "$@" "$word"; done <"$directory/$name.argv"
        "$@" >>"$directory/$name.log" 2>&1 </dev/null &
        echo $! >"$directory/$name.pid"
        echo "started $name"
        wait $!
        echo $? >"$directory/$name.exit"
    ) &
}

signal() { # signal, name: to a server that has not ended
    [ -s "$directory/$2.pid" ] && [ ! -e "$directory/$2.exit" ] && kill "-$1" "$(cat "$directory/$2.pid")" 2>/dev/null
}

stop() {
    signal TERM "$1"
    tenths=0
    while [ -s "$directory/$1.pid" ] && [ ! -e "$directory/$1.exit" ]; do
        [ $tenths -eq 100 ] && signal KILL "$1"
        tenths=$((tenths + 1))
        sleep 0.1
    done
    echo "stopped $1"
}

finish() {
    trap '' TERM INT HUP
    trap - EXIT
    for file in "$directory"/*.pid; do
        [ -e "$file" ] || continue
        name=${file##*/}
        signal KILL "${name%.pid}"
    done
    wait
    rm -rf "$directory"
    exit 0
}

trap '' PIPE # the owner may be gone while an answer is written
trap finish EXIT
trap 'exit 0' TERM INT HUP

while read -r verb name; do
    case $verb in
        start) start "$name" ;;
        stop) stop "$name" ;;
    esac
done
