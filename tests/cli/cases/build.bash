# build: keys, kinds and the summary
kinds='bloom block counting cuckoo xor fuse ribbon growing'
seq 1000 >keys
seq 2001 3000 >others

check 'needs -o' rc=2 err='missing -o FILE' -- "$TAMIS" build keys
check 'a summary line' out='' err='^f.tamis: [a-z]+, 1,000 keys \(.*1,000 distinct\), [0-9.]+ KiB, [0-9.]+ bits/key, expected rate [0-9.]+ %$' -- "$TAMIS" build -o f.tamis keys
truth 'the summary is one line' test "$(wc -l <"$work/err")" -eq 1
check 'the filter has all keys' out='1000\n' -- "$TAMIS" query -c f.tamis keys
check '-q: no summary' out='' err='' -- "$TAMIS" build -q -o q.tamis keys
check 'does not replace a file' rc=2 err="'f.tamis' exists already: give -f" -- "$TAMIS" build -o f.tamis keys
check '-f replaces' err='*' -- "$TAMIS" build -f -o f.tamis others
check '-f: the new filter is in place' out='1000\n' -- "$TAMIS" query -c f.tamis others
rm -f f.tamis q.tamis

for kind in $kinds; do
    check "$kind" err="$kind, 1,000 keys" -- "$TAMIS" build -k $kind -o $kind.tamis keys
    check "$kind: no false negative" out='1000\n' -- "$TAMIS" query -c $kind.tamis keys
    check "$kind: few false positives" rc=0 out='*' -- bash -c 'n=$("$TAMIS" query -c '$kind.tamis' others); [ "$n" -lt 40 ]'
    check "$kind: reported by info" out='*' -- bash -c '[ "$("$TAMIS" info --json '$kind.tamis' | grep -c "\"kind\": \"'$kind'\"")" -eq 1 ]'
    check "$kind: no keys" in='' err='0 keys' -- "$TAMIS" build -k $kind -o none.tamis
    check "$kind: an empty filter contains nothing" rc=1 out='0\n' -- "$TAMIS" query -c none.tamis keys
    check "$kind: one key" in='k\n' err='1 key' -- "$TAMIS" build -f -k $kind -o one.tamis
    check "$kind: one key is found" in='k\n' out='k\n' -- "$TAMIS" query one.tamis
    check "$kind: duplicates" err='3,000 keys' -- "$TAMIS" build -f -k $kind -o rep.tamis keys keys keys
    check "$kind: duplicates are found" out='1000\n' -- "$TAMIS" query -c rep.tamis keys
    check "$kind: rate 1e-4" err='*' -- "$TAMIS" build -f -p 1e-4 -k $kind -o p.tamis keys
    check "$kind: rate 1e-4 finds all" out='1000\n' -- "$TAMIS" query -c p.tamis keys
    rm -f none.tamis one.tamis rep.tamis p.tamis
done

# reproducible
for kind in $kinds; do
    build 1.tamis -k $kind keys
    build 2.tamis -k $kind -j 3 <keys
    same "$kind: the same bytes in another run" 1.tamis 2.tamis
    build 2.tamis -k $kind --seed 1 keys
    differ "$kind: another seed, other bytes" 1.tamis 2.tamis
done
for kind in $kinds; do
    build 1.tamis -k $kind keys
    sort -R keys | build 2.tamis -k $kind
    same "$kind: in any order" 1.tamis 2.tamis
    [ $kind != growing ] || continue # with -n it depends on the order, as documented
    build 1.tamis -k $kind -n 1010 keys
    sort -R keys | build 2.tamis -k $kind -n 1010
    same "$kind: in any order, with -n" 1.tamis 2.tamis
done

# where keys come from
check 'standard input' in='a\nb\n' err='2 keys' -- "$TAMIS" build -f -o s.tamis
check '-' in='a\nb\n' err='2 keys' -- "$TAMIS" build -f -o s.tamis -
check 'several inputs' err='2,000 keys' -- "$TAMIS" build -f -o s.tamis keys others
check 'no final newline counts' in='a\nb' err='2 keys' -- "$TAMIS" build -f -o s.tamis
check 'empty lines are one key' in='\n\n\n' err='3 keys \(.*1 distinct' -- "$TAMIS" build -k fuse -f -o s.tamis
check 'a missing input' rc=2 err="cannot open 'nope'" -- "$TAMIS" build -f -o new.tamis nope
check 'a directory' rc=2 err='is a directory' -- "$TAMIS" build -f -o new.tamis .
truth 'no file was written' test ! -e new.tamis
truth 'no temporary file is left' test -z "$(ls -d .tamis-* 2>/dev/null)"

# -n and capacity
check '-n makes room' err='*' -- "$TAMIS" build -f -k block -n 10K -o n.tamis keys
truth 'info reports the capacity' test "$("$TAMIS" info --json n.tamis | field capacity)" -eq 10000
check 'over capacity: 3 and the current rate' rc=3 err="over its capacity of 100 keys: .* instead of 1 %" -- "$TAMIS" build -f -k bloom -n 100 -o n.tamis keys
check 'over capacity: the filter is written' out='1000\n' -- "$TAMIS" query -c n.tamis keys
check 'cuckoo is full: 2' rc=2 err='larger -n than 100' -- "$TAMIS" build -k cuckoo -n 100 -o full.tamis keys
truth 'cuckoo is full: no file' test ! -e full.tamis
check '-n without -k: a kind that takes adds' err='n.tamis: block, 1,000 keys' -- "$TAMIS" build -f -n 10K -o n.tamis keys
check '-n without -k: add works' in='one more\n' -- "$TAMIS" add -q n.tamis
check '-n without -k at a low rate' err='n.tamis: bloom, ' -- "$TAMIS" build -f -n 10K -p 1e-12 -o n.tamis keys
check '-n without -k, too small: 3' rc=3 err='over its capacity of 100 keys' -- "$TAMIS" build -q -f -n 100 -o n.tamis keys
check '-n 0' err='*' rc=0 in='' -- "$TAMIS" build -f -k bloom -n 0 -o n.tamis

# -o
check '-o - to a pipe' out='*' err='standard output: ' -- bash -c '"$TAMIS" build -k bloom -o - keys | cat >o.tamis'
build p.tamis -k bloom keys
same '-o - writes the same bytes' o.tamis p.tamis
if terminal; then
    check '-o - not to a terminal' rc=2 out='*' err='*' -- script -qec '"$TAMIS" build -o - keys' /dev/null
fi
check '-o onto an input' rc=2 err="'keys' is also an input" -- "$TAMIS" build -f -o keys keys
check '-o onto an input by another name' rc=2 err='also an input' -- "$TAMIS" build -f -o ./keys others keys
ln -s keys link
check '-o onto an input by a link' rc=2 err='also an input' -- "$TAMIS" build -f -o link keys
check '-o onto standard input' rc=2 err='also an input' -- bash -c '"$TAMIS" build -f -o keys - <keys'
truth 'the input is unchanged' test "$(wc -l <keys)" -eq 1000
check '-o onto a directory' rc=2 err='it is a directory' -- "$TAMIS" build -f -o . keys
check '-o into no directory' rc=2 err="cannot write 'no/f.tamis'" -- "$TAMIS" build -f -o no/f.tamis keys
check '-o onto a device' rc=2 err='not a regular file' -- "$TAMIS" build -f -o /dev/null keys
truth 'the device still exists' test -c /dev/null
mkfifo pipe
check '-o onto a fifo' rc=2 err='not a regular file' -- "$TAMIS" build -f -o pipe keys
build l.tamis -k bloom others
ln -s l.tamis sym.tamis
build sym.tamis -k bloom keys
truth 'a symbolic link stays one' test -L sym.tamis
check 'the target of the link is replaced' out='1000\n' -- "$TAMIS" query -c l.tamis keys
check 'a name with blanks' err='^a b.tamis: ' -- "$TAMIS" build -o 'a b.tamis' keys
check 'a name with a dash' err='*' -- "$TAMIS" build -o ./-x.tamis keys
check 'a name with a dash after --' out='1000\n' -- "$TAMIS" query -c -- -x.tamis keys
chmod 640 l.tamis
build l.tamis -k bloom keys
truth 'permissions are kept' test "$(stat -c %a l.tamis)" = 640

if [ "$(id -u)" -eq 0 ]; then
    chown 65534:1 l.tamis
    build l.tamis -k bloom keys
    truth 'owner and group are kept' test "$(stat -c %u:%g:%a l.tamis)" = 65534:1:640
    echo x | "$TAMIS" add -q l.tamis
    truth 'owner and group are kept by add' test "$(stat -c %u:%g:%a l.tamis)" = 65534:1:640
fi
cp keys in
check '-o onto standard input' rc=2 err="'in' is also an input" -- bash -c '"$TAMIS" build -f -o in <in'
ln in hard
check '-o onto a link of it' rc=2 err="'hard' is also an input" -- bash -c '"$TAMIS" build -f -o hard <in'
same 'the file is unchanged' in keys
check '-o below a file' rc=2 err="Not a directory: 'in'" -- "$TAMIS" build -o in/x keys
check 'a name with a newline is one line' rc=2 err="cannot open 'a.x0ab.x1b'" -- "$TAMIS" build -o x.tamis $'a\nb\033'

# memory
seq 400000 >many
build m1.tamis many
build m2.tamis --memory 1Mi many
same '--memory gives the same bytes' m1.tamis m2.tamis
check '--memory 0' rc=2 err='--memory must be from 1' -- "$TAMIS" build -f --memory 0 -o m.tamis keys
check '--memory with a bad number' rc=2 err="--memory: 'x'" -- "$TAMIS" build -f --memory x -o m.tamis keys
check 'a missing spill directory' rc=2 err="cannot spill keys to '/nonexistent': No such file or directory; set TMPDIR" -- env TMPDIR=/nonexistent "$TAMIS" build -f --memory 1Mi -o m.tamis many

# kinds and formats
check 'an unknown kind' rc=2 err="unknown kind 'blom'; did you mean 'bloom'" -- "$TAMIS" build -k blom -o k.tamis keys
check 'a kind without a similar name' rc=2 err='it must be bloom, block' -- "$TAMIS" build -k zzzzzz -o k.tamis keys
check '--to tamis' err='*' -- "$TAMIS" build -f --to tamis -o k.tamis keys
check '--to tamis with a kind' err='^k.tamis: bloom, ' -- "$TAMIS" build -f --to tamis -k bloom -o k.tamis keys
check '--to another format with a kind' rc=2 err='-k and --to contradict' -- "$TAMIS" build -f --to guava -k bloom -o k.tamis keys
check 'an unknown format' rc=2 err="unknown format 'tammis'; did you mean 'tamis'" -- "$TAMIS" build --to tammis -o k.tamis keys
printf '%032d\n' 1 >secret
check '--to and --key-file' rc=2 err='--to guava and --key-file contradict' -- "$TAMIS" build --to guava --key-file secret -o g keys
check '--to and --prehashed' rc=2 err='--to guava and --prehashed contradict' -- "$TAMIS" build --to guava --prehashed -o g keys
check '--to and --memory' rc=2 err='--to guava: .*leave --memory out' -- "$TAMIS" build --to guava --memory 1Mi -o g keys
check '--to, -n and --memory' err='*' -- "$TAMIS" build --to guava -n 100K --memory 1Mi -o g keys
rm -f g secret
check 'a rate too low for static kinds' err='^k.tamis: bloom, .* expected rate [0-9.]*e-1[23]$' -- "$TAMIS" build -f -p 1e-12 -o k.tamis keys
check 'one key at a very low rate is not over capacity' in='x\n' err='^k.tamis: bloom, 1 key ' -- "$TAMIS" build -f --to tamis -p 1e-12 -o k.tamis
check 'a rate too low for every kind' rc=2 err='-p 1e-30: lower than any kind supports; the lowest is 2\^-62, of -k bloom' -- "$TAMIS" build -f -p 1e-30 -o k.tamis keys
check 'a rate that underflows' in='x\n' err='expected rate 0$' -- "$TAMIS" build -f --to libbloom -p 1e-30 -o k.lib
check 'a saturated filter' rc=3 err="capacity of 1 key: it holds at least [0-9]+, and its rate is now 100 %" -- "$TAMIS" build -q -f -k bloom -n 1 -o k.tamis many
check 'a rate that is too low' rc=2 err='lower than fuse supports \(2\^-32\)' -- "$TAMIS" build -f -k fuse -p 1e-30 -o k.tamis keys

# progress: not written to a file unless requested
slow='(seq 10; sleep 1.3; seq 10)'
check 'no progress in a file' err='^k.tamis: fuse, 20 keys' -- bash -c "$slow"' | "$TAMIS" build -f -o k.tamis'
truth 'one line of output' test "$(wc -l <"$work/err")" -eq 1
check '--progress' err='^build  20 records  .*/s  ' -- bash -c "$slow"' | "$TAMIS" build --progress -q -f -o k.tamis'
if terminal; then
    check '--no-progress on a terminal' out='*' -- script -qec "$slow"' | "$TAMIS" build --no-progress -q -f -o k.tamis' /dev/null
    truth 'no progress was shown' test ! -s "$work/out"
    check 'progress on a terminal' out='*' -- script -qec "$slow"' | "$TAMIS" build -f -o k.tamis' /dev/null
    truth 'progress was shown' grep -q 'build  20 records' "$work/out"
fi

check 'a stalled pipe' err='^build  10 records  ' -- bash -c '(seq 10; sleep 4; seq 10) | "$TAMIS" build --progress -q -f -o k.tamis'
check 'a pipe without input' err='^build  0 records  ' -- bash -c 'sleep 4 | "$TAMIS" build --progress -q -f -o k0.tamis'

# a phase is shown once it lasts long enough, whatever the phase before it
"$TAMIS" build -q -f -k block -n 1M -o wide.tamis k.tamis
for command in 'merge --progress -q -o - wide.tamis wide.tamis' 'convert --progress -q --to tamis -o - wide.tamis' \
    'build --progress -q -k block -n 1M -o - wide.tamis'; do
    check "progress: ${command%% *}, writing" out='*' err="^${command%% *}  writing \.\.\.  0:0[0-9]$" -- \
        bash -c '"$TAMIS" $1 | (sleep 1.6; cat)' - "$command"
done
slow='(sleep 1.6; cat wide.tamis)'
for command in 'merge -o - wide.tamis' 'convert --to tamis -o -' 'query -c' 'verify' 'measure --samples 10'; do
    check "progress: ${command%% *}, reading" out='*' err="^${command%% *}  reading the filters? \.\.\.  0:0[0-9]$" -- \
        bash -c '"$TAMIS" $1 --progress <('"$slow"') </dev/null || [ $? -eq 1 ]' - "$command"
done
# a run that takes too long to finish: stop it after its message
"$TAMIS" measure --progress --samples 1000G wide.tamis 2>shown >/dev/null & measuring=$!
for ((n = 0; n < 600; n++)); do [ -s shown ] && break; sleep 0.1; done
kill $measuring; wait $measuring 2>/dev/null
truth 'progress: the total' grep -Eq '^measure  .* records  .*/s  .* of 1.00T \([0-9]+ %\)  ETA ' shown

# --check changes nothing but the time
for options in '-k fuse' '-k ribbon -j 3' '-k bloom -n 1000' '-k cuckoo' '-k growing -n 10' '-k fuse --memory 1Mi' '--to guava' '--to guava -n 1000'; do
    # shellcheck disable=SC2086
    build plain.tamis $options keys keys
    # shellcheck disable=SC2086
    build checked.tamis $options --check keys keys
    same "--check, $options: the same bytes" plain.tamis checked.tamis
done
check '--check to standard output' out='*' err='1,000 keys' -- bash -c '"$TAMIS" build --check -o - keys | cmp - <("$TAMIS" build -q -o - keys)'

# --memory holds for any number of duplicates, and the file is the same
limited() { bash -c "ulimit -d 60000; $1"; }
often='(seq 100000; yes often | head -n 4000000; yes "$(seq 20)" | head -n 4000000; seq 100000)'
if limited '"$TAMIS" --version' >/dev/null 2>&1; then
    check 'many duplicates, without --memory: out of memory' rc=2 err='out of memory' -- limited "$often"' | "$TAMIS" build -q -j 2 -o often.tamis'
    check 'many duplicates, with --memory' err='8,200,000 keys \(100,001 distinct\)' -- limited "$often"' | "$TAMIS" build -j 2 --memory 16Mi -o often.tamis'
    check 'many duplicates: all keys are found' err='all 100,001 keys' -- bash -c '(seq 100000; echo often) | "$TAMIS" verify often.tamis'
fi
for kind in fuse bloom counting cuckoo; do
    eval "$often" | build unlimited.tamis -k $kind
    eval "$often" | build limited.tamis -k $kind --memory 1Mi
    same "many duplicates, $kind: the same file" unlimited.tamis limited.tamis
done

# the lowest possible rate holds at capacity
check 'capacity at the lowest rate' -- bash -c '
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        printf "$i a\n$i b\n" | "$TAMIS" build -q -f -k block -n 2 -p 4.66e-10 -o low.tamis || exit
    done'
