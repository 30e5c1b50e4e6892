# temporary files and journals: they never replace an input, and leftovers of a crash are removed
seq 1000 >k; seq 2000 2500 >k2
build old.tamis -k growing k; cp old.tamis new.tamis; "$TAMIS" add -q new.tamis k2

# inputs and secrets with the name of a temporary file are not lost
lost="and would be overwritten: writing"
cp k x.part; cp k j.journal; printf '%032d\n' 7 >s.part; cp old.tamis m.part; cp old.tamis a.tamis; cp k a.tamis.part; cp k u.part
check 'build from FILE.part: 2' rc=2 err="'x.part' is an input $lost 'x'" -- "$TAMIS" build -o x x.part
check 'from standard input, too' rc=2 err="x.part' is an input $lost 'x'" -- bash -c '"$TAMIS" build -o x <x.part'
check 'build with the secret in FILE.part: 2' rc=2 err="'s.part' is the key file $lost 's'" -- "$TAMIS" build -o s --key-file s.part k
check 'merge of FILE.part: 2' rc=2 err="'m.part' is an input $lost 'm'" -- "$TAMIS" merge -o m m.part old.tamis
check 'convert of FILE.part: 2' rc=2 err="'m.part' is an input $lost 'm'" -- "$TAMIS" convert --to tamis -o m m.part
check 'add of FILE.part: 2' rc=2 err="'a.tamis.part' is an input $lost 'a.tamis'" -- "$TAMIS" add a.tamis a.tamis.part
ln -s a.tamis link.tamis
check 'add through a link: 2' rc=2 err="'a.tamis.part' is an input $lost 'link.tamis'" -- "$TAMIS" add link.tamis a.tamis.part
check 'uniq of FILE.part: 2' rc=2 out='' err="'u.part' is an input $lost 'u'" -- "$TAMIS" uniq --save u u.part
build j -k block -n 14M k2
cp k j.journal
for command in add remove uniq\ --save; do
    check "$command of FILE.journal: 2" rc=2 out='' err="'j.journal' is an input $lost 'j'" -- "$TAMIS" $command j j.journal
done
for file in x.part j.journal a.tamis.part u.part; do same "$file is still there" k $file; done
same 'm.part is unchanged' old.tamis m.part
truth 'the secret is unchanged' test "$(cat s.part)" = "$(printf %032d 7)"
truth 'nothing was written' test ! -e x -a ! -e s -a ! -e m -a ! -e u
rm -f ./*.part j j.journal link.tamis a.tamis

# dangling links stay links
mkdir sub; ln -s sub/far.tamis far.tamis; ln -s ../near.tamis sub/near.tamis; ln -s "$PWD/abs.tamis" abs; ln -s no/where lost.tamis; ln -s loop loop
check 'uniq --save through a link' in='a\nb\n' out='a\nb\n' -- "$TAMIS" uniq -q --save far.tamis
check 'uniq --save through it again' in='b\nc\n' out='c\n' -- "$TAMIS" uniq -q --save far.tamis
truth 'the link is a link' test -L far.tamis -a -f sub/far.tamis
check 'build -f through a link' -- "$TAMIS" build -q -f -o sub/near.tamis k
truth 'build -f: the link is a link' test -L sub/near.tamis -a -f near.tamis
check 'build -f through an absolute link' -- "$TAMIS" build -q -f -o abs k
truth 'absolute: the link is a link' test -L abs -a -f abs.tamis
check 'a link into no directory: 2' rc=2 err="cannot write 'lost.tamis': No such file or directory: 'no'" -- "$TAMIS" build -f -o lost.tamis k
check 'a link to itself: 2' rc=2 err="cannot write 'loop': Too many levels" -- "$TAMIS" build -f -o loop k
check 'uniq, a link to itself: 2' rc=2 in='a\n' err="cannot write 'loop': Too many levels" -- "$TAMIS" uniq --save loop
truth 'they are still links' test -L lost.tamis -a -L loop
rm -rf sub far.tamis near.tamis abs abs.tamis lost.tamis loop

# a writer that is killed while it waits leaves the temporary file of the other writer alone
exec 4>w.tamis.part
flock 4
"$TAMIS" build -q -o w.tamis k 4>&- & waiting=$!
sleep 0.3; kill -TERM $waiting; wait $waiting 2>/dev/null
truth "the other temporary file still exists" test -e w.tamis.part
exec 4>&-
check 'the next run reuses the temporary file' -- "$TAMIS" build -q -o w.tamis k
truth 'the temporary file is removed' test ! -e w.tamis.part
cp old.tamis w.tamis; exec 4>w.tamis.part; flock 4
"$TAMIS" add -q w.tamis k2 4>&- & waiting=$!
sleep 0.3; kill -TERM $waiting
for ((n = 0; n < 50; n++)); do kill -0 $waiting 2>/dev/null && sleep 0.1; done
truth 'a killed add stops waiting' bash -c '! kill -0 "$1"' - $waiting
truth "a killed add leaves the other temporary file" test -e w.tamis.part
exec 4>&-
wait $waiting 2>/dev/null
same 'add: the file is unchanged' w.tamis old.tamis
rm w.tamis w.tamis.part

# dies between the two names of a new file: the temporary file is then a second name of the file,
# and must be neither written to nor left
[ -n "${DIE_AT_LIBRARY-}" ] || return 0
dying() { # N COMMAND...: dies at its N-th call that changes a file
    local at=$1
    shift
    ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-} DIE_AT=$at DIE_LOG=$work/calls LD_PRELOAD=$DIE_AT_LIBRARY "$@"
}
dying 0 "$TAMIS" build -q -k growing -o a.tamis k
calls=$(cat "$work/calls")
for ((n = 1; n <= calls; n++)); do
    rm -f a.tamis
    (dying $n "$TAMIS" build -q -k growing -o a.tamis k) 2>/dev/null
    if [ -e a.tamis ]; then same "a new file, died at call $n: whole" a.tamis old.tamis; fi
    [ ! a.tamis -ef a.tamis.part ] || two_names=$n
    build a.tamis -k growing k
    only "a new file, died at call $n: the next run cleans up" a.tamis k k2 new.tamis old.tamis
done
truth 'one run died between the two names' test -n "${two_names-}"
for ((n = 1; n <= calls; n++)); do
    rm -f a.tamis; cp old.tamis a.tamis; ln a.tamis a.tamis.part
    (dying $n "$TAMIS" add -q a.tamis k2) 2>/dev/null
    if ! cmp -s a.tamis old.tamis; then same "two names, add died at call $n: the old one or the new" a.tamis new.tamis; fi
    cp old.tamis a.tamis; [ -e a.tamis.part ] || ln a.tamis a.tamis.part
    check "two names, died at call $n: the next run" -- "$TAMIS" add -q a.tamis k2
    same "two names, died at call $n: the result is right" a.tamis new.tamis
    only "two names, died at call $n: and cleans up" a.tamis k k2 new.tamis old.tamis
done
