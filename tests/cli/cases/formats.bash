# formats: other systems' filters through the command
vectors=${TAMIS_VECTORS:-$here/../vectors}
keys=$vectors/keys

# created as the system does, byte for byte
check 'guava' err='guava: bloom' -- "$TAMIS" build --to guava -n 100 -p 0.03 -o small.guava "$keys/small.txt"
check 'guava is detected' out='100\n' -- "$TAMIS" query -c small.guava "$keys/small.txt"
check 'leveldb' -- "$TAMIS" build --to leveldb:bits=10 -o small.leveldb "$keys/small.txt"
same 'leveldb has the bytes of LevelDB' small.leveldb "$vectors/leveldb/b10-small.bloom"
check 'integers' -- "$TAMIS" build --to fuse8 --as u64 -o u.fuse8 "$keys/u1000.u64"
same 'fuse8 has the bytes of xor_singleheader' u.fuse8 "$vectors/fastfilter/fuse8-u1000.ser"
check 'text is not an integer' rc=2 err='64-bit integers: give --as u64' -- "$TAMIS" build --to fuse8 -o x "$keys/small.txt"
check 'text is not an integer: query' rc=2 err='64-bit integers' -- "$TAMIS" query u.fuse8 "$keys/small.txt"
check 'integers are found' out='1000\n' -- "$TAMIS" query -c --as u64 u.fuse8 "$keys/u1000.u64"
for command in query verify measure; do
    check "$command: an integer of two bytes" rc=2 in='0102030405060708\naabb\n' out='*' err="line 2: the key has 2 bytes; the keys of this filter have 8" -- "$TAMIS" $command --hex u.fuse8 -
done
check 'an unknown format' rc=2 err="unknown format 'guavo'.*did you mean 'guava'" -- "$TAMIS" build --to guavo -o x "$keys/small.txt"
check 'an unknown parameter' rc=2 err='leveldb:bite=10: wrong parameters; the format has: bits' -- "$TAMIS" build --to leveldb:bite=10 -o x "$keys/small.txt"
check 'a format that is only read' rc=2 err='read-only' -- "$TAMIS" build --to leveldb-table -o x "$keys/small.txt"
check '-k with --to' rc=2 err='contradict' -- "$TAMIS" build -k bloom --to guava -o x "$keys/small.txt"

for n in 0 1 5 127 2000 4096; do # the table of seiflotfy has no room to spare
    check "seiflotfy: $n keys, counted" in="$(seq -s '\n' $n)\n" -- "$TAMIS" build -q -f --to seiflotfy -o counted
    check "seiflotfy: $n keys, found" err='*' -- "$TAMIS" verify --from seiflotfy counted <(seq $n)
done
check 'seiflotfy: -n too small' rc=2 err='give a larger -n than 100, or none' -- "$TAMIS" build -f --to seiflotfy -n 100 -o counted <(seq 2000)
check 'seiflotfy: too many copies of a key' rc=2 in='a\na\na\na\na\na\na\na\na\nb\n' err="repeated more often .*'tamis uniq'" -- "$TAMIS" build -f --to seiflotfy -o counted

# detected by content, or named
check 'an unknown parameter of a file' rc=2 err='cannot read .* as leveldb:bite=10: missing or wrong parameters; the format has: bits' -- "$TAMIS" info --from leveldb:bite=10 small.leveldb
check 'a known parameter of a file' 'out=*' -- "$TAMIS" info --from leveldb:bits=10 small.leveldb
check 'a format without a magic number' rc=2 err='could be leveldb: give it with --from' -- "$TAMIS" info small.leveldb
check 'another --from' rc=2 err="cannot read 'small.guava' as parquet: " -- "$TAMIS" info --from parquet small.guava
check '--from' out='100\n' -- "$TAMIS" query -c --from leveldb small.leveldb "$keys/small.txt"
check 'info prints format and hash' out='*' -- bash -c '"$TAMIS" info --json small.guava | grep -q "\"format\": *\"guava\"" && "$TAMIS" info small.guava | grep -q murmur3-128'

# converted
check 'convert to tamis' -- "$TAMIS" convert --to tamis -o kept.tamis small.guava
check 'convert back' -- "$TAMIS" convert --to guava -o back.guava kept.tamis
same 'convert back: the same bytes' small.guava back.guava
check 'not to a third system' rc=2 err='cannot become leveldb: .*keys are needed' -- "$TAMIS" convert --to leveldb -o x small.guava
check 'convert takes no parameters' rc=2 err='cannot become tamis:seed=1: parameters apply only when a filter is created' -- "$TAMIS" convert --to tamis:seed=1 -o x small.guava

# changed
cp small.guava more.guava
check 'add' in='a new one\n' -- "$TAMIS" add more.guava
check 'the added key is found' in='a new one\n' out='a new one\n' -- "$TAMIS" query more.guava
check 'merge' -- "$TAMIS" merge -o both.guava small.guava more.guava
same 'a union with its superset' both.guava more.guava

# files that hold several filters
check 'a table is listed' out='*' -- bash -c '"$TAMIS" info "$1" | grep -q "leveldb-table, 1 filter$"' - "$vectors/leveldb/db-small.ldb"
check 'a table is queried' out='100\n' -- "$TAMIS" query -c "$vectors/leveldb/db-small.ldb" "$keys/small.txt"
check 'a part of it' -- "$TAMIS" convert --to leveldb --part 0 -o part.leveldb "$vectors/leveldb/db-small.ldb"
check 'a part of it has the keys' out='100\n' -- "$TAMIS" query -c --from leveldb part.leveldb "$keys/small.txt"
cp "$vectors/parquet/duckdb-multi.parquet" multi.parquet
LC_ALL=C sed 's/\x18\x01a/\x18\x01\x1b/g' multi.parquet >named.parquet
check 'a column name with terminal escapes' out='  part       0/\\x1b                   528 bytes at byte 75686\n' -- bash -c '"$TAMIS" info named.parquet | grep 75686'
check 'several filters: name a part' rc=2 err='--part' -- "$TAMIS" convert --to tamis -o x multi.parquet
check 'no such part' rc=2 err="no filter, or more than one, named '9/z'" -- "$TAMIS" convert --to tamis --part 9/z -o x multi.parquet
check 'a missing part' rc=2 err="multi.parquet' has no filter '9/b': see 'tamis info'" in='a new one\n' -- "$TAMIS" query --part 9/b multi.parquet
check 'a missing column' rc=2 err="has no filter 'zz'" in='a new one\n' -- "$TAMIS" query --part zz multi.parquet
check 'an existing column' in='a new one\n' out='*' -- "$TAMIS" query --part b multi.parquet
check 'a key that is not in it yet' rc=1 in='a new one\n' out='' -- "$TAMIS" query --part 0/b multi.parquet
printf 'a new one\n' | build plain.tamis -p 1e-9
check '--part does not apply to plain filters in --also' in='a new one\n' out='plain.tamis:a new one\n' -- "$TAMIS" query -l --part 0/b --also plain.tamis multi.parquet
check 'nor to a plain first filter' in='a new one\n' out='a new one\n' -- "$TAMIS" query --part 0/b --also multi.parquet plain.tamis
check 'no filter has the part' rc=2 err="--part: 'plain.tamis' holds one filter" -- "$TAMIS" query --part 0/b --also plain.tamis plain.tamis
check 'uniq has no --part' rc=2 in='a new one\n' out='' err='multi.parquet. holds several filters, or none: give the name of a new file' -- "$TAMIS" uniq --save multi.parquet
"$TAMIS" build -q --to seiflotfy -o unnamed.go "$keys/small.txt"
check 'uniq has no --from' rc=2 in='a new one\n' out='' err='could be .*seiflotfy: give the name of a new file' -- "$TAMIS" uniq --save unnamed.go
"$TAMIS" build -q --to libbloom1 -o bits.1 "$keys/small.txt"
check 'missing parameters are listed' rc=2 err='missing or wrong parameters; the format has: entries,error' -- "$TAMIS" info --from libbloom1 bits.1
check 'written back in place' in='a new one\n' -- "$TAMIS" add --part 0/b multi.parquet
cp multi.parquet before.parquet
check 'standard input is the file itself' rc=2 err='standard input' -- bash -c '"$TAMIS" add --part 0/b multi.parquet <&-'
same 'the file is unchanged' multi.parquet before.parquet
check 'the key is found now' in='a new one\n' out='a new one\n' -- "$TAMIS" query --part 0/b multi.parquet
for i in 1 2 3 4 5 6 7 8; do echo "one of several $i" | "$TAMIS" add -q --part 0/b multi.parquet & done
wait
check 'eight writers at once: no key is lost' err='all 8 keys' -- "$TAMIS" verify --part 0/b multi.parquet <(seq -f 'one of several %g' 8)
cp "$vectors/parquet/duckdb-small-varchar-p0.01.parquet" one.parquet; chmod u+w one.parquet
check 'the only filter of a column' in='a new one\n' -- "$TAMIS" add --part k one.parquet
check 'the only filter of a column has the key' in='a new one\n' out='a new one\n' -- "$TAMIS" query --part 0/k one.parquet
check 'tables have checksums' rc=2 err='cannot be changed' in='x\n' -- "$TAMIS" add --part 0 "$vectors/leveldb/db-small.ldb"

# --from if the content cannot be detected, in every command
"$TAMIS" build -q -p 1e-9 -o small.tamis "$keys/small.txt"
check '--from with a .tamis file' in='no such key\n' rc=1 out='small.tamis:0\nsmall.leveldb:0\n' -- "$TAMIS" query -l -c --from leveldb small.tamis --also small.leveldb
check '--from does not apply to a .tamis file' out='small.tamis:100\nsmall.leveldb:0\n' -- "$TAMIS" query -l -c --from leveldb small.tamis --also small.leveldb "$keys/small.txt"
check '--from with any last byte' -- bash -c '
    for i in $(seq 200); do # one that ends as a LevelDB filter does: with the number of hashes
        echo $i | "$TAMIS" build -q -f -k bloom -n 10 -o ours.tamis
        last=$(tail -c 1 ours.tamis | od -An -tu1); [ $last -lt 1 ] || [ $last -gt 30 ] || break
    done
    echo x | "$TAMIS" add -q --from leveldb ours.tamis && echo $i | "$TAMIS" verify ours.tamis'
check 'merge --from' -- "$TAMIS" merge -q --from leveldb -o both.leveldb small.leveldb small.leveldb
same 'merge --from: a union with itself' both.leveldb small.leveldb
check 'merge without --from' rc=2 err='give it with --from' -- "$TAMIS" merge -q -f -o both.leveldb small.leveldb small.leveldb
check 'merge --part' -- "$TAMIS" merge -q --part 0/b -o both.parquet multi.parquet "$vectors/parquet/duckdb-multi.parquet"
"$TAMIS" build -q --to libbloom -n 1000 -o small.libbloom "$keys/small.txt"
check 'a filter without a count' err='^kept2.tamis: bloom, about [0-9]+ keys, ' -- "$TAMIS" convert --to tamis -o kept2.tamis small.libbloom
check 'a filter without a count: one more key' err='one.tamis: bloom, about 1 key, ' in='a\n' -- bash -c '"$TAMIS" build -q --to guava -o one && "$TAMIS" convert --to tamis -o one.tamis one'

# compatible filters over capacity are reported
for format in guava guava32 leveldb spark1 spark2 dcso parquet libbloom; do
    check "$format: ten thousand times too many keys" rc=3 err="over its capacity of [0-9,]+ keys: .* its rate is now 100 %" -- \
        bash -c "seq 100000 | \"\$TAMIS\" build -f -n 10 --to $format -o over"
    check "$format: at capacity" -- bash -c "seq 10 | \"\$TAMIS\" build -q -f -n 10 --to $format -o over"
done
check 'more keys than the format supports' rc=2 err='the seiflotfy filter is full' -- bash -c 'seq 1000 | "$TAMIS" build -f -n 10 --to seiflotfy -o over'
check 'the rate of eight bits' in='1\n' -- "$TAMIS" build -q -p 1/256 --to xor8 --as u64 -o u.xor8
check 'a rate too low for eight bits' rc=2 err='-p 0.0039: lower than xor8 supports: give a higher rate, or leave -p out' in='1\n' -- "$TAMIS" build -p 0.0039 --to xor8 --as u64 -o lower
check 'an integer of two bytes, in a stream' rc=2 err='line 2: the key has 2 bytes; the keys of this filter have 8' in='0102030405060708\naabb\n' -- "$TAMIS" build --hex --to xor8 -o lower
truth 'no file is written' test ! -e lower

# the stored count is reported, whatever the bits are
check 'the stored count' err=': bloom, 1,000 keys \((about )?(9[0-9][0-9]|1,000) distinct\)' -- bash -c 'seq 1000 | "$TAMIS" build -f --to dcso -o counted.dcso'
check 'no more distinct keys than the count, if it is full' rc=3 err='100 keys \(at least [0-9]{2} distinct\)' -- bash -c 'seq 100 | "$TAMIS" build -f --to guava -n 10 -o counted.guava'
