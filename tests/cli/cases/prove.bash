# verify and measure
seq 10000 >keys; seq 20001 30000 >others
for kind in bloom block counting cuckoo xor fuse ribbon growing; do
    build f.tamis -k $kind -p 0.1% keys
    check "$kind: verify" out='' err='checksums match, and all 10,000 keys are in it' -- "$TAMIS" verify f.tamis keys
    check "$kind: verify names the first missing" rc=1 out='' err="misses .* of 10,000 keys; the first is '2[0-9]{4}' \('others', line [0-9]+\)" -- "$TAMIS" verify f.tamis others
    check "$kind: measure" out='*' err='' -- "$TAMIS" measure f.tamis
    truth "$kind: the rate holds" grep -q '^promised  0.1 %: kept$' "$work/out"
done
check 'verify: standard input' in='1\n2\n' err='all 2 keys' -- "$TAMIS" verify f.tamis
check 'verify: one key' in='1\n' err='and 1 key is in it' -- "$TAMIS" verify f.tamis
check 'verify: one missing key' rc=1 in='nope\n' err='misses 1 of 1 key;' -- "$TAMIS" verify f.tamis
check 'verify: nothing' err='all 0 keys' -- "$TAMIS" verify f.tamis
check 'verify: -q' in='1\n' out='' err='' -- "$TAMIS" verify -q f.tamis
check 'verify: odd bytes are shown' rc=1 in='a\x01\xff\n' err="the first is 'a.x01.xff' \('standard input', line 1\)" -- "$TAMIS" verify f.tamis
check 'verify: records' rc=1 in='1\0nope\0' err="'nope' \('standard input', record 2\)" -- "$TAMIS" verify -0 f.tamis
build h.tamis --hex <(printf 'aa\nbb\n')
check 'verify: as it was built' in='AA\n' err='*' -- "$TAMIS" verify h.tamis
check 'verify: bad record' rc=2 in='A\n' err='odd number' -- "$TAMIS" verify h.tamis
check 'verify: missing input' rc=2 -- "$TAMIS" verify f.tamis nope
check 'verify: missing filter' rc=2 -- "$TAMIS" verify nope keys
seq 600000 | sed 's/$/ a longer line to fill blocks/' >long; build l.tamis long; (cat long; echo x; cat long; echo y) >long2
check 'verify: large' err='all 600,000 keys' -- "$TAMIS" verify l.tamis long
check 'verify: the first of a large input' rc=1 err="the first is 'x' \('long2', line 600001\)" -- "$TAMIS" verify l.tamis long2

# measure
build b.tamis -k bloom -p 1% keys
check 'measure: text' out='*' -- "$TAMIS" measure b.tamis
truth 'measure: 99 % confidence' grep -Eq '^measured  0\.[0-9]+ %, with 99 % confidence from 0\.[0-9]+ % to [01]\.?[0-9]* %$' "$work/out"
check 'measure: --samples' out='*' -- "$TAMIS" measure --samples 20K b.tamis
truth 'measure: the number of samples' grep -q 'of 20,000 absent keys' "$work/out"
check 'measure: one sample' out='*' -- "$TAMIS" measure --samples 1 b.tamis
truth 'measure: one sample is reported' grep -q 'of 1 absent key was reported' "$work/out"
check 'measure: given keys' out='*' -- "$TAMIS" measure b.tamis others
truth 'measure: the number of samples' grep -q 'of 10,000 absent keys' "$work/out"
check 'measure: - is standard input' in='q\nr\n' out='*' -- "$TAMIS" measure b.tamis -
truth 'measure: the number of samples' grep -q 'of 2 absent keys' "$work/out"
check 'measure: not both' rc=2 err='contradict' -- "$TAMIS" measure --samples 10 b.tamis others
check 'measure: no keys' rc=2 in='' err='empty' -- "$TAMIS" measure b.tamis -
check 'measure: --samples 0' rc=2 err='--samples must be from 1' -- "$TAMIS" measure --samples 0 b.tamis
check 'measure: members as samples' rc=3 out='*' -- "$TAMIS" measure b.tamis keys
truth 'measure: the rate does not hold' grep -q 'NOT kept' "$work/out"
build o.tamis -k bloom -n 1000 keys 2>/dev/null
check 'measure: over capacity: 3' rc=3 out='*' -- "$TAMIS" measure o.tamis
"$TAMIS" measure --json b.tamis >m.json
json 'measure: JSON' m.json
has 'measure: json' m.json file samples positives fpr fpr_low fpr_high fpr_target fpr_now holds
truth 'measure: the interval holds the rate' awk -v l="$(field fpr_low <m.json)" -v h="$(field fpr_high <m.json)" \
    -v p="$(field fpr <m.json)" -v e="$(field fpr_now <m.json)" 'BEGIN { exit !(l < p && p < h && l < e && e < h) }'
build p.tamis --prehashed <(seq 1000 | md5sum | cut -c1-16)
check 'measure: prehashed' out='*' -- "$TAMIS" measure p.tamis
keys=${TAMIS_VECTORS:-$here/../vectors}/keys
"$TAMIS" build -q --to fuse8 --as u64 -o u.fuse8 "$keys/u1000.u64"
check 'measure: a filter of integers is sampled with integers' out='*' -- "$TAMIS" measure --samples 100K --as u64 --json u.fuse8
truth 'measure: their rate' awk -F '[:,]' '/"fpr"/ { exit !($2 > 0.003 && $2 < 0.005) }' "$work/out"
check 'measure: random keys need no --as' out='*' -- "$TAMIS" measure --samples 1K u.fuse8
check 'measure: given keys need --as' rc=2 err='give --as u64' -- "$TAMIS" measure u.fuse8 "$keys/u1000.u64"
