#!/usr/bin/env bash
# Runs a `cargo test` command, and says at the end which test programs took longest. Keeps the exit status.
#
#   slowest.sh COMMAND...
set -uo pipefail

record=$(mktemp)
trap 'rm -f "$record"' EXIT
"$@" 2>&1 | tee "$record"
status=${PIPESTATUS[0]}

# Cargo names a program before it runs, and the program closes with "test result: …; finished in 3.05s".
awk '
    /^ *Running / || /^ *Doc-tests / {
        name = $2
        if ($1 == "Running" && $2 == "unittests") name = $2 " " $3
        if ($1 == "Doc-tests") name = "doc tests of " $2
        crate = $NF
        sub(/^\(.*\//, "", crate); sub(/-[0-9a-f]+\)$/, "", crate)
        if ($1 == "Running") name = name " (" crate ")"
    }
    /^test result: .*finished in / {
        seconds = $NF
        sub(/s$/, "", seconds)
        printf "%9.2f s  %s\n", seconds, name
    }
' "$record" | sort -rn | head -n 8 | { lines=$(cat); [ -z "$lines" ] || printf '\nwhat took longest:\n%s\n' "$lines"; }
exit "$status"
