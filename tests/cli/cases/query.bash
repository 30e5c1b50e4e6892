# query: behaves like grep
printf 'apple\nbanana\ncherry\n' | build f.tamis -p 1e-9

check 'prints members in input order' in='cherry\npear\napple\n' out='cherry\napple\n' err='' -- "$TAMIS" query f.tamis
check 'duplicates are printed each time' in='apple\napple\n' out='apple\napple\n' -- "$TAMIS" query f.tamis
check 'none found' rc=1 in='pear\nplum\n' out='' err='' -- "$TAMIS" query f.tamis
check 'empty input' rc=1 out='' err='' -- "$TAMIS" query f.tamis
check '-v' in='cherry\npear\napple\nplum\n' out='pear\nplum\n' -- "$TAMIS" query -v f.tamis
check '-v none' rc=1 in='cherry\n' out='' -- "$TAMIS" query -v f.tamis
check '--invert' in='x\n' out='x\n' -- "$TAMIS" query --invert f.tamis
check '-c' in='cherry\npear\napple\n' out='2\n' -- "$TAMIS" query -c f.tamis
check '-c of none' rc=1 in='pear\n' out='0\n' -- "$TAMIS" query -c f.tamis
check '-c -v' in='cherry\npear\napple\n' out='1\n' -- "$TAMIS" query -c -v f.tamis
check '-cv' in='cherry\npear\napple\n' out='1\n' -- "$TAMIS" query -cv f.tamis
check '-c of empty input' rc=1 out='0\n' -- "$TAMIS" query -c f.tamis
check '-q found' in='pear\napple\n' out='' err='' -- "$TAMIS" query -q f.tamis
check '-q not found' rc=1 in='pear\n' out='' err='' -- "$TAMIS" query -q f.tamis
check '-qc prints nothing' in='apple\n' out='' -- "$TAMIS" query -qc f.tamis
check '-qv' in='apple\npear\n' out='' -- "$TAMIS" query -qv f.tamis
check '-qv none' rc=1 in='apple\n' out='' -- "$TAMIS" query -qv f.tamis
check '-n' in='pear\napple\nplum\ncherry\n' out='2:apple\n4:cherry\n' -- "$TAMIS" query -n f.tamis
check '-n -v' in='pear\napple\nplum\n' out='1:pear\n3:plum\n' -- "$TAMIS" query -nv f.tamis
check '-l' in='pear\napple\n' out='f.tamis:apple\n' -- "$TAMIS" query -l f.tamis
check '-l -n' in='pear\napple\n' out='f.tamis:2:apple\n' -- "$TAMIS" query -ln f.tamis
check '-l and -v contradict' rc=2 err='-l and -v' -- "$TAMIS" query -lv f.tamis
check '-l -c counts for each filter' in='apple\n' out='f.tamis:1\n' -- "$TAMIS" query -lc f.tamis

# options may stand anywhere
printf 'pear\napple\n' >in
check 'options after operands' out='2:apple\n' -- "$TAMIS" query f.tamis in -n
check 'options between operands' out='1\n' -- "$TAMIS" query f.tamis -c in
check 'long options' out='1\n' -- "$TAMIS" query f.tamis --count in
check 'after -- only operands' rc=2 -- "$TAMIS" query -c -- f.tamis in -n

# inputs
printf 'cherry\nfig\n' >in2
check 'several inputs' out='apple\ncherry\n' -- "$TAMIS" query f.tamis in in2
check 'numbers start anew in each input' out='2:apple\n1:cherry\n' -- "$TAMIS" query -n f.tamis in in2
check '- is standard input' in='banana\n' out='banana\n' -- "$TAMIS" query f.tamis -
check '- among others' in='banana\n' out='apple\nbanana\ncherry\n' -- "$TAMIS" query f.tamis in - in2
: >empty
check 'empty input among others' out='apple\ncherry\n' -- "$TAMIS" query f.tamis empty in empty in2 empty
check 'a missing input' rc=2 err="cannot open 'nope': No such file" -- "$TAMIS" query f.tamis nope
check 'a missing input before anything is printed' rc=2 out='' -- "$TAMIS" query f.tamis in nope
# -q: stops at the first match, as grep does
check '-q: a missing input after the first' out='' err='' -- "$TAMIS" query -q f.tamis in nope
check '-q: a missing input before it' out='' err='' -- "$TAMIS" query -q f.tamis nope . in
check '-q: a missing input and no match' rc=2 err="cannot open 'nope': No such file" -- "$TAMIS" query -q f.tamis nope none empty
check '-q: a directory and no match' rc=2 err="cannot read '[.]': Is a directory" -- "$TAMIS" query -q f.tamis . empty
mkdir dir
check 'a directory as input' rc=2 err="'dir' is a directory" -- "$TAMIS" query f.tamis dir
check 'a directory as standard input' rc=2 err='directory' -- bash -c '"$TAMIS" query f.tamis < dir'
check 'a directory as filter' rc=2 err="'dir' is a directory, not a filter" -- "$TAMIS" query dir in
check 'no filter at all' rc=2 err='missing FILE \(the filter\)' -- "$TAMIS" query

# records
check 'no final newline' in='pear\napple' out='apple' -- "$TAMIS" query f.tamis
check 'no final newline, not selected' in='apple\npear' out='apple\n' -- "$TAMIS" query f.tamis
printf 'apple' >end1; printf 'banana' >end2
check 'inputs without final newline do not run together' out='apple\nbanana' -- "$TAMIS" query f.tamis end1 end2
check 'the same with numbers' out='1:apple\n1:banana' -- "$TAMIS" query -n f.tamis end1 end2
check 'carriage returns are bytes' rc=1 in='apple\r\n' out='' -- "$TAMIS" query f.tamis
check 'blanks are bytes' rc=1 in=' apple\napple \n' out='' -- "$TAMIS" query f.tamis
check 'an empty record is a key' rc=1 in='\n\n' out='' -- "$TAMIS" query f.tamis
printf '\nx\n' | build e.tamis
check 'an empty record can be a member' in='a\n\nb\n' out='\n' -- "$TAMIS" query e.tamis
check 'NUL-terminated records' in='pear\0apple\0' out='apple\0' -- "$TAMIS" query -0 f.tamis
check '--null' in='pear\0apple\0' out='apple\0' -- "$TAMIS" query --null f.tamis
check 'a newline inside of a NUL-terminated record' rc=1 in='apple\nx\0' out='' -- "$TAMIS" query -0 f.tamis
check '-d' in='pear;apple;fig' out='apple;' -- "$TAMIS" query -d ';' f.tamis
check '-d with an escape' in='pear\tapple\t' out='apple\t' -- "$TAMIS" query -d '\t' f.tamis
check '-d attached' in='pear,apple,' out='apple,' -- "$TAMIS" query -d, f.tamis
check '-d in hexadecimal' in='pear|apple|' out='apple|' -- "$TAMIS" query -d '\x7c' f.tamis
check '-d of two bytes' rc=2 err='one byte' -- "$TAMIS" query -d ab f.tamis
check '-d of nothing' rc=2 err='empty' -- "$TAMIS" query -d '' f.tamis
printf 'a\0b\nc\xff\xfe\n' >bin
build b.tamis bin
check 'NUL and non-UTF-8 bytes in lines' in='a\0b\na\nc\xff\xfe\nc\n' out='a\0b\nc\xff\xfe\n' -- "$TAMIS" query b.tamis

# several filters
printf 'fig\ngrape\napple\n' | build g.tamis -p 1e-9
check '--also' in='apple\nfig\nplum\n' out='apple\nfig\n' -- "$TAMIS" query --also g.tamis f.tamis
check '--also after' in='apple\nfig\nplum\n' out='apple\nfig\n' -- "$TAMIS" query f.tamis --also g.tamis
check '--also -v' in='apple\nfig\nplum\n' out='plum\n' -- "$TAMIS" query -v f.tamis --also g.tamis
check '--also -c' in='apple\nfig\nplum\n' out='2\n' -- "$TAMIS" query -c f.tamis --also g.tamis
check '-l prints the first filter that matches' in='grape\napple\nplum\n' out='g.tamis:grape\nf.tamis:apple\n' -- "$TAMIS" query -l f.tamis --also g.tamis
check '-l -c for several' in='grape\napple\nfig\n' out='f.tamis:1\ng.tamis:2\n' -- "$TAMIS" query -lc f.tamis --also g.tamis
check '--also twice' in='y\nfig\n\n' out='fig\n\n' -- "$TAMIS" query f.tamis --also=g.tamis --also e.tamis
check '--also missing' rc=2 err="cannot open 'nope.tamis'" -- "$TAMIS" query f.tamis --also nope.tamis
printf '66696767\n6b\n' | build h.tamis --hex
check '--also with another form of key' in='66696767\napple\n' rc=2 out='66696767\n' err='line 2.*hexadecimal' -- "$TAMIS" query f.tamis --also h.tamis
printf 'fig\nkiwi\n' | build s.tamis --seed 99
check '--also with another seed' in='kiwi\napple\nplum\n' out='s.tamis:kiwi\nf.tamis:apple\n' -- "$TAMIS" query -l f.tamis --also s.tamis

# more filters than the limit of open files: it is raised, and filters beyond it are read, not mapped
many=(); for i in $(seq 40); do cp g.tamis also$i.tamis; many+=(--also also$i.tamis); done
for limit in 'ulimit -Sn 30' 'ulimit -n 30'; do
    check "--also, many, $limit" in='apple\nfig\nplum\n' out='apple\nfig\n' -- bash -c "$limit"'; "$TAMIS" query f.tamis "$@"' - "${many[@]}"
done
rm -f also*.tamis

# large inputs: threads, order, many blocks
seq 300000 | awk '{print "key-" $1 "-of-a-longer-line-so-that-there-are-many-blocks-" $1 % 7}' >all
awk 'NR % 3 == 0' all >third
build t.tamis -p 1e-9 third
"$TAMIS" query t.tamis all >got
same 'large input, all threads' third got
"$TAMIS" query -j1 t.tamis all >got
same 'large input, one thread' third got
"$TAMIS" query -j7 t.tamis all >got
same 'large input, seven threads' third got
cat all | "$TAMIS" query -j3 t.tamis >got
same 'large input from a pipe' third got
"$TAMIS" query -v t.tamis all >got
awk 'NR % 3 != 0' all >others
same 'large input, inverted' others got
"$TAMIS" query -n t.tamis all >got
awk 'NR % 3 == 0 {print NR ":" $0}' all >want
same 'large input, numbered' want got
check 'large input, counted' out='100000\n' -- "$TAMIS" query -c t.tamis all
check 'large input, counted twice' out='200000\n' -- "$TAMIS" query -c t.tamis all all
(cat all; cat all) >both
check 'large input, -q' out='' -- "$TAMIS" query -q t.tamis both
tr '\n' '\0' <all >all0; tr '\n' '\0' <third >third0
"$TAMIS" query -0 t.tamis all0 >got
same 'large input, NUL' third0 got

# records of any length
head -c 10000000 /dev/zero | tr '\0' x >huge; echo >>huge
(echo small; cat huge; echo tail) >mixed
build huge.tamis mixed
"$TAMIS" query huge.tamis mixed >got
same 'a record of 10 MB' mixed got
(cat huge; printf 'small') >mixed2
"$TAMIS" query huge.tamis mixed2 >got
same 'a record of 10 MB, no final newline' mixed2 got
cat mixed | "$TAMIS" query huge.tamis >got
same 'a record of 10 MB through a pipe' mixed got
tr -d '\n' <huge >huge1
"$TAMIS" query huge.tamis huge1 >got
same 'one record of 10 MB and nothing else' huge1 got

# a closed pipe is not an error
check 'EPIPE is quiet' out='key-3-of-a-longer-line-so-that-there-are-many-blocks-3\n' err='' -- bash -c '"$TAMIS" query t.tamis all | head -1; exit ${PIPESTATUS[0]}'
check 'a full disk is reported' rc=2 err='No space left' -- bash -c '"$TAMIS" query t.tamis all >/dev/full'
check 'output is not delayed' out='apple\n' -- timeout 5 bash -c '
    mkfifo p; "$TAMIS" query f.tamis <p >o & exec 3>p; echo apple >&3
    for i in 1 2 3 4 5 6 7 8 9 10; do [ -s o ] && break; sleep 0.2; done; cat o; exec 3>&-; wait'
# query does not wait for the end of an input that it does not need
check '-q stops at the first match while the pipe stays open' out='' err='' -- bash -c '
    mkfifo q; { cat third third; echo pear; exec sleep 60; } >q & writer=$!
    timeout 20 "$TAMIS" query -j 2 -v -q t.tamis <q; code=$?; kill $writer; exit $code'
check 'an error stops while the pipe stays open' rc=2 out='' err="line 200001: the record has 1 field" -- bash -c '
    mkfifo e; { sed "s/^/x\t/" third third; echo pear; exec sleep 60; } >e & writer=$!
    timeout 20 "$TAMIS" query -j 3 -F 2 t.tamis <e >printed; code=$?; kill $writer; exit $code'
check '-q stops with a named pipe without a writer' out='' err='' -- bash -c '
    mkfifo w; { cat third third; echo pear; } >last; timeout 20 "$TAMIS" query -j 4 -v -q t.tamis last w'
check 'a named pipe whose writer comes late' out='apple\n2:apple\n' -- timeout 20 bash -c '
    { sleep 0.3; exec 3>w; sleep 0.3; echo apple >&3; } & "$TAMIS" query f.tamis w; "$TAMIS" query -n f.tamis in; wait'
if command -v python3 >/dev/null; then
    check 'a non-blocking input' out='2\n' -- python3 -c '
import os, subprocess, sys, time
ours, theirs = os.pipe()
os.set_blocking(ours, False)
child = subprocess.Popen([os.environ["TAMIS"], "query", "-c", "f.tamis"], stdin=ours)
time.sleep(0.3)
os.write(theirs, b"apple\n")
time.sleep(0.2)
os.write(theirs, b"cherry\n")
os.close(theirs)
sys.exit(child.wait())'
    check 'a non-blocking output' out='300000\n' -- python3 -c '
import os, subprocess, time
ours, theirs = os.pipe()
os.set_blocking(theirs, False)
child = subprocess.Popen([os.environ["TAMIS"], "query", "-v", "f.tamis", "all"], stdout=theirs)
os.close(theirs)
time.sleep(0.3)
print(sum(part.count(b"\n") for part in iter(lambda: os.read(ours, 4096), b"")))
assert child.wait() == 0'
fi
cp in loop
check 'the input is not the output' rc=2 err="'loop' is both input and output" -- bash -c '"$TAMIS" query f.tamis loop >>loop'
check 'the output as standard input' rc=2 err='both input and output' -- bash -c '"$TAMIS" query f.tamis <loop >>loop'
check 'counting may append to its input' out='' -- bash -c '"$TAMIS" query -c f.tamis loop >>loop'
check 'no standard input at all' rc=2 err='standard input' -- bash -c '"$TAMIS" query f.tamis <&-'
check 'no standard input after a file' rc=2 err='standard input' -- bash -c 'echo none >none; "$TAMIS" query -q f.tamis none - <&-'
check 'no standard input, and threads' out='100000\n' -- bash -c '"$TAMIS" query -j 2 -c t.tamis all <&-'
check 'no standard output, and threads' rc=2 err='standard output' -- bash -c '"$TAMIS" query -j 2 t.tamis - <&- >&- < <(cat all)'
check 'no standard output at all' rc=2 err='standard output' -- bash -c '"$TAMIS" query f.tamis in >&-'

# records before a bad record are printed; more than one buffer
{ seq 60000 | sed 's/$/,x/'; echo none; seq 60000; } >bad.csv
seq 70000 | "$TAMIS" build -q -p 1e-9 -o some.tamis
for threads in 1 2 8; do
    check "records before a bad one, -j $threads" rc=2 out='60000 1,x 60000,x\n' err="'bad.csv', line 60001: the record has 1 field, and no field 2" -- bash -c '
        "$TAMIS" query -v -j '$threads' -t , -F 2 some.tamis bad.csv >printed; code=$?
        echo "$(wc -l <printed) $(head -1 printed) $(tail -1 printed)"; exit $code'
done

# a damaged part of a filter is an error for the records that touch it, and no other
seq 2000000 | "$TAMIS" build -q -k block -o large.tamis
for ((at = 1000; at < $(stat -c %s large.tamis) - 80000; at += 65536)); do printf 'damaged' | dd of=large.tamis bs=1 seek=$at conv=notrunc status=none; done
check 'all pieces are damaged: one record' rc=2 out='' err="'large.tamis': a checksum does not match" in='7\n' -- "$TAMIS" query large.tamis
check 'all pieces are damaged: absent records' rc=2 out='' err="'large.tamis': a checksum does not match" in='a\nb\nc\n' -- "$TAMIS" query -v large.tamis
check 'all pieces are damaged: -q' rc=2 out='' err="'large.tamis': a checksum does not match" in='7\n' -- "$TAMIS" query -q large.tamis
check 'all pieces are damaged: many records' rc=2 out='' err="'large.tamis': a checksum does not match" -- bash -c 'seq 100000 | "$TAMIS" query large.tamis'
check 'all pieces are damaged: no record' rc=1 out='' -- "$TAMIS" query large.tamis
check 'verify compares all of it' rc=2 err='a checksum does not match' -- "$TAMIS" verify large.tamis
seq 2000000 | "$TAMIS" build -q -k block -f -o large.tamis
printf 'damaged' | dd of=large.tamis bs=1 seek=1000000 conv=notrunc status=none
touching=0 others=0
for key in $(seq 1 200); do
    if printf '%s\n' "$key" | "$TAMIS" query -q large.tamis 2>/dev/null; then ((++others)); else ((++touching)); fi
done
check 'one piece is damaged: 1 record in 38 touches it' out='*' -- test "$others" -gt 150 -a "$touching" -gt 0
check 'one piece is damaged: verify' rc=2 err='a checksum does not match' -- "$TAMIS" verify large.tamis
check 'one piece is damaged: a copy' rc=2 err='a checksum does not match' -- "$TAMIS" merge -o copy.tamis large.tamis large.tamis
rm -f large.tamis copy.tamis
