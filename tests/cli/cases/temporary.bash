# temporary files and journals: they never replace an input, and a crash leaves no half-written file
seq 1000 >k; seq 2000 2500 >k2
build old.tamis -k growing k; cp old.tamis new.tamis; "$TAMIS" add -q new.tamis k2

# an input with the name of a journal is not lost
build j -k block -n 14M k2
cp k j.journal
for command in add remove uniq\ --save; do
    check "$command of FILE.journal: 2" rc=2 out='' err="'j.journal' is an input and would be overwritten: writing 'j'" -- "$TAMIS" $command j j.journal
done
same "j.journal is still there" k j.journal
rm -f j j.journal

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

# a lock that another process holds: a limit, and who holds it
cp old.tamis w.tamis
holder='
import fcntl, struct, sys
f = open(sys.argv[1], "r+b")
for byte in map(int, sys.argv[3]):
    lock = struct.pack("hhqqi4x", getattr(fcntl, "F_%sLCK" % sys.argv[2]), 0, byte, 1, 0)
    fcntl.fcntl(f, 37, lock)  # F_OFD_SETLK
print("ready", flush=True)
sys.stdin.read()
'
locked() { # RD|WR BYTES COMMAND...: while another process holds locks on w.tamis
    local kind=$1 bytes=$2
    shift 2
    mkfifo ready end
    /usr/bin/python3 -c "$holder" w.tamis "$kind" "$bytes" <end >ready & local pid=$!
    exec 4>end; read -r _ <ready
    "$@"
    exec 4>&-; wait $pid; rm ready end
}
if /usr/bin/python3 -c 'import fcntl' 2>/dev/null; then
    held="'w.tamis' is locked by process [0-9]+ \\(python3\\): give --wait SECONDS"
    locked RD 1 check 'add waits no longer than --wait: 2' rc=2 err="$held" -- "$TAMIS" add --wait 1 w.tamis k2
    locked RD 1 check 'add --wait 0: 2' rc=2 err="$held" -- "$TAMIS" add --wait 0 w.tamis k2
    locked RD 1 check 'uniq --save --wait: 2' rc=2 in='x\n' out='' err="$held" -- "$TAMIS" uniq --wait 0 --save w.tamis
    locked WR 0 check 'query --wait: 2' rc=2 out='' err="$held" -- "$TAMIS" query --wait 0 w.tamis k2
    same 'the locked file is unchanged' w.tamis old.tamis
    locked RD 12 check 'build -f replaces a locked file' -- timeout 30 "$TAMIS" build -q -f -o w.tamis -k growing k
    locked RD 0 check 'a reader blocks no writer' -- timeout 30 "$TAMIS" add -q w.tamis k2
    same 'the result is right' w.tamis new.tamis
fi
rm -f w.tamis

# dies at every call that changes a file: none, or a complete one; unnamed temporary files vanish
[ -n "${FAULT_LIBRARY-}" ] || return 0
dying 0 "$TAMIS" build -q -k growing -o a.tamis k
for ((n = 1; n <= calls; n++)); do
    rm -f a.tamis
    (dying $n "$TAMIS" build -q -k growing -o a.tamis k) 2>/dev/null
    if [ -e a.tamis ]; then same "a new file, died at call $n: whole" a.tamis old.tamis; fi
    rm -f a.tamis
    only "a new file, died at call $n: nothing is left" k k2 new.tamis old.tamis
done
cp old.tamis a.tamis; dying 0 "$TAMIS" add -q a.tamis k2
for ((n = 1; n <= calls; n++)); do
    cp old.tamis a.tamis
    (dying $n "$TAMIS" add -q a.tamis k2) 2>/dev/null
    if ! cmp -s a.tamis old.tamis; then same "add died at call $n: the old one or the new" a.tamis new.tamis; fi
    cp old.tamis a.tamis
    check "add died at call $n: the next run" -- "$TAMIS" add -q a.tamis k2
    same "add died at call $n: the result is right" a.tamis new.tamis
done
rm -f .tamis-*
