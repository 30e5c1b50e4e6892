# killed at any moment: the file is the old or the new version, complete; the next run cleans up
# tests: slow full
kills=${CRASHES:-8}
[ $full = no ] || kills=${CRASHES:-220}

seq 200000 | sed 's/$/ a key that is somewhat longer/' >keys
seq 300001 300100 >few
head -5000 keys >some

# The commands and their files; each runs in its own directory as
#     tamis ... f.tamis
# on a copy of NAME.old, and if not killed makes NAME.new.
declare -A run=(
    [build]='build -q -f -o f.tamis ../keys'
    [build-spill]='build -q -f --memory 1Mi -o f.tamis ../keys'
    [add]='add -q f.tamis ../keys'
    [remove]='remove -q f.tamis ../some'
    [uniq]='uniq -q --save f.tamis ../keys'
    [merge]='merge -q -f -o f.tamis ../few.tamis ../keys.tamis'
    [convert]='convert -q -f --to tamis -o f.tamis ../keys.tamis'
    [add-in-place]='add -q f.tamis ../few'
    [remove-in-place]='remove -q f.tamis ../few'
)

build few.tamis -k block -n 300000 few
build keys.tamis -k block -n 300000 keys
build build.old few
cp build.old build-spill.old
build add.old -k growing few
build remove.old -k counting -n 300000 keys
"$TAMIS" uniq -q --save uniq.old few >/dev/null
cp few.tamis merge.old; cp few.tamis convert.old
build add-in-place.old -k block -n 14M some
build remove-in-place.old -k counting -n 12M few some

mkdir here && cd here || exit 2
names=$(printf '%s\n' "${!run[@]}" | sort)
for name in $names; do
    read -ra command <<<"${run[$name]}"
    cp "../$name.old" f.tamis
    begun=$(date +%s%N)
    "$TAMIS" "${command[@]}" >/dev/null
    micros=$((($(date +%s%N) - begun) / 1000))
    mv f.tamis "../$name.new"
    differ "$name changes the file" "../$name.old" "../$name.new"
    for ((i = 1; i <= kills; i++)); do
        for signal in TERM KILL; do
            rm -f ./* .tamis-*.part
            cp "../$name.old" f.tamis
            # Moments from before the start to a little after the end.
            delay=$((RANDOM * 32768 + RANDOM)) delay=$((delay % (micros * 5 / 4) + 200))
            timeout -s $signal "$(printf '%d.%06d' $((delay / 1000000)) $((delay % 1000000)))" \
                "$TAMIS" "${command[@]}" >/dev/null 2>&1
            # As readers see it: an interrupted update in place is completed.
            "$TAMIS" convert -q -f --to tamis -o ../seen f.tamis 2>../printed
            if cmp -s ../seen "../$name.old" || cmp -s ../seen "../$name.new"; then
                verdict "$name, killed by $signal" ''
            else
                verdict "$name, killed by $signal" "neither the old nor the new file: $(cat ../printed)"
            fi
            if [ $signal = TERM ]; then
                only "$name, killed by $signal: nothing beside the file" f.tamis
            fi
        done
        # SIGKILL may leave a temporary file in the moment between its two names.
        rm -f .tamis-*.part
        "$TAMIS" "${command[@]}" >/dev/null
        only "$name: the next run leaves nothing else" f.tamis
        rm -f ./* .tamis-*.part
    done 2>/dev/null # the shell reports every killed process
done
cd ..

# a new file: none, or a complete one
for ((i = 1; i <= kills; i++)); do
    rm -f n.tamis
    timeout -s KILL "0.0$((RANDOM % 70 + 10))" "$TAMIS" build -q -o n.tamis keys >/dev/null 2>&1
    if [ -e n.tamis ]; then same 'build, killed: a new file is whole' n.tamis build.new; fi
done 2>/dev/null
build n.tamis keys
truth 'build: no temporary file is left' test -z "$(ls -d .tamis-* 2>/dev/null)"

# SIGINT leaves the old file and no temporary file; the exit status reports the signal
mkfifo pipe
cp add.old f.tamis
# (a background process of a script ignores SIGINT by default)
env --default-signal=INT "$TAMIS" add -q f.tamis <pipe & pid=$!
exec 3>pipe; echo more >&3; sleep 0.2; kill -INT $pid; exec 3>&-
wait $pid 2>/dev/null; rc=$?
verdict 'SIGINT ends it' "$([ $rc -eq 130 ] || echo "exit code $rc")"
same 'SIGINT: the old file stays' f.tamis add.old
truth 'SIGINT: no temporary file' test -z "$(ls -d .tamis-* 2>/dev/null)"

# uniq --save: a signal saves nothing, which is reported; the next run prints the records again
rm -f pipe u.tamis; mkfifo pipe
env --default-signal=INT "$TAMIS" uniq --save u.tamis <pipe >first 2>interrupted & pid=$!
exec 3>pipe; seq 5 >&3
for ((i = 0; i < 100; i++)); do [ "$(wc -l <first)" -eq 5 ] && break; sleep 0.05; done
kill -INT $pid; exec 3>&-
wait $pid; rc=$?
verdict 'uniq, SIGINT: exit code' "$([ $rc -eq 130 ] || echo "exit code $rc")"
truth 'uniq, SIGINT: one sentence' grep -qx "tamis: uniq: interrupted: nothing was saved in 'u.tamis'; the next run prints this run's records again" interrupted
truth 'uniq, SIGINT: nothing saved' test ! -e u.tamis -a -z "$(ls -d .tamis-* 2>/dev/null)"
check 'uniq, the next run' out='1\n2\n3\n4\n5\n' in='1\n2\n3\n4\n5\n' -- "$TAMIS" uniq -q --save u.tamis
cp u.tamis u.old
env --default-signal=TERM "$TAMIS" uniq --save u.tamis <pipe >second 2>interrupted & pid=$!
exec 3>pipe; seq 7 >&3
for ((i = 0; i < 100; i++)); do [ "$(wc -l <second)" -eq 2 ] && break; sleep 0.05; done
kill -TERM $pid; exec 3>&-
wait $pid
same 'uniq, SIGTERM: the old file stays' u.tamis u.old
truth 'uniq, SIGTERM: one sentence' grep -q "interrupted: nothing was saved in 'u.tamis'" interrupted
