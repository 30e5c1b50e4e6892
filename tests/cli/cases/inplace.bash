# large files are updated in place, with a journal
# tests: slow full
seq 1000 >old; seq 1001 1010 >ten; seq 1001 200000 >many
MIB=1048576

# add ten keys in place; the bytes equal those of a file written as a whole
for kind in block bloom counting; do
    case $kind in block) n=14M ;; bloom) n=40M ;; counting) n=12M ;; esac
    build f.tamis -k $kind -n $n old
    truth "$kind: large enough" test "$(stat -c %s f.tamis)" -ge $((16 * MIB))
    cp f.tamis before.tamis
    cp f.tamis anew.tamis; ln anew.tamis other.tamis # a file with two names is written anew
    inode=$(stat -c %i f.tamis)
    check "$kind: add in place" err='added 10 keys, 10 of them new, in place: .* written of' -- "$TAMIS" add f.tamis ten
    truth "$kind: the same file" test "$(stat -c %i f.tamis)" = "$inode"
    check "$kind: two names: written as a whole" err='added 10 keys, 10 of them new; now about 1,0[0-9]. keys' -- "$TAMIS" add anew.tamis ten
    same "$kind: the other name keeps the old file" other.tamis before.tamis
    same "$kind: in place and as a whole give the same bytes" f.tamis anew.tamis
    check "$kind: no key is lost" err='all 1,010 keys are in it' -- "$TAMIS" verify f.tamis old ten
    check "$kind: many keys: written as a whole" err='added 199,000 keys.* expected rate' -- "$TAMIS" add f.tamis many
    truth "$kind: a new file" test "$(stat -c %i f.tamis)" != "$inode"
    check "$kind: many keys: no key is lost" err='all 200,000 keys are in it' -- "$TAMIS" verify f.tamis old many
    rm -f anew.tamis other.tamis
done
check 'counting: remove in place' err='removed 10 keys, in place' -- "$TAMIS" remove f.tamis ten
check 'counting: keys that were added twice are still found' out='10\n' -- "$TAMIS" query -c f.tamis ten
check 'counting: remove the rest' err='removed 10 keys, in place' -- "$TAMIS" remove f.tamis ten
check 'counting: removed keys are not found' rc=1 out='0\n' -- "$TAMIS" query -c f.tamis ten
check 'remove: some are absent' rc=1 err='not in' -- "$TAMIS" remove f.tamis ten
only 'nothing is left beside the files' before.tamis f.tamis many old ten

# other kinds and small files are written as a whole
build g.tamis -k growing -n 10000000 old
check 'growing is written as a whole' err='now about 1,0.. keys' -- "$TAMIS" add g.tamis ten
build c.tamis -k cuckoo -n 20000000 old
check 'cuckoo is written as a whole' err='now (about )?1,0.. keys' -- "$TAMIS" add c.tamis ten
rm g.tamis c.tamis

# over capacity: reported in place, too
build p.tamis -k bloom -n 16000000 <(seq 16500000) 2>/dev/null
check 'over capacity, in place: 3' rc=3 err='over its capacity' -- "$TAMIS" add -q p.tamis <(seq 100000001 100000010)
rm p.tamis

# a process that has the file mapped keeps the old version
build f.tamis -k block -n 14M old
cp f.tamis before.tamis
mkfifo pipe
"$TAMIS" query -c f.tamis <pipe >count & reader=$!
exec 3>pipe; sleep 0.3
inode=$(stat -c %i f.tamis)
check 'a reader has it mapped: written as a whole' err='added 10 keys' -- "$TAMIS" add f.tamis ten
truth 'a reader has it mapped: a new file' test "$(stat -c %i f.tamis)" != "$inode"
cat old ten >&3; exec 3>&-; wait $reader
truth 'the reader queried the old file' test "$(cat count)" -lt 1010
check 'others query the new file' out='10\n' -- "$TAMIS" query -c f.tamis ten

# several writers at once: they wait, and no key is lost
build f.tamis -k block -n 14M old
for i in 1 2 3 4 5 6; do seq $((i * 10000)) $((i * 10000 + 9)) | "$TAMIS" add -q f.tamis & done
wait
check 'six writers at once' err='all 1,060 keys' -- "$TAMIS" verify f.tamis old <(for i in 1 2 3 4 5 6; do seq $((i * 10000)) $((i * 10000 + 9)); done)
build s.tamis -k bloom -n 1000 old
for i in 1 2 3 4 5 6; do seq $((i * 10000)) $((i * 10000 + 9)) | "$TAMIS" add -q s.tamis 2>/dev/null & done
wait
check 'six writers at once, a small file' err='all 1,060 keys' -- "$TAMIS" verify s.tamis old <(for i in 1 2 3 4 5 6; do seq $((i * 10000)) $((i * 10000 + 9)); done)

# damage never gets a valid checksum
cp before.tamis d.tamis
for ((at = 1000; at < 16 * MIB; at += 65536)); do printf '\377' | dd of=d.tamis bs=1 seek=$at conv=notrunc status=none; done
cp d.tamis damaged
check 'a damaged piece: 2' rc=2 err='checksum does not match' -- "$TAMIS" add d.tamis ten
same 'a damaged piece: unchanged' d.tamis damaged
check 'a damaged piece, written as a whole: 2' rc=2 err='checksum does not match' -- "$TAMIS" add d.tamis many
same 'a damaged piece, written as a whole: unchanged' d.tamis damaged
rm -f d.tamis damaged ./*.journal

# if no journal can be created, the file is written as a whole
mkdir f.tamis.journal; cp before.tamis f.tamis
check 'a directory in place of the journal' err='added 10 keys.*expected rate' -- "$TAMIS" add f.tamis ten
rmdir f.tamis.journal
long=$(printf 'x%.0s' $(seq 250)); cp before.tamis "$long"
check 'a name that is too long for a journal' err='added 10 keys.*expected rate' -- "$TAMIS" add "$long" ten
same 'the same bytes' f.tamis "$long"
rm "$long"

# no space for the journal, no permission to write
if [ "$(id -u)" -eq 0 ] && mkdir small && mount -t tmpfs -o size=24m tmpfs small 2>/dev/null; then
    build small/f.tamis -k block -n 14M old
    cp small/f.tamis before.small
    fallocate -l "$(($(df --output=avail -B1 small | tail -1) - 65536))" small/filler
    check 'no space: 2' rc=2 err='No space left' -- "$TAMIS" add small/f.tamis ten
    same 'no space: unchanged' small/f.tamis before.small
    truth 'no space: no journal is left' test "$(ls small)" = 'f.tamis
filler'
    umount small
fi

# dies at every call that changes a file: readers find the old or the new filter, and the next
# update completes or discards the journal
[ -n "${FAULT_LIBRARY-}" ] || return 0
cp before.tamis want.tamis; "$TAMIS" add -q want.tamis ten
cp want.tamis wanted.more; seq 2000 2003 >four; "$TAMIS" add -q wanted.more four
cp before.tamis old.more; "$TAMIS" add -q old.more four
cp before.tamis f.tamis; dying 0 "$TAMIS" add -q f.tamis ten
truth "in place takes many calls ($calls)" test "$calls" -gt 20
for ((n = 1; n <= calls; n++)); do
    # Test the first and the last calls; those in between repeat.
    if [ $full = no ] && [ $n -gt 5 ] && [ $n -lt $((calls - 4)) ] && [ $((n % 6)) -ne 0 ]; then continue; fi
    cp before.tamis f.tamis
    (dying $n "$TAMIS" add -q f.tamis ten) 2>/dev/null
    found=$("$TAMIS" query -c f.tamis ten)
    verdict "died at call $n: all or none" "$([ "$found" -eq 10 ] || [ "$found" -eq 0 ] || echo "$found of 10")"
    check "died at call $n: verified" err='all 1,000 keys' -- "$TAMIS" verify f.tamis old
    cp f.tamis torn.tamis; [ -e f.tamis.journal ] && cp f.tamis.journal torn.tamis.journal
    check "died at call $n: read as a whole" out='*' -- "$TAMIS" convert -q -f --to tamis -o copied.tamis torn.tamis
    if [ "$found" -eq 10 ]; then new=want.tamis more=wanted.more; else new=before.tamis more=old.more; fi
    same "died at call $n: the bytes read" copied.tamis $new
    "$TAMIS" add -q f.tamis four
    same "died at call $n: the next update completes it" f.tamis $more
    truth "died at call $n: no journal is left" test ! -e f.tamis.journal
    rm -f torn.tamis*
done

# dies again while the journal is applied
cp before.tamis f.tamis
(dying $((calls - 3)) "$TAMIS" add -q f.tamis ten) 2>/dev/null
truth 'a journal exists' test -s f.tamis.journal
cp f.tamis torn.tamis; cp f.tamis.journal journal
for n in 1 2 9 20; do
    cp torn.tamis f.tamis; cp journal f.tamis.journal
    (dying $n "$TAMIS" add -q f.tamis four) 2>/dev/null
    check "died again at $n" err='all 1,010 keys' -- "$TAMIS" verify f.tamis old ten
    "$TAMIS" add -q f.tamis four
    check "died again at $n: completed" err='all 1,014 keys' -- "$TAMIS" verify f.tamis old ten four
done

# a journal that is truncated, damaged or of another file is void
bytes=$(stat -c %s journal)
for cut in 0 1 100 231 232 400 $((bytes / 2)) $((bytes - 65536)) $((bytes - 1)); do
    cp before.tamis f.tamis; head -c "$cut" journal >f.tamis.journal
    check "cut at $cut: void" rc=1 out='0\n' -- "$TAMIS" query -c f.tamis ten
    check "cut at $cut: the next update removes it" -- "$TAMIS" add -q f.tamis four
    same "cut at $cut: the result is right" f.tamis old.more
    truth "cut at $cut: no journal is left" test ! -e f.tamis.journal
done
for at in 3 9 17 25 33 40 200 240 300 $((bytes / 2)) $((bytes - 1)); do
    cp before.tamis f.tamis; cp journal f.tamis.journal
    printf '\125' | dd of=f.tamis.journal bs=1 seek=$at conv=notrunc status=none
    check "damaged at $at: void" rc=1 out='0\n' -- "$TAMIS" query -c f.tamis ten
done
cat journal <(echo x) >f.tamis.journal
check 'too long: void' rc=1 out='0\n' -- "$TAMIS" query -c f.tamis ten
cp old.more f.tamis; cp journal f.tamis.journal
check 'of another file: void' rc=1 out='0\n' -- "$TAMIS" query -c f.tamis ten
build f.tamis -k block -n 14M old
truth 'a replaced file has no journal' test ! -e f.tamis.journal
cp torn.tamis f.tamis; cp journal f.tamis.journal; ln -s f.tamis link.tamis
check 'through a link' out='10\n' -- "$TAMIS" query -c link.tamis ten
check 'through a link, completed' -- "$TAMIS" add -q link.tamis four
truth 'through a link, removed' test ! -e f.tamis.journal
mkfifo f.tamis.journal
check 'a journal that is a pipe' out='10\n' -- "$TAMIS" query -c f.tamis ten
rm f.tamis.journal; ln -s journal f.tamis.journal; cp before.tamis f.tamis
check 'a journal that is a link' rc=1 out='0\n' -- "$TAMIS" query -c f.tamis ten
