# filters that are missing, unreadable, cut off, foreign or damaged: a sentence and 2, always
seq 1000 >keys
for kind in bloom block counting cuckoo xor fuse ribbon growing; do
    build good.tamis -k $kind keys
    size=$(stat -c %s good.tamis)
    for cut in 0 1 7 8 63 64 100 $((size / 2)) $((size - 1)); do
        head -c $cut good.tamis >cut.tamis
        check "$kind cut to $cut of its bytes" rc=2 out='' err="'cut.tamis'" in='1\n' -- "$TAMIS" query cut.tamis
    done
    (cat good.tamis; echo) >long.tamis
    check "$kind that goes on" rc=2 out='' err="'long.tamis'" in='1\n' -- "$TAMIS" query long.tamis
    for at in 0 9 17 40 80 $((size / 2)) $((size - 2)); do
        cp good.tamis bad.tamis
        byte=$(od -An -tu1 -j $at -N 1 bad.tamis | tr -d ' ')
        # shellcheck disable=SC2059
        printf "\\x$(printf %02x $((byte ^ 4)))" | dd of=bad.tamis bs=1 seek=$at conv=notrunc status=none
        for command in query add remove verify info measure; do
            check "$kind with byte $at changed: $command" rc=2 out='' err="'bad.tamis'" in='1\n' -- "$TAMIS" $command bad.tamis
        done
    done
done
head -c 5000 /dev/urandom >random.tamis
: >empty.tamis
cp "$TAMIS" elf.tamis
for file in random.tamis empty.tamis elf.tamis keys; do
    for command in query add remove verify info measure; do
        check "$command of $file" rc=2 out='' err="'$file'" in='1\n' -- "$TAMIS" $command $file
    done
    check "merge of $file" rc=2 err="'$file'" -- "$TAMIS" merge -o m.tamis good.tamis $file
    check "convert of $file" rc=2 err="'$file'" -- "$TAMIS" convert --to tamis -o m.tamis $file
    check "uniq into $file" rc=2 err="'$file'" in='1\n' out='' -- "$TAMIS" uniq --save $file
done
truth 'nothing was written' test ! -e m.tamis
for command in query add remove verify info measure; do
    check "$command of nothing there" rc=2 out='' err="cannot open 'no.tamis': No such file or directory" in='1\n' -- "$TAMIS" $command no.tamis
    check "$command of a path through a file" rc=2 out='' err='Not a directory' in='1\n' -- "$TAMIS" $command keys/x
    check "$command of a directory" rc=2 out='' err='is a directory' in='1\n' -- "$TAMIS" $command .
    check "$command of an empty name" rc=2 out='' err="cannot open ''" in='1\n' -- "$TAMIS" $command ''
done

# what cannot be read or written, as a user who is not root
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$work" . && chmod 644 -- *
    cp "$TAMIS" tamis && chmod 755 tamis
    user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
else
    cp "$TAMIS" tamis
    user() { "$@"; }
fi
build secret.tamis -k bloom -n 5000 keys
chmod 000 secret.tamis
cp keys hidden; chmod 000 hidden
check 'a filter that may not be read' rc=2 out='' err="cannot open 'secret.tamis': Permission denied" in='1\n' -- user ./tamis query secret.tamis
check 'an input that may not be read' rc=2 out='' err="cannot open 'hidden': Permission denied" -- user ./tamis query good.tamis hidden
mkdir locked; build locked/f.tamis -k bloom -n 5000 keys; cp locked/f.tamis before; chmod 555 locked
check 'a directory that may not be written: build' rc=2 err="cannot write 'locked/new.tamis': Permission denied" -- user ./tamis build -o locked/new.tamis keys
check 'a directory that may not be written: add' rc=2 in='x\n' err="cannot write 'locked/f.tamis': Permission denied" -- user ./tamis add locked/f.tamis
check 'a directory that may not be written: uniq' rc=2 in='x\n' out='' err='Permission denied' -- user ./tamis uniq --save locked/u.tamis
chmod 755 locked
same 'it is as it was' locked/f.tamis before
truth 'and nothing beside it' test "$(ls locked)" = f.tamis

# no space left: a file system of 64 KiB, where one may be mounted
mkdir small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
    seq 100000 >many
    check 'no space: build' rc=2 err="cannot write 'small/f.tamis': No space left on device" -- "$TAMIS" build -o small/f.tamis many
    truth 'no space: nothing is left' test -z "$(ls -A small)"
    build small/f.tamis -k growing keys; cp small/f.tamis before
    check 'no space: add' rc=2 err="No space left" -- "$TAMIS" add small/f.tamis many
    same 'no space: the filter is as it was' small/f.tamis before
    check 'no space: uniq' rc=2 out='*' err="No space left" -- "$TAMIS" uniq --save small/f.tamis many
    same 'no space: still' small/f.tamis before
    truth 'no space: nothing beside it' test "$(ls -A small)" = f.tamis
    check 'no space: spilling' rc=2 err='TMPDIR' -- env TMPDIR="$PWD/small" "$TAMIS" build --memory 64Ki -o big.tamis many many many
    truth 'no space: no filter' test ! -e big.tamis
    umount small
fi
