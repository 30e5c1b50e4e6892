# merge and convert
seq 1000 >a; seq 1001 2000 >b; seq 500 1500 >c
for kind in bloom block counting; do
    for x in a b c; do build $x.tamis -k $kind -n 5000 $x; done
    check "$kind: union" out='' err="m.tamis: $kind" -- "$TAMIS" merge -f -o m.tamis a.tamis b.tamis
    check "$kind: the union has the keys of both" out='2000\n' -- "$TAMIS" query -c m.tamis a b
    build want.tamis -k $kind -n 5000 a b
    "$TAMIS" merge -q -f -o m.tamis a.tamis b.tamis c.tamis
    check "$kind: union of three" out='3001\n' -- "$TAMIS" query -c m.tamis a b c
    check "$kind: to standard output" out='*' -- bash -c '"$TAMIS" merge -q -o - a.tamis b.tamis | cmp - <("$TAMIS" merge -q -o - a.tamis b.tamis)'
done
for kind in bloom block; do
    for x in a c; do build $x.tamis -k $kind -n 5000 $x; done
    check "$kind: intersection" err='*' -- "$TAMIS" merge --and -f -o m.tamis a.tamis c.tamis
    check "$kind: the intersection has the common keys" out='501\n' -- "$TAMIS" query -c m.tamis <(seq 500 1000)
done
check 'does not replace a file' rc=2 err="'m.tamis' exists already" -- "$TAMIS" merge -o m.tamis a.tamis c.tamis
check 'needs -o' rc=2 err='missing -o FILE' -- "$TAMIS" merge a.tamis c.tamis
check 'needs two filters' rc=2 err='two filters or more' -- "$TAMIS" merge -f -o m.tamis a.tamis
check '-o onto an input' rc=2 err="'a.tamis' is also an input" -- "$TAMIS" merge -f -o a.tamis a.tamis c.tamis
cp m.tamis before
build other.tamis -k block -n 6000 b
check 'different sizes' rc=2 err="'a.tamis' and 'other.tamis' differ" -- "$TAMIS" merge -f -o m.tamis a.tamis other.tamis
build other.tamis -k block -n 5000 --seed 3 b
check 'different seeds' rc=2 err='differ' -- "$TAMIS" merge -f -o m.tamis a.tamis other.tamis
build other.tamis -k bloom -n 5000 b
check 'different kinds' rc=2 err='differ' -- "$TAMIS" merge -f -o m.tamis a.tamis other.tamis
build other.tamis -k block -n 5000 --fold-case b
check 'different key forms' rc=2 err='from records differently' -- "$TAMIS" merge -f -o m.tamis a.tamis other.tamis
for kind in cuckoo fuse ribbon xor growing; do
    build x.tamis -k $kind a
    cp x.tamis y.tamis
    check "$kind cannot be merged" rc=2 err="is a $kind filter, which cannot be merged" -- "$TAMIS" merge -f -o m.tamis x.tamis y.tamis
done
check 'a missing filter' rc=2 err="cannot open 'nope'" -- "$TAMIS" merge -f -o m.tamis a.tamis nope
same 'the output is unchanged' m.tamis before
build s1.tamis -k bloom -n 1000 a; build s2.tamis -k bloom -n 1000 b
check 'over capacity: 3' rc=3 err='over its capacity' -- "$TAMIS" merge -f -o m.tamis s1.tamis s2.tamis
check 'over capacity: the number of keys' out='2000\n' -- "$TAMIS" query -c m.tamis a b

# convert
build k.tamis -k counting -n 2000 a
check 'counting to bloom' err='n.tamis: bloom' -- "$TAMIS" convert --to tamis -k bloom -o n.tamis k.tamis
check 'the same keys' out='1000\n' -- "$TAMIS" query -c n.tamis a
check 'does not replace a file' rc=2 err='exists already' -- "$TAMIS" convert --to tamis -k bloom -o n.tamis k.tamis
check 'needs --to' rc=2 err='missing --to FORMAT' -- "$TAMIS" convert -f -o n.tamis k.tamis
check 'needs -o' rc=2 err='missing -o FILE' -- "$TAMIS" convert --to tamis k.tamis
check 'needs a filter' rc=2 err='missing FILE' -- "$TAMIS" convert --to tamis -f -o n.tamis
check 'one filter' rc=2 err='give one FILE' -- "$TAMIS" convert --to tamis -f -o n.tamis k.tamis k.tamis
check 'an impossible conversion' rc=2 err="is a counting filter and cannot become fuse" -- "$TAMIS" convert --to tamis -k fuse -f -o n.tamis k.tamis
check 'an unknown format' rc=2 err="--to: unknown format 'gauva'" -- "$TAMIS" convert --to gauva -f -o n.tamis k.tamis
check 'an unknown format to read' rc=2 err="--from: unknown format 'x'" -- "$TAMIS" convert --to tamis --from x -f -o n.tamis k.tamis
check '--from tamis' err='*' -- "$TAMIS" convert --to tamis --from tamis -f -o o.tamis k.tamis
same 'tamis to tamis is a copy' o.tamis k.tamis
check '-o onto the input' rc=2 err='also an input' -- "$TAMIS" convert --to tamis -f -o k.tamis k.tamis

# the key file is not overwritten
echo 000102030405060708090a0b0c0d0e0f >secret; cp secret kept
seq 9 | "$TAMIS" build -q -k bloom -n 10 --key-file secret -o keyed.tamis
check 'merge onto the key file' rc=2 err="'secret' is also the key file" -- "$TAMIS" merge -f --key-file secret -o secret keyed.tamis keyed.tamis
check 'convert onto the key file' rc=2 err="'secret' is also the key file" -- "$TAMIS" convert -f --key-file secret --to tamis -o secret keyed.tamis
same 'the key file is unchanged' secret kept
