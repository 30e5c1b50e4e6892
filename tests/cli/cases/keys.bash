# KEYOPTS: how a record becomes a key, in builds and queries
roundtrip() { # NAME KEYS QUERY FOUND OPTIONS...: built with the options, queried without
    local name=$1 keys=$2 query=$3 found=$4
    shift 4
    # shellcheck disable=SC2059
    printf -- "$keys" | build f.tamis "$@"
    check "$name" in="$query" out="$found" rc="$([ -n "$found" ]; echo $?)" -- "$TAMIS" query f.tamis
}

roundtrip 'fold-case' 'Apple\nBANANA\n' 'aPPLE\nbanana\nxx\n' 'aPPLE\nbanana\n' --fold-case
roundtrip 'fold-case is ASCII only' '\xc3\x84\n' '\xc3\xa4\n' '' --fold-case
roundtrip 'strip-cr' 'a\r\nb\n' 'a\nb\r\na\r\n' 'a\nb\r\na\r\n' --strip-cr
roundtrip 'strip-cr removes one CR only' 'a\r\r\n' 'a\n' '' --strip-cr
roundtrip 'field' 'x,a,1\ny,b,2\n' 'q,b,7\nq,x,7\n' 'q,b,7\n' -t , -F 2
roundtrip 'field 1' 'a,1\nb,2\n' 'b\nx\n' 'b\n' -t , -F 1
roundtrip 'the last field' 'x,a\n' 'y,a\n' 'y,a\n' -t , -F 2
roundtrip 'an empty field' 'x,,z\n' 'q,,z\n' 'q,,z\n' -t , -F 2
roundtrip 'a tab by default' 'x\ta\n' 'y\ta\n' 'y\ta\n' -F 2
roundtrip 'a separator of several bytes' 'x::a::z\n' 'q::a\n' 'q::a\n' -t :: -F 2
roundtrip 'a separator that overlaps itself' 'x:::a\n' 'q:::a\n' 'q:::a\n' -t :: -F 2
roundtrip 'a separator as an escape' 'x\ta\n' 'y\ta\n' 'y\ta\n' -t '\t' -F 2
roundtrip 'a backslash as separator' 'x\\a\n' 'y\\a\n' 'y\\a\n' -t '\' -F 2
roundtrip 'field and strip-cr' 'x,a\r\n' 'y,a\n' 'y,a\n' -t , -F 2 --strip-cr
roundtrip 'field and fold-case' 'x,A\n' 'y,a\n' 'y,a\n' -t , -F 2 --fold-case
roundtrip 'hex' '6162\n63\n' '6162\n6163\n' '6162\n' --hex
roundtrip 'hex in capitals' '4A4b\n' '4a4B\n' '4a4B\n' --hex
roundtrip 'an empty key in hex' '\n' '\n' '\n' --hex
roundtrip 'hex of a field' 'a:61:\n' 'b:61:\n' 'b:61:\n' --hex -t : -F 2
roundtrip 'prehashed' '0123456789abcdef\n' '0123456789ABCDEF\n0000000000000000\n' '0123456789ABCDEF\n' --prehashed
roundtrip 'i64' '1\n-2\n' '+1\n-2\n3\n01\n' '+1\n-2\n01\n' --as i64
roundtrip 'u64' '18446744073709551615\n' '18446744073709551615\n' '18446744073709551615\n' --as u64
roundtrip 'i32' '-2147483648\n' '-2147483648\n5\n' '-2147483648\n' --as i32
roundtrip 'f64' '1.5\n' '1.50\n15e-1\n2\n' '1.50\n15e-1\n' --as f64
zeros=$(printf '%0600d' 0)
roundtrip 'a float of many digits' '1\n2.5\n' "${zeros}1\\n2.5$zeros\\n$zeros.${zeros}1e601\\n3$zeros.5e-600\\n" "${zeros}1\\n2.5$zeros\\n$zeros.${zeros}1e601\\n" --as f64
roundtrip 'f32' '0.1\n' '0.10000000149\n' '0.10000000149\n' --as f32
roundtrip 'utf16' 'a\xc3\xa4\xf0\x9f\x98\x80\n' 'a\xc3\xa4\xf0\x9f\x98\x80\na\n' 'a\xc3\xa4\xf0\x9f\x98\x80\n' --as utf16
roundtrip 'utf16 and fold-case' 'AB\n' 'ab\n' 'ab\n' --as utf16 --fold-case
roundtrip 'bytes' 'x\n' 'x\n' 'x\n' --as bytes

# the bytes of typed keys
same_key() { # NAME TEXT OPTIONS... = HEX: the text under the options makes the key of these bytes
    local name=$1 text=$2 hex=${*: -1}
    shift 2
    set -- "${@:1:$#-2}"
    # shellcheck disable=SC2046
    printf "$(printf '\\x%s' $(echo "$hex" | sed 's/../& /g'))\x1e" | build r.tamis -p 1e-9 -d '\x1e'
    check "$name" in="$text\n" out="$text\n" -- "$TAMIS" query "$@" r.tamis
}
same_key 'i32 is 4 bytes, little-endian' 258 --as i32 = 02010000
same_key 'i64 is 8 bytes, little-endian' -1 --as i64 = ffffffffffffffff
same_key 'u64' 1 --as u64 = 0100000000000000
same_key 'infinity' inf --as f64 = 000000000000f07f
same_key 'f32' 1 --as f32 = 0000803f
same_key 'f64' 1 --as f64 = 000000000000f03f
same_key 'utf16 little-endian' Az --as utf16 = 41007a00
same_key 'utf16 surrogates' '\xf0\x9f\x98\x80' --as utf16 = 3dd800de
same_key 'hex' 00ff0a --hex = 00ff0a
same_key 'strip-cr' 'ab\r' --strip-cr = 6162
same_key 'field' 'x,ab' -t , -F 2 = 6162

# bad records: position and expected form are reported, and no file is written
bad() { # NAME REGEX INPUT OPTIONS...
    local name=$1 regex=$2 in=$3
    shift 3
    rm -f bad.tamis
    check "$name" rc=2 err="$regex" in="$in" -- "$TAMIS" build -o bad.tamis "$@"
    truth "$name: no file" test ! -e bad.tamis
}
bad 'odd hex' 'line 2: an odd number of hexadecimal digits \(3\)' 'aa\nabc\n' --hex
bad 'bad hex' "line 3: 'g' at byte 2 is not a hexadecimal digit" 'aa\nbb\n0g\n' --hex
bad 'a byte that is not a digit' 'line 1: byte 0xff at byte 1' '\xff0\n' --hex
bad 'a short hash' 'line 1: a hash must have 16 hexadecimal digits, not 15' '0123456789abcde\n' --prehashed
bad 'a long hash' 'not 17 bytes' '0123456789abcdef0\n' --prehashed
bad 'a bad hash' "'x' at byte 1" 'x123456789abcdef\n' --prehashed
bad 'a missing field' 'line 2: the record has 1 field, and no field 2' 'a,b\nc\n' -t , -F 2
bad 'a missing field of many' 'the record has 3 fields, and no field 5' 'a,b,c\n' -t , -F 5
bad 'not an i32' "line 1: '2147483648' is not of type i32" '2147483648\n' --as i32
bad 'not a u64' "'-1' is not of type u64" '-1\n' --as u64
bad 'not an i64' "'9223372036854775808' is not of type i64" '9223372036854775808\n' --as i64
bad 'not a number' "'1x' is not of type i64" '1x\n' --as i64
bad 'an empty record is not a number' "'' is not of type i64" '\n' --as i64
bad 'a blank before a number' "is not of type f64" ' 1\n' --as f64
bad 'not a float' "'abc' is not of type f64" 'abc\n' --as f64
bad 'a hexadecimal float' "is not of type f32" '0x10\n' --as f32
bad 'a float that is too large' "'1e400' is not of type f64" '1e400\n' --as f64
bad 'too large for f32' "'-1e39' is not of type f32" '-1e39\n' --as f32
bad 'a nan with a payload' "is not of type f64" 'nan(7)\n' --as f64
bad 'a carriage return is shown' "'1.x0d' is not of type i64" '1\r\n' --as i64
bad 'a NUL is shown' "'1.x00' is not of type f64" '1\0\n' --as f64
bad 'an escape is shown' "'.x1b\[31m' is not of type i32" '\033[31m\n' --as i32
bad 'a carriage return is not counted as a digit' 'byte 0x0d at byte 3 is not a hexadecimal digit' 'aa\r\n' --hex
bad 'not UTF-8' 'line 1: the key is not UTF-8 at byte 2' 'a\xff\n' --as utf16
bad 'an overlong form' 'not UTF-8' '\xc0\x80\n' --as utf16
bad 'a surrogate' 'not UTF-8' '\xed\xa0\x80\n' --as utf16
bad 'a truncated character' 'not UTF-8 at byte 1' '\xe2\x82\n' --as utf16
bad 'the number of a NUL-terminated record' 'record 2: ' 'aa\0b\0' --hex -0
seq 500000 | awk '{printf "%08x\n", $1}' >hexes; echo xyz1 >>hexes
bad 'far into a large input' 'line 500001: ' '' --hex hexes
printf 'aa\nbb\n' >one; printf 'cc\nd\n' >two
bad 'the input is named' "'two', line 2: " '' --hex one two

# options that contradict each other
check '--hex --prehashed' rc=2 err='contradict' -- "$TAMIS" build -o x.tamis --hex --prehashed one
check '--hex --as i32' rc=2 err='contradict' -- "$TAMIS" build -o x.tamis --hex --as i32 one
check '-t without -F' rc=2 err='-t SEP needs -F N' -- "$TAMIS" build -o x.tamis -t , one
check '-F 0' rc=2 err='-F must be from 1' -- "$TAMIS" build -o x.tamis -F 0 one
check '-F x' rc=2 err="-F: 'x' is not a number" -- "$TAMIS" build -o x.tamis -F x one
check '-t of nothing' rc=2 err='empty' -- "$TAMIS" build -o x.tamis -t '' -F 1 one
check '-t of 15 bytes' rc=2 err='more than 14 bytes' -- "$TAMIS" build -o x.tamis -t 123456789012345 -F 1 one
check '--as unknown' rc=2 err="--as: unknown value 'i46'; did you mean 'i64'" -- "$TAMIS" build -o x.tamis --as i46 one

# options that contradict the filter
printf 'x,a\n' | build field.tamis -t , -F 2
printf 'a\n' | build plain.tamis
printf '61\n' | build hex.tamis --hex
printf '1\n' | build i64.tamis --as i64
printf 'a\n' | build fold.tamis --fold-case
check 'the same field again' in='y,a\n' out='y,a\n' -- "$TAMIS" query -t , -F 2 field.tamis
check 'the same field without its separator' in='y,a\n' out='y,a\n' -- "$TAMIS" query -F 2 field.tamis
check 'another field' rc=2 err="was built with -t , -F 2, and '-t , -F 1' contradicts" -- "$TAMIS" query -t , -F 1 field.tamis
check 'another separator' rc=2 err="contradicts" -- "$TAMIS" query -t ';' -F 2 field.tamis
check 'a field of a filter of whole records' in='1,a\n' out='1,a\n' -- "$TAMIS" query -t , -F 2 plain.tamis
check '--strip-cr of a filter without' in='a\r\n' out='a\r\n' -- "$TAMIS" query --strip-cr plain.tamis
check '--hex of a filter of bytes' in='61\n' out='61\n' -- "$TAMIS" query --hex plain.tamis
check '--hex again' in='61\n' out='61\n' -- "$TAMIS" query --hex hex.tamis
check '--as for a filter in hex' rc=2 err='contradicts' -- "$TAMIS" query --as i64 hex.tamis
check '--prehashed for a filter in hex' rc=2 err='contradicts' -- "$TAMIS" query --prehashed hex.tamis
check 'another type' rc=2 err="was built with --as i64, and '--as i32' contradicts" -- "$TAMIS" query --as i32 i64.tamis
check '--fold-case for a filter without' rc=2 err='built without --fold-case' -- "$TAMIS" query --fold-case plain.tamis
check '--fold-case again' in='A\n' out='A\n' -- "$TAMIS" query --fold-case fold.tamis
check '--hex for a filter that folds case: the text is folded' in='41\n61\n42\n' out='41\n61\n' -- "$TAMIS" query --hex fold.tamis
printf 'A\0\0\0\nBA\n' | build foldbytes.tamis --fold-case
check '--as for a filter that folds case: the key is folded' in='65\n97\n66\n' out='65\n97\n' -- "$TAMIS" query --as i32 foldbytes.tamis
check '--as utf16 for a filter that folds case' in='\xe4\x85\x82\n\xe6\x85\xa2\nb\n' out='\xe4\x85\x82\n\xe6\x85\xa2\n' -- "$TAMIS" query --as utf16 foldbytes.tamis
check '--hex and --fold-case from the start: digits are folded' out='' -- bash -c 'echo 41 | "$TAMIS" build -q -f --hex --fold-case -o hexfold.tamis'
check '--hex and --fold-case: bytes are unchanged' in='41\n61\n' out='41\n' -- "$TAMIS" query hexfold.tamis
check 'info prints the key form' out='*' -- bash -c '"$TAMIS" info field.tamis | grep -q -- "-t , -F 2"'

# keyed filters
echo 000102030405060708090a0b0c0d0e0f >secret
echo 100102030405060708090a0b0c0d0e0f >other
printf 'a\nb\n' | build keyed.tamis --key-file secret
check 'keyed' in='a\nx\n' out='a\n' -- "$TAMIS" query --key-file secret keyed.tamis
check '-o onto the secret' rc=2 in='a\n' err="'secret' is also the key file" -- "$TAMIS" build -f -o secret --key-file secret
check 'without its secret' rc=2 err="'keyed.tamis' is keyed: give its secret with --key-file" -- "$TAMIS" query keyed.tamis
check 'with another secret' rc=2 err="another secret than that in 'other'" -- "$TAMIS" query --key-file other keyed.tamis
check 'info needs the secret' rc=2 err='is keyed' -- "$TAMIS" info keyed.tamis
check 'info with the secret' out='*' -- bash -c '[ "$("$TAMIS" info --json --key-file secret keyed.tamis | grep -c "\"keyed\": true")" = 1 ]'
truth 'the secret is not in the file' bash -c '! grep -q "$(printf "\\x04\\x05\\x06\\x07\\x08")" keyed.tamis'
printf '000102030405060708090A0B0C0D0E0F' >secret2
check 'capitals, no newline' in='a\n' out='a\n' -- "$TAMIS" query --key-file secret2 keyed.tamis
echo 0001 >short
check 'a short secret' rc=2 err="'short' must hold 32 hexadecimal digits" -- "$TAMIS" query --key-file short keyed.tamis
echo 000102030405060708090a0b0c0d0e0f00 >long
check 'a long secret' rc=2 err='32 hexadecimal digits' -- "$TAMIS" query --key-file long keyed.tamis
echo 0001020304050607xx090a0b0c0d0e0f >wrong
check 'a secret that is not hexadecimal' rc=2 err='32 hexadecimal digits' -- "$TAMIS" query --key-file wrong keyed.tamis
check 'a missing secret' rc=2 err="cannot open key file 'nope'" -- "$TAMIS" query --key-file nope keyed.tamis
check 'a secret for a filter without one' in='a\n' out='a\n' -- "$TAMIS" query --key-file secret plain.tamis

seq 3 | "$TAMIS" build -q --as i64 -o typed.tamis
check 'a contradiction is named' rc=2 err="built with --as i64, and '--as bytes' contradicts" -- "$TAMIS" query --as bytes typed.tamis
printf 'Abc\nDEF\n' | "$TAMIS" build -q --to guava --fold-case -o folded.guava
"$TAMIS" convert -q --to tamis -o folded.tamis folded.guava
for file in folded.guava folded.tamis; do
    check "$file: the key form is not stored" in='ABC\ndef\nx\n' out='ABC\ndef\n' -- "$TAMIS" query --fold-case $file
done

# hints: one sentence, the same results
check 'keys that end in CR: a hint' in='a\r\nb\r\n' err='^tamis: build: note: the keys of .standard input. end in CR .*--strip-cr' -- "$TAMIS" build -f -o cr.tamis
check 'keys that end in CR: the same results' in='a\r\nc\r\n' out='a\r\n' err='note: .*--strip-cr' -- "$TAMIS" query cr.tamis
truth 'keys that end in CR: one hint' test "$(wc -l <"$work/err")" -eq 1
check 'one key of two ends in CR: no hint' in='a\r\nc\n' out='a\r\n' err='' -- "$TAMIS" query cr.tamis
check 'no hint with --strip-cr' rc=1 in='a\r\n' out='' err='' -- "$TAMIS" query --strip-cr cr.tamis
check 'no hint with -q' in='a\r\n' out='' err='' -- "$TAMIS" query -q cr.tamis
check 'no hint about another field' rc=1 in='x,y\r\n' out='' err='' -- "$TAMIS" query -t , -F 1 cr.tamis
check 'a hint about the last field' rc=1 in='x,y\r\n' out='' err='--strip-cr' -- "$TAMIS" query -t , -F 2 cr.tamis
check 'uniq without --save: no hint' in='a\r\na\r\n' out='a\r\n' err='^uniq: ' -- "$TAMIS" uniq
check 'a byte order mark: a hint' in='\xef\xbb\xbfa\n' err='note: .* begins with a byte order mark' -- "$TAMIS" build -f -o bom.tamis
printf 'a\nb\n' | gzip >packed.gz
check 'a compressed input: a hint' err='note: .packed.gz. is compressed with gzip .* zcat packed.gz \| tamis' -- "$TAMIS" build -f -o gz.tamis packed.gz packed.gz
truth 'a compressed input: one hint' test "$(grep -c note "$work/err")" -eq 1
bad '--hex names --strip-cr' 'not a hexadecimal digit; use --strip-cr' 'aa\r\n' --hex
bad '--prehashed names --strip-cr' 'not 17 bytes; use --strip-cr' '0123456789abcdef\r\n' --prehashed
if [ $full = yes ]; then
    check 'an endless record' rc=2 out='' err='has a record longer than .*, a quarter of the memory' -- bash -c '"$TAMIS" query cr.tamis </dev/zero'
fi
check 'how much memory it needs' rc=2 err='out of memory: a bloom filter of 1,000,000,000,000 keys needs 1.09 TiB' in='x\n' -- env ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 "$TAMIS" build -n 1T -k bloom -o huge.tamis
