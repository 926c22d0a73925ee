# Prints a part of the output that a run directory keeps, which is the beginning and the end of a stream. Variables as in
# wrapper.sh, and: stream (out or err), offset and length of the part.

output() {
    if [ ! -d "$dir" ] || [ ! -e "$dir/$stream.head" ]; then
        say ABSENT
        return
    fi
    read_length "$dir/$stream.head"
    head_bytes=$bytes
    read_length "$dir/$stream.tail"
    tail_bytes=$bytes
    total=$head_bytes sum=-
    [ -s "$dir/$stream.total" ] && read -r total sum <"$dir/$stream.total"
    from=$offset part=$dir/$stream.head skip=$offset available=0
    if [ "$offset" -ge "$head_bytes" ] && [ "$tail_bytes" -gt 0 ]; then
        # What lies between head and tail is not kept: go on where the tail begins.
        [ "$from" -ge $((total - tail_bytes)) ] || from=$((total - tail_bytes))
        part=$dir/$stream.tail
        skip=$((from - total + tail_bytes))
        available=$((tail_bytes - skip))
    else
        available=$((head_bytes - skip))
    fi
    [ "$available" -ge 0 ] || available=0
    [ "$available" -le "$length" ] || available=$length
    say PART "$from" "$available" "$total"
    [ "$available" -eq 0 ] || tail -c +$((skip + 1)) "$part" | head -c "$available"
    say DONE
}
