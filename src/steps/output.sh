# A part of the output that a run directory keeps: the first and the last half MiB of a stream. Variables as in
# wrapper.sh, and: stream (out | err), offset, length.

output() {
    if [ ! -d "$dir" ] || [ ! -e "$dir/$stream.head" ]; then printf '\n%s ABSENT\n' "$mark"; return; fi
    first=$(($(wc -c <"$dir/$stream.head")))
    last=0
    [ -e "$dir/$stream.tail" ] && last=$(($(wc -c <"$dir/$stream.tail")))
    total=$first sum=-
    [ -s "$dir/$stream.total" ] && read -r total sum <"$dir/$stream.total"
    from=$offset part=$dir/$stream.head skip=$offset room=0
    if [ "$offset" -ge "$first" ] && [ "$last" -gt 0 ]; then
        [ "$from" -ge $((total - last)) ] || from=$((total - last))
        part=$dir/$stream.tail
        skip=$((from - total + last))
        room=$((last - skip))
    else
        room=$((first - skip))
    fi
    [ "$room" -ge 0 ] || room=0
    [ "$room" -le "$length" ] || room=$length
    printf '\n%s PART %s %s %s\n' "$mark" "$from" "$room" "$total"
    [ "$room" -eq 0 ] || tail -c +$((skip + 1)) "$part" | head -c "$room"
    printf '\n%s DONE\n' "$mark"
}
