# uniq: first occurrences, without sorting
check 'prints first occurrences' in='b\na\nb\nc\na\n' out='b\na\nc\n' -- "$TAMIS" uniq
check 'a summary' in='b\na\nb\n' out='b\na\n' err='^uniq: 3 records, 2 new, 1 seen before; expect at most 2e-6 wrongly dropped \(rate 1e-6\); ' -- "$TAMIS" uniq
check '-q' in='b\nb\n' out='b\n' err='' -- "$TAMIS" uniq -q
check 'the rate is reported' in='b\n' out='b\n' err='rate 0.1 %' -- "$TAMIS" uniq -p 0.1%
check 'empty input' out='' err='0 records' -- "$TAMIS" uniq
check 'empty lines' in='\n\na\n\n' out='\na\n' -- "$TAMIS" uniq
check 'no final newline' in='a\nb' out='a\nb' -- "$TAMIS" uniq
check 'no final newline, repeated' in='a\nb\na' out='a\nb\n' -- "$TAMIS" uniq
printf 'a' >end1; printf 'b\na' >end2; printf 'c' >end3
check 'inputs do not run together' out='a\nb\nc' -- "$TAMIS" uniq end1 end2 end3
check '-c' in='b\na\nb\nc\na\n' out='3\n' -- "$TAMIS" uniq -c
check '-c of nothing' out='0\n' -- "$TAMIS" uniq -c
check '--repeated' in='b\na\nb\nc\na\nb\n' out='b\na\n' -- "$TAMIS" uniq --repeated
check '--repeated of none' in='a\nb\n' out='' -- "$TAMIS" uniq --repeated
check '--repeated --save' in='a\nb\na\na\n' out='a\n' -- "$TAMIS" uniq --repeated --save again.tamis
check '--repeated --save: once in each run' in='b\na\na\nc\n' out='b\na\n' -- "$TAMIS" uniq --repeated --save again.tamis
rm again.tamis
check '--repeated -c' in='b\na\nb\nc\na\nb\n' out='2\n' -- "$TAMIS" uniq --repeated -c
check '-0' in='a\0b\0a\0' out='a\0b\0' -- "$TAMIS" uniq -0
check 'by a field' in='1,a\n2,b\n3,a\n' out='1,a\n2,b\n' -- "$TAMIS" uniq -t , -F 2
check '--fold-case prints records unchanged' in='Ab\naB\nc\n' out='Ab\nc\n' -- "$TAMIS" uniq --fold-case
check '--strip-cr' in='a\r\na\n' out='a\r\n' -- "$TAMIS" uniq --strip-cr
check '--hex' in='aB\nAb\n' out='aB\n' -- "$TAMIS" uniq --hex
check 'binary' in='\xff\0\n\xff\n\xff\0\n' out='\xff\0\n\xff\n' -- "$TAMIS" uniq
check 'bad hex' rc=2 in='aa\nxx\n' out='aa\n' err='line 2' -- "$TAMIS" uniq --hex
check 'a bad rate' rc=2 err='-p' -- "$TAMIS" uniq -p 2
check 'a missing input' rc=2 err="cannot open 'nope'" -- "$TAMIS" uniq nope

# large: exact at 1e-9, in any number of threads
seq 300000 | awk '{print "a somewhat longer line with the number " ($1 * 7919) % 200003}' >lines
awk '!s[$0]++' lines >want
for j in 1 2 5; do
    "$TAMIS" uniq -q -j$j -p 1e-9 lines >got
    same "large, $j threads" want got
done
cat lines | "$TAMIS" uniq -q -p 1e-9 >got
same 'large, from a pipe' want got
"$TAMIS" uniq -q -p 1e-9 <lines >got
same 'large, from a redirected file' want got
awk 's[$0]++ == 1' lines >want
"$TAMIS" uniq -q --repeated -p 1e-9 lines >got
same 'large, repeated' want got
awk '!s[$0]++' lines lines >want
"$TAMIS" uniq -q -p 1e-9 lines lines >got
same 'the same input twice' want got

# --save
check 'save: the first run' in='a\nb\n' out='a\nb\n' -- "$TAMIS" uniq --save s.tamis
check 'save: the second run' in='b\nc\n' out='c\n' -- "$TAMIS" uniq --save s.tamis
check 'save: the third run' in='a\nb\nc\n' out='' err='0 new, 3 seen before' -- "$TAMIS" uniq --save s.tamis
check 'save: it is a filter' in='a\nx\n' out='a\n' -- "$TAMIS" query s.tamis
truth 'save: a growing one' test "$("$TAMIS" info --json s.tamis | field kind)" = growing
truth 'save: with the rate of uniq' test "$("$TAMIS" info --json s.tamis | field fpr_target)" = 1e-6
only 'save: no temporary file' end1 end2 end3 got lines s.tamis want
check 'save: the same rate again' in='d\n' out='d\n' -- "$TAMIS" uniq -p 1e-6 --save s.tamis
check 'save: a rate in per cent' in='d\n' out='d\n' -- "$TAMIS" uniq -p 0.7% --save percent.tamis
check 'save: the same, not in per cent' in='d\n' out='' -- "$TAMIS" uniq -p 0.007 --save percent.tamis
check 'save: as a fraction' in='d\n' out='d\n' -- "$TAMIS" uniq -p 1/300 --save third.tamis
check 'save: with some digits' in='d\n' out='' -- "$TAMIS" uniq -p 0.0033333333333333 --save third.tamis
truth 'save: the rate as it was written' test "$("$TAMIS" info --json percent.tamis | field fpr_target)" = 0.007
rm percent.tamis third.tamis
cp s.tamis before
check 'save: another rate' rc=2 in='x\n' out='' err="made with -p 1e-6, and -p 0.01 contradicts" -- "$TAMIS" uniq -p 1% --save s.tamis
check 'save: another seed' rc=2 in='x\n' err='--seed 0, and --seed 5 contradicts' -- "$TAMIS" uniq --seed 5 --save s.tamis
printf '00112233445566778899aabbccddeeff\n' >secret
for run in first second; do
    check "save: a seed beside a secret, $run run" in='x\n' out='*' -- "$TAMIS" uniq --key-file secret --seed 5 --save seeded.tamis
done
truth 'the second run has seen it' test ! -s "$work/out"
check 'save: a seed for hashes' in='0123456789abcdef\n' out='*' -- "$TAMIS" uniq --prehashed --seed 5 --save h.tamis
check 'save: the same seed for hashes' in='0123456789abcdef\n' -- "$TAMIS" uniq --prehashed --seed 5 --save h.tamis
check 'save: another form' rc=2 in='x\n' err='without --fold-case' -- "$TAMIS" uniq --fold-case --save s.tamis
check 'save: bad input' rc=2 in='0\n' err='*' out='*' -- "$TAMIS" uniq --hex --save s.tamis
same 'save: unchanged' s.tamis before
check 'save: the key form is stored' in='Q\n' out='Q\n' -- "$TAMIS" uniq --fold-case --save t.tamis
check 'save: the key form is applied' in='q\n' out='' -- "$TAMIS" uniq --save t.tamis
check 'save: not a filter' rc=2 err='not a filter' -- "$TAMIS" uniq --save lines </dev/null
build st.tamis -k fuse lines
check 'save: a static filter' rc=2 err='accepts no more keys' -- "$TAMIS" uniq --save st.tamis
check 'save: onto an input' rc=2 err='also an input' -- "$TAMIS" uniq --save end1 end1
check 'save: no directory' rc=2 err="cannot write 'no/x'" -- "$TAMIS" uniq --save no/x
cp s.tamis before
"$TAMIS" uniq -q --save s.tamis lines 2>/dev/null | head -1 >/dev/null
same 'save: not if writing the output failed' s.tamis before
check 'EPIPE is quiet' out='*' err='' -- bash -c '"$TAMIS" uniq lines | head -1; exit ${PIPESTATUS[0]}'
check 'a full disk' rc=2 err='No space left' -- bash -c '"$TAMIS" uniq -q lines >/dev/full'
check 'keyed' in='a\na\n' out='a\n' -- "$TAMIS" uniq --key-file <(echo 000102030405060708090a0b0c0d0e0f) --save k.tamis
check 'keyed, without the secret' rc=2 err='is keyed' -- "$TAMIS" uniq --save k.tamis
check 'the input is not the output' rc=2 err='both input and output' -- bash -c '"$TAMIS" uniq end2 >>end2'

# the progress line is erased before the count
if terminal; then
    slow='(seq 3; sleep 1.2; seq 5; sleep 0.3; echo 6)'
    check 'progress and -c on a terminal' out='*' -- env TERM=xterm script -qec "$slow"' | "$TAMIS" uniq -c' /dev/null
    truth 'the progress line is erased first' grep -q "$(printf '\r\033\[K6\r$')" "$work/out"
    truth 'no phase of writing is shown' bash -c '! grep -q writing "$1"' - "$work/out"
    check 'forced progress and records on a terminal' out='*' -- env TERM=xterm script -qec "$slow"' | "$TAMIS" uniq -q --progress' /dev/null
    truth 'the progress line is erased before a record' grep -q "$(printf '\r\033\[K6\r$')" "$work/out"
    check 'progress on a dumb terminal' out='*' -- env TERM=dumb script -qec "$slow"' | "$TAMIS" uniq -c' /dev/null
    truth 'progress is shown on a dumb terminal' grep -q "$(printf '\runiq  8 records ')" "$work/out"
    truth 'dumb terminal: no escape sequences' bash -c '! grep -q "$(printf "\033")" "$1"' - "$work/out"
    truth 'dumb terminal: the line is erased' grep -q "$(printf '  \r6\r$')" "$work/out"
fi
check 'save: not onto standard input' rc=2 err="'s.txt' is also an input" -- bash -c 'seq 3 >s.txt; "$TAMIS" uniq --save s.txt <s.txt'
check 'save: to a device' rc=2 in='x\n' err="cannot replace '/dev/null': it is not a regular file$" -- "$TAMIS" uniq --save /dev/null
check 'save: created by another run meanwhile' rc=2 out='a\n' err="another run has created 'race.tamis' meanwhile" -- \
    bash -c '(sleep 0.5; echo b | "$TAMIS" uniq -q --save race.tamis >/dev/null; echo a) | "$TAMIS" uniq -q --save race.tamis'
check 'save: the records of the other run are kept' in='a\nb\n' out='a\n' -- "$TAMIS" uniq -q --save race.tamis
check 'save: to standard output' rc=2 in='x\n' out='' err='--save needs a file' -- "$TAMIS" uniq --save -
check 'save: an empty name' rc=2 in='x\n' out='' err='is empty' -- "$TAMIS" uniq --save ''
check 'one record' in='x\n' out='x\n' err='^uniq: 1 record, 1 new' -- "$TAMIS" uniq
check 'a rate too low for every filter' rc=2 in='x\n' out='' err='-p 1e-30: lower than a growing filter supports: give a higher rate' -- "$TAMIS" uniq -p 1e-30
check 'a high rate: the number of wrongly dropped records' out='*' err='expect at most [0-9]{3} wrongly dropped' -- bash -c 'seq 1000 | "$TAMIS" uniq -p 0.9'

# a filter that uniq did not create: its rate may not hold
seq 3000 | "$TAMIS" build -q -k bloom -n 1000 -o full.tamis 2>/dev/null
check 'a filter over capacity' rc=3 out='*' err='^uniq: 9,001 records, .*; expect at most [1-9],[0-9]+ wrongly dropped \(rate [1-9][0-9.]* %\)' -- \
    bash -c 'seq 3000 12000 | "$TAMIS" uniq --save full.tamis'
seq 100 | "$TAMIS" build -q -k bloom -n 10 -o fuller.tamis 2>/dev/null
check 'a filter far over capacity' rc=3 in='1\n2\n3\n' out='' err='3 records, 0 new, 3 seen before; expect at most 3 wrongly dropped \(rate 9' -- "$TAMIS" uniq --save fuller.tamis
seq 100 | "$TAMIS" build -q --to parquet -n 100 -o p.parquet
check 'a filter without a promised rate' in='5\nx\n' out='x\n' err='expect at most [0-9.e-]+ wrongly dropped \(rate 0?\.?[0-9.e-]+ ?%?\)' -- "$TAMIS" uniq --save p.parquet
seq 100 | "$TAMIS" build -q --to guava -n 100 -o g.guava
check "a compatible filter" rc=2 err="'g.guava' is another system's filter" -- "$TAMIS" uniq --save g.guava

# in a kind that can remove, a duplicate is in the set once
for kind in cuckoo counting; do
    printf 'a\nb\n' | build r.tamis -k $kind -n 100
    check "$kind: many duplicates" in='x\nx\nx\nx\nx\nx\nx\nx\nx\nx\na\n' out='x\n' err='11 records, 1 new' -- "$TAMIS" uniq --save r.tamis
    check "$kind: many duplicates, second run" in='x\nb\n' out='' -- "$TAMIS" uniq --save r.tamis
    check "$kind: one of them is removed" in='x\n' -- "$TAMIS" remove r.tamis
    check "$kind: the removed record is new" in='x\na\n' out='x\n' -- "$TAMIS" uniq --save r.tamis
done
seq 100 | build r.tamis -k cuckoo -n 100 -p 1e-4
check 'cuckoo: not filled by duplicates' out='' -- bash -c 'seq 100 | "$TAMIS" uniq --save r.tamis'
