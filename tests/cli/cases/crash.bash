# killed at any moment: the file is the old one or the new one, whole; the next run cleans up
seq 200000 | sed 's/$/ a key that is somewhat longer/' >keys
seq 300001 300100 >few
build old.tamis -k growing few
"$TAMIS" add -q old.tamis keys && mv old.tamis added.tamis && build old.tamis -k growing few
build base.tamis -k counting -n 300000 keys
cp base.tamis want.tamis; "$TAMIS" remove -q want.tamis <(head -5000 keys)

"$TAMIS" uniq -q --save seen.tamis few >/dev/null && cp seen.tamis seen2.tamis && "$TAMIS" uniq -q --save seen2.tamis keys >/dev/null
for x in few keys; do build m-$x.tamis -k block -n 300000 $x; done
"$TAMIS" merge -q -o merged.tamis m-few.tamis m-keys.tamis

whole() { # NAME FILE OLD NEW: the file is one of the two
    if cmp -s "$2" "$3" || cmp -s "$2" "$4"; then verdict "$1" ''; else verdict "$1" "neither the old nor the new file"; fi
}
later() { # a delay of 0 to 120 ms
    printf '0.%03d' $((RANDOM % 120))
}
for i in $(seq "${CRASHES:-20}"); do
    for signal in KILL TERM; do
        cp old.tamis f.tamis
        "$TAMIS" add -q f.tamis keys & pid=$!
        sleep "$(later)"; kill -$signal $pid 2>/dev/null; wait $pid 2>/dev/null
        whole "add, killed by $signal ($i)" f.tamis old.tamis added.tamis

        cp base.tamis g.tamis
        "$TAMIS" remove -q g.tamis <(head -5000 keys) & pid=$!
        sleep "$(later)"; kill -$signal $pid 2>/dev/null; wait $pid 2>/dev/null
        whole "remove, killed by $signal ($i)" g.tamis base.tamis want.tamis

        cp seen.tamis u.tamis
        "$TAMIS" uniq -q --save u.tamis keys >/dev/null & pid=$!
        sleep "$(later)"; kill -$signal $pid 2>/dev/null; wait $pid 2>/dev/null
        whole "uniq, killed by $signal ($i)" u.tamis seen.tamis seen2.tamis

        cp m-few.tamis j.tamis
        "$TAMIS" merge -q -f -o j.tamis m-few.tamis m-keys.tamis & pid=$!
        sleep "$(later)"; kill -$signal $pid 2>/dev/null; wait $pid 2>/dev/null
        whole "merge, killed by $signal ($i)" j.tamis m-few.tamis merged.tamis

        build h.tamis few
        "$TAMIS" build -q -f -o h.tamis keys & pid=$!
        sleep "$(later)"; kill -$signal $pid 2>/dev/null; wait $pid 2>/dev/null
        check "build, killed by $signal: whole ($i)" err='*' -- "$TAMIS" verify h.tamis /dev/null
        if [ $signal = TERM ]; then
            truth "no temporary after $signal ($i)" test -z "$(ls ./*.part 2>/dev/null)"
        else
            rm -f ./*.part
        fi
    done
    "$TAMIS" add -q f.tamis few; "$TAMIS" add -q g.tamis few; build h.tamis few
done 2>/dev/null
rm -f -- *.part
"$TAMIS" add -q f.tamis few
truth 'no temporary is left' test -z "$(ls ./*.part 2>/dev/null)"

# a temporary that a crash has left is used and removed
cp added.tamis f.tamis.part
"$TAMIS" add -q f.tamis few
truth 'an old temporary is gone' test ! -e f.tamis.part
check 'and the filter is right' out='100\n' -- "$TAMIS" query -c f.tamis few

# SIGINT leaves the old file, no temporary, and tells the shell
mkfifo pipe
cp old.tamis f.tamis
# (a background process of a script ignores SIGINT unless it is told otherwise)
env --default-signal=INT "$TAMIS" add -q f.tamis <pipe & pid=$!
exec 3>pipe; echo more >&3; sleep 0.2; kill -INT $pid; exec 3>&-
wait $pid 2>/dev/null; rc=$?
verdict 'SIGINT ends it' "$([ $rc -eq 130 ] || echo "exit code $rc")"
same 'SIGINT: the old file' f.tamis old.tamis
truth 'SIGINT: no temporary' test ! -e f.tamis.part
