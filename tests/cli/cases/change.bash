# add and remove
seq 1000 >keys; seq 1001 2000 >more; seq 5001 5010 >few
for kind in bloom block counting cuckoo growing; do
    build f.tamis -k $kind -n 5000 keys
    check "$kind: add" out='' err='added 1,000 keys' -- "$TAMIS" add f.tamis more
    check "$kind: the old keys are found" out='1000\n' -- "$TAMIS" query -c f.tamis keys
    check "$kind: the new keys are found" out='1000\n' -- "$TAMIS" query -c f.tamis more
    check "$kind: add from standard input" in='x\ny\n' err='added 2 keys, [012] of them new' -- "$TAMIS" add f.tamis
    check "$kind: add nothing" in='' err='added 0 keys' -- "$TAMIS" add f.tamis
    check "$kind: verify" err='*' -- "$TAMIS" verify f.tamis keys more
done
only 'no temporary file is left' f.tamis few keys more
check '-q' in='z\n' out='' err='' -- "$TAMIS" add -q f.tamis

for kind in xor fuse ribbon; do
    build s.tamis -k $kind keys
    cp s.tamis before
    check "$kind does not support add" rc=2 err="is a $kind filter: this kind is built from all keys" -- "$TAMIS" add s.tamis more
    check "$kind does not support remove" rc=2 err="is a $kind filter, which does not support remove" -- "$TAMIS" remove s.tamis keys
    same "$kind is unchanged" s.tamis before
done
for kind in bloom block growing; do
    build s.tamis -k $kind keys
    cp s.tamis before
    check "$kind does not support remove" rc=2 err='does not support remove: build one with -k counting or cuckoo' -- "$TAMIS" remove s.tamis keys
    same "$kind is unchanged" s.tamis before
done

# over capacity
build c.tamis -k bloom -n 1000 keys
check 'add past the capacity: 3' rc=3 err='over its capacity of 1,000 keys.*its rate is now .* instead of 1 %' -- "$TAMIS" add -q c.tamis more
check 'over capacity: the keys are added' out='1000\n' -- "$TAMIS" query -c c.tamis more
build c.tamis -k cuckoo -n 1000 keys
cp c.tamis before
check 'cuckoo is full: 2' rc=2 err="'c.tamis' is full" -- "$TAMIS" add c.tamis more
same 'cuckoo is full: unchanged' c.tamis before
build c.tamis -k cuckoo -n 1000000 keys
cp c.tamis before
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat keys more; done >often
check 'cuckoo: too many copies of the same keys: 2' rc=2 err="'c.tamis' has no slot for another copy .* remove the repeats first" -- "$TAMIS" add c.tamis often
same 'cuckoo: too many copies: unchanged' c.tamis before
check 'cuckoo: without the copies' err='added 2,000 keys' -- bash -c '"$TAMIS" uniq -q often | "$TAMIS" add c.tamis'

# remove
for kind in counting cuckoo; do
    build r.tamis -k $kind -n 3000 -p 1e-4 keys
    cp r.tamis before
    check "$kind: remove" err='removed 10 keys' -- "$TAMIS" remove r.tamis <(seq 10)
    check "$kind: removed keys are not found" out='*' rc=0 -- bash -c '[ "$(seq 10 | "$TAMIS" query -c r.tamis)" -le 1 ]'
    check "$kind: the other keys are found" out='990\n' -- "$TAMIS" query -c r.tamis <(seq 11 1000)
    seq 10 | "$TAMIS" add -q r.tamis
    check "$kind: all keys are found again" out='1000\n' -- "$TAMIS" query -c r.tamis keys
    check "$kind: remove an absent key: 1" rc=1 in='11\nnope\n12\n' err="1 keys? (was|were) not in 'r.tamis'; the first is 'standard input', line 2" -- "$TAMIS" remove r.tamis
    check "$kind: the other keys were removed" out='*' rc=0 -- bash -c '[ "$(printf "11\n12\n" | "$TAMIS" query -c r.tamis)" -le 1 ]'
    cp r.tamis before
    check "$kind: nothing to remove" rc=1 in='nope\n' err='not in' -- "$TAMIS" remove r.tamis
    same "$kind: the file is unchanged" r.tamis before
done
build r.tamis -k counting -n 100 <(printf 'a\na\n')
check 'two occurrences' in='a\n' -- "$TAMIS" remove -q r.tamis

# bad input changes nothing
build b.tamis -k counting -n 5000 --hex <(seq 1000 | awk '{printf "%04x\n", $1}')
cp b.tamis before
check 'add: bad hex' rc=2 in='aa\nzz\n' err="line 2: 'z' at byte 1" -- "$TAMIS" add b.tamis
same 'add: unchanged' b.tamis before
check 'remove: bad hex' rc=2 in='0001\nz\n' err='line 2' -- "$TAMIS" remove b.tamis
same 'remove: unchanged' b.tamis before
check 'add: missing input' rc=2 err="cannot open 'nope'" -- "$TAMIS" add b.tamis nope
check 'add: missing filter' rc=2 err="cannot open 'nope.tamis': No such file" -- "$TAMIS" add nope.tamis few
check 'add: filter as standard input' rc=2 err="^tamis: add: 'b.tamis' is also an input" -- bash -c '"$TAMIS" add b.tamis <b.tamis'
check 'add: filter as input' rc=2 err='also an input' -- "$TAMIS" add b.tamis b.tamis
check 'add: no filter' rc=2 err='missing FILE \(the filter\)' -- "$TAMIS" add
check 'remove: no filter' rc=2 err='missing FILE \(the filter\)' -- "$TAMIS" remove
check 'remove: missing filter' rc=2 -- "$TAMIS" remove nope.tamis few
same 'the filter is unchanged' b.tamis before
ln -s b.tamis link.tamis
echo abcd | "$TAMIS" add -q link.tamis
truth 'a link stays a link' test -L link.tamis
check 'the target of the link has the key' in='abcd\n' out='abcd\n' -- "$TAMIS" query b.tamis
build k.tamis -k block -n 100 --key-file <(echo 000102030405060708090a0b0c0d0e0f) few
check 'add to a keyed filter' rc=2 err='is keyed' -- "$TAMIS" add k.tamis more
check 'add with the secret' in='q\n' -- "$TAMIS" add -q --key-file <(echo 000102030405060708090a0b0c0d0e0f) k.tamis
seq 1000 >thousand
build p.tamis -k bloom -n 2000 thousand
check 'progress counts the keys of the filter' err='^add  201 records .*  fill 50 %$' -- bash -c '(head -n 200 thousand; sleep 1.1; echo 5) | "$TAMIS" add -q --progress p.tamis'
seq 2 | "$TAMIS" build -q --to guava -n 100K -p 1e-60 -o low.tamis
check 'a very low rate is printed as 0' in='5\n' err='added 1 key, 1 of them new; now about 3 keys, .*expected rate 0$' -- "$TAMIS" add low.tamis
echo a | build one.tamis -k counting -n 10
check 'one key: singular' in='a\n' err='added 1 key, 0 of them new; now about 1 key, ' -- "$TAMIS" add one.tamis
check 'one key removed: singular' in='a\n' err='removed 1 key; now about 1 key, ' -- "$TAMIS" remove one.tamis

# build makes a set; add counts occurrences
for kind in counting cuckoo; do
    printf 'twice\nonce\ntwice\n' | build set.tamis -k $kind -n 100
    check "$kind: built from duplicates, removed once" in='twice\n' -- "$TAMIS" remove -q set.tamis
    check "$kind: not found after that" rc=1 in='twice\n' out='' -- "$TAMIS" query set.tamis
    check "$kind: added twice" in='twice\ntwice\n' -- "$TAMIS" add -q set.tamis
    check "$kind: removed once" in='twice\n' -- "$TAMIS" remove -q set.tamis
    check "$kind: still found" in='twice\n' out='twice\n' -- "$TAMIS" query set.tamis
done

# a file that is replaced during a change: the new file stays, and the change is reported as failed
replaced() { # FILE COMMAND...: the command waits for its input while another filter is put in its place
    local file=$1
    shift
    rm -f p; mkfifo p
    "$TAMIS" "$@" <p >printed 2>"$work/late" & local late=$!
    exec 4>p
    until ls -l /proc/$late/fd | grep -q "$file"; do sleep 0.05; done
    "$TAMIS" build -q -f -k counting -n 5000 -o "$file" more
    cp "$file" new
    echo 1 >&4; exec 4>&-
    wait $late
}
build f.tamis -k counting -n 5000 keys
for command in 'add f.tamis' 'remove f.tamis' 'uniq --save f.tamis'; do
    build f.tamis -k counting -n 5000 keys
    replaced f.tamis $command
    verdict "$command, replaced: exit code" "$([ $? -eq 2 ] || echo "not 2")"
    truth "$command, replaced: reported" grep -q "'f.tamis' meanwhile; that file was not changed" "$work/late"
    same "$command, replaced: the new file stays" f.tamis new
    truth "$command, replaced: no temporary file is left" test -z "$(ls -d .tamis-* 2>/dev/null)"
done
