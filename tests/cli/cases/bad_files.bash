# filters that are missing, unreadable, truncated, of other formats or damaged: a message and exit code 2
seq 1000 >keys
for kind in bloom block counting cuckoo xor fuse ribbon growing; do
    build good.tamis -k $kind keys
    size=$(stat -c %s good.tamis)
    for cut in 0 1 7 8 63 64 100 $((size / 2)) $((size - 1)); do
        head -c $cut good.tamis >cut.tamis
        check "$kind cut to $cut of its bytes" rc=2 out='' err="'cut.tamis'" in='1\n' -- "$TAMIS" query cut.tamis
    done
    (cat good.tamis; echo) >long.tamis
    check "$kind with trailing bytes" rc=2 out='' err="'long.tamis'" in='1\n' -- "$TAMIS" query long.tamis
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
for command in query add remove verify info measure; do # however it opens it
    check "$command: an empty file is not a filter" rc=2 out='' err="'empty.tamis' is not a filter of a known format" in='1\n' -- "$TAMIS" $command empty.tamis
done
for command in query add remove verify info measure; do
    check "$command of a missing file" rc=2 out='' err="cannot open 'no.tamis': No such file or directory" in='1\n' -- "$TAMIS" $command no.tamis
    check "$command of a path through a file" rc=2 out='' err='Not a directory' in='1\n' -- "$TAMIS" $command keys/x
    check "$command of a directory" rc=2 out='' err='is a directory' in='1\n' -- "$TAMIS" $command .
    check "$command of an empty name" rc=2 out='' err="cannot open ''" in='1\n' -- "$TAMIS" $command ''
done

# compressed filters
build packed.tamis keys; "$TAMIS" build -q --to dcso -o packed.dcso keys
for packer in gzip bzip2 xz zstd; do
    command -v $packer >/dev/null || continue
    $packer -c <packed.tamis >packed.1; $packer -c <packed.dcso >packed.2
    check "a filter compressed with $packer" rc=2 out='' err="'packed.1' is compressed with $packer: decompress it first$" in='1\n' -- "$TAMIS" query packed.1
    check "a compatible filter compressed with $packer" rc=2 out='' err="'packed.2' is compressed with $packer: decompress it first$" -- "$TAMIS" info --from dcso packed.2
done
check 'decompressed in a pipe' in='1\n' out='1\n' -- bash -c '"$TAMIS" query <(gzip -c <packed.tamis | gzip -dc)'

# permissions, as a user who is not root
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
check 'no permission to read the filter' rc=2 out='' err="cannot open 'secret.tamis': Permission denied" in='1\n' -- user ./tamis query secret.tamis
check 'no permission to read an input' rc=2 out='' err="cannot open 'hidden': Permission denied" -- user ./tamis query good.tamis hidden
mkdir open; chmod 777 open; build open/f.tamis -k bloom -n 5000 keys; cp open/f.tamis before; chmod 444 open/f.tamis
protected="cannot write 'open/f.tamis': Permission denied"
check 'no permission to write the file: build -f' rc=2 err="$protected" -- user ./tamis build -f -o open/f.tamis keys
check 'no permission to write the file: merge -f' rc=2 err="$protected" -- user ./tamis merge -f -o open/f.tamis before before
check 'no permission to write the file: convert -f' rc=2 err="$protected" -- user ./tamis convert -f --to tamis -o open/f.tamis good.tamis
check 'no permission to write the file: add' rc=2 in='x\n' err="$protected" -- user ./tamis add open/f.tamis
check 'no permission to write the file: uniq' rc=2 in='x\n' out='' err="$protected" -- user ./tamis uniq --save open/f.tamis
same 'no permission to write the file: unchanged' open/f.tamis before
truth 'no permission to write the file: nothing left beside it' test "$(ls open)" = f.tamis
mkdir locked; build locked/f.tamis -k bloom -n 5000 keys; cp locked/f.tamis before; chmod 555 locked
check 'no permission to write the directory: build' rc=2 err="cannot write 'locked/new.tamis': Permission denied" -- user ./tamis build -o locked/new.tamis keys
check 'no permission to write the directory: add' rc=2 in='x\n' err="cannot write 'locked/f.tamis': Permission denied" -- user ./tamis add locked/f.tamis
check 'no permission to write the directory: uniq' rc=2 in='x\n' out='' err='Permission denied' -- user ./tamis uniq --save locked/u.tamis
chmod 755 locked
same 'the file is unchanged' locked/f.tamis before
truth 'nothing is left beside it' test "$(ls locked)" = f.tamis

# a directory that may be searched but not listed
mkdir blind; chmod 733 blind; [ "$(id -u)" -eq 0 ] || chmod 300 blind
check 'no permission to list the directory: build' -- user ./tamis build -q -k bloom -n 5000 -o blind/f.tamis keys
check 'no permission to list the directory: add' in='x\n' -- user ./tamis add -q blind/f.tamis
check 'no permission to list the directory: the key was added' in='x\n' out='x\n' -- user ./tamis query blind/f.tamis
check 'no permission to list the directory: uniq' in='x\n' out='x\n' -- user ./tamis uniq -q --save blind/u.tamis
check 'no permission to list the directory: uniq again' in='x\ny\n' out='y\n' -- user ./tamis uniq -q --save blind/u.tamis
chmod 755 blind

# a link of another user in a directory where everybody may create files
if [ "$(id -u)" -eq 0 ]; then
    mkdir sticky; chmod 1777 sticky; user ln -s "$PWD/elsewhere" sticky/out
    check 'a link of another user: build' rc=2 err="'sticky/out': it is a link that another user has made" -- "$TAMIS" build -f -o sticky/out keys
    check 'a link of another user: uniq' rc=2 in='x\n' out='' err='is a link that another user has made' -- "$TAMIS" uniq --save sticky/out
    truth 'a link of another user: not followed' test ! -e elsewhere
    ln -s "$PWD/elsewhere" sticky/own
    check 'a link of the user is followed' -- "$TAMIS" build -q -f -o sticky/own keys
    rm -rf sticky elsewhere
fi

# a temporary file that another user left
mkdir shared; chmod 777 shared; echo left >shared/u.tamis.part; chmod 444 shared/u.tamis.part
check 'a file of another user beside it does not matter' in='x\n' out='x\n' -- user ./tamis uniq -q --save shared/u.tamis
truth 'and is left alone' test "$(cat shared/u.tamis.part)" = left

# no space left: a file system of 64 KiB, if one can be mounted
mkdir small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
    seq 100000 >many
    check 'no space: build' rc=2 err="cannot write 'small/f.tamis': No space left on device" -- "$TAMIS" build -o small/f.tamis many
    truth 'no space: no file is left' test -z "$(ls -A small)"
    build small/f.tamis -k growing keys; cp small/f.tamis before
    check 'no space: add' rc=2 err="No space left" -- "$TAMIS" add small/f.tamis many
    same 'no space: the filter is unchanged' small/f.tamis before
    check 'no space: uniq' rc=2 out='*' err="No space left" -- "$TAMIS" uniq --save small/f.tamis many
    same 'no space: unchanged after uniq' small/f.tamis before
    truth 'no space: nothing left beside it' test "$(ls -A small)" = f.tamis
    echo old >small/p.svg
    dd if=/dev/zero of=small/fill 2>/dev/null
    check 'no space: an SVG file' rc=2 out='*' err='p.svg.*No space left' -- "$TAMIS" plan -n 1M --svg small/p.svg
    truth 'no space: the old SVG file stays' test "$(cat small/p.svg)" = old
    rm small/p.svg small/fill
    check 'no space: spilling' rc=2 err="cannot spill keys to '.*/small': No space left on device; set TMPDIR" -- env TMPDIR="$PWD/small" "$TAMIS" build --memory 64Ki -o big.tamis many many many
    truth 'no space: no filter' test ! -e big.tamis
    umount small
fi

# closed standard streams: no file takes their descriptors
cd .. && mkdir streams && cd streams || exit 2
seq 100 >k; build k.tamis k; cp k k.before; cp k.tamis f.before
check 'query >&-' rc=2 err='cannot write to standard output: Bad file descriptor' -- bash -c '"$TAMIS" query k.tamis k >&-'
check 'uniq >&-' rc=2 err='cannot write to standard output: Bad file descriptor' -- bash -c '"$TAMIS" uniq --save s.tamis k >&-'
truth 'nothing is saved' test ! -e s.tamis
check 'info >&-' rc=2 err='cannot write to standard output' -- bash -c '"$TAMIS" info k.tamis >&-'
check 'an input that is standard output: build' rc=2 err="'k' is both input and output" -- bash -c '"$TAMIS" build -o - k >>k'
check 'an input that is standard output: convert' rc=2 err="'k.tamis' is both input and output" -- bash -c '"$TAMIS" convert --to tamis -o - k.tamis >>k.tamis'
check 'all closed' out='' err='' -- bash -c '"$TAMIS" build -o all.tamis k <&- >&- 2>&-'
same 'all closed: the same filter' all.tamis k.tamis
same 'the input is unchanged' k k.before
same 'the filter is unchanged' k.tamis f.before
check 'spilling with standard error closed' out='' err='' -- bash -c '(seq 200000; sleep 1.2; seq 200001 400000) | "$TAMIS" build --progress --memory 64Ki -o spilled.tamis 2>&-'
check 'the progress line does not overwrite spilled keys' err='all 400,000 keys' -- "$TAMIS" verify spilled.tamis <(seq 400000)

# a filter that another process truncates during a query
seq 1000000 >many; build cut.tamis many
check 'truncated during a query: 2' rc=2 out='' err='^tamis: a filter was truncated while it was being read$' -- \
    bash -c '(cat many; sleep 0.5; truncate -s 100 cut.tamis; cat many) | "$TAMIS" query -c cut.tamis'

# pipes as filters
mkfifo pipe
check 'no filter in a pipe: 2' rc=2 err="'pipe' is not a filter of a known format" -- bash -c 'cat k >pipe & timeout 10 "$TAMIS" info pipe'
check 'nothing in a pipe: 2' rc=2 err="'pipe' is not a filter of a known format" -- bash -c ': >pipe & timeout 10 "$TAMIS" query pipe k'
check 'a filter in a pipe' out='100\n' -- bash -c 'cat f.before >pipe & timeout 10 "$TAMIS" query -c pipe k'

# files that other users may put beside the output are neither followed nor changed
echo victim >victim; ln -s victim t.tamis.part; ln -s victim t.svg.part
check 'a link beside the output' -- "$TAMIS" build -q -o t.tamis k
check 'a link beside an SVG' out='*' -- "$TAMIS" plan -n 5 --svg t.svg
truth 'the target of the link is unchanged' test "$(cat victim)" = victim
truth 'the links are still there' test -L t.tamis.part -a -L t.svg.part
rm t.tamis.part t.svg.part

# limits of the shell
check 'a file over the limit: 2' rc=2 err='cannot write .*: File too large' -- bash -c 'ulimit -f 10; "$TAMIS" build -q -k block -n 1M -o l.tamis k'
truth 'a file over the limit: no file is left' test -z "$(ls l.tamis* 2>/dev/null)"
build b.tamis -k block -n 14M k; cp b.tamis b.before
check 'a journal over the limit: 2' rc=2 err='cannot write .*: File too large' -- bash -c 'ulimit -f 10; seq 1000 1009 | "$TAMIS" add -q b.tamis'
same 'a journal over the limit: unchanged' b.tamis b.before
truth 'a journal over the limit: no journal is left' test ! -e b.tamis.journal

# names
long=$(printf 'x%.0s' $(seq 252))
check 'a long name' -- "$TAMIS" build -q -o "$long" k
check 'a long name, replaced' -- "$TAMIS" build -q -f -o "$long" k
check 'a name that is too long: 2' rc=2 err='File name too long' -- "$TAMIS" build -o "${long}xxxx" k
rm "$long"
ln -s nowhere dangling; ln -s loop loop
check 'a dangling link counts as a file' rc=2 err='exists already' -- "$TAMIS" build -o dangling k
check 'a dangling link is detected before the work' rc=2 err='exists already' -- "$TAMIS" build -o dangling nosuch
check 'a link to itself: 2' rc=2 err='Too many levels of symbolic links' -- "$TAMIS" query loop k
odd=$'quo"te\nback\\slash\001'
cp k.tamis "$odd.tamis"
check 'an odd name in JSON' out='*' -- "$TAMIS" info --json "$odd.tamis"
json 'an odd name in JSON is JSON' "$work/out"
cp k.tamis $'bad\xff\xfe.tamis'
check 'a name that is not UTF-8, in JSON' out='*' -- "$TAMIS" info --json $'bad\xff\xfe.tamis'
json 'a name that is not UTF-8 is still JSON' "$work/out"
cd ..
# a long name does not hide the rest of a message
deep=$(printf '%0200d/' 1 2 3 4 5); mkdir -p "$deep"
printf 'aa\nzz\n' >"${deep}in"; printf 'aa\n' | "$TAMIS" build -q -k counting -n 9 -o deep.tamis
check 'a record in a file with a long name' rc=2 out='*' err="5/in', line 2: 'z' at byte 1 is not a hexadecimal digit" -- "$TAMIS" query --hex deep.tamis "${deep}in"
check 'a missing key in a file with a long name' rc=1 err="'zz' \\('0.*5/in', line 2\\)" -- "$TAMIS" verify deep.tamis "${deep}in"
check 'an absent key in a file with a long name' rc=1 err="the first is '0.*5/in', line 2" -- "$TAMIS" remove deep.tamis "${deep}in"
