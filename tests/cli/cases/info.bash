# info
seq 1000 >keys
build f.tamis -k fuse keys; build b.tamis -k bloom -n 5000 keys
check 'text' out='*' err='' -- "$TAMIS" info f.tamis
for word in kind keys size rate hash checksum; do
    truth "text has $word" bash -c '"$TAMIS" info f.tamis | grep -q "^  '$word' "'
done
truth 'text of several' test "$("$TAMIS" info f.tamis b.tamis | grep -c tamis)" -eq 2
check 'no file' rc=2 err='missing FILE \(the filter\)' -- "$TAMIS" info
check 'a missing file' rc=2 err="cannot open 'nope'" -- "$TAMIS" info nope
check 'a missing file of several' rc=2 out='' err="cannot open 'nope'" -- "$TAMIS" info f.tamis nope
check 'not a filter' rc=2 err="'keys' is not a filter" -- "$TAMIS" info keys
check 'a directory' rc=2 err='is a directory' -- "$TAMIS" info .

"$TAMIS" info --json f.tamis >one.json
"$TAMIS" info --json f.tamis b.tamis >two.json
json 'one is JSON' one.json
json 'two are JSON' two.json
has 'json' one.json file format kind keys capacity bytes bits_per_key hashes fill fpr_target fpr_now seed keyed checksum
truth 'json of one is an object' test "$(head -c 1 one.json)$(tail -n 1 one.json)" = '{}'
truth 'json of two is an array' test "$(head -c 1 two.json)$(tail -n 1 two.json)" = '[]'
truth 'json of two has both, in order' test "$(grep '"file"' two.json | tr -d ' \n')" = '"file":"f.tamis","file":"b.tamis",'
value() { verdict "json: $1 is $2" "$([ "$(field "$1" <"${3:-one.json}")" = "$2" ] || echo "it is $(field "$1" <"${3:-one.json}")")"; }
value file f.tamis; value format tamis; value kind fuse; value keys 1000; value fpr_target 0.01
value seed 0; value keyed false; value checksum ok; value bytes "$(stat -c %s f.tamis)"
"$TAMIS" info --json b.tamis >bloom.json
value keys 1000 bloom.json; value capacity 5000 bloom.json; value kind bloom bloom.json
truth 'json: fpr_now of a filter with room is low' awk -v p="$(field fpr_now <bloom.json)" 'BEGIN { exit !(p < 1e-4) }'
build s.tamis --seed 18446744073709551615 keys
"$TAMIS" info --json s.tamis >seed.json
value seed 18446744073709551615 seed.json
cp f.tamis "$(printf 'odd"\\\x01\xff.tamis')"
"$TAMIS" info --json odd*.tamis >odd.json
json 'any file name gives valid JSON' odd.json
truth 'json: any name' grep -qF '"file": "odd\"\\\u0001\ufffd.tamis"' odd.json
truth 'keys of a filter with repeats' test "$(cat keys keys | build r.tamis -k fuse; "$TAMIS" info --json r.tamis | field keys)" -eq 1000
cp f.tamis $'line\nbreak'
check 'a name with a newline is one line' out='line\\x0abreak\n' -- bash -c '"$TAMIS" info line*break | head -1'
check 'no colours in a pipe' out='*' -- bash -c '! "$TAMIS" info f.tamis | grep -q "$(printf "\033")"'
if terminal; then
    truth 'colours on a terminal' bash -c 'TERM=xterm script -qec "\"$TAMIS\" info f.tamis" /dev/null | grep -q "$(printf "\033\\[")"'
    truth 'no colours with NO_COLOR' bash -c '! NO_COLOR=1 TERM=xterm script -qec "\"$TAMIS\" info f.tamis" /dev/null | grep -q "$(printf "\033\\[")"'
fi
check 'a full disk' rc=2 err='No space left' -- bash -c '"$TAMIS" info f.tamis >/dev/full'
check 'more files than can be open' out='*' -- bash -c 'ulimit -n 20; "$TAMIS" info $(yes f.tamis | head -50)'
truth 'more files than can be open: all' test "$(grep -c '^f.tamis$' "$work/out")" -eq 50
build hundred.tamis -k fuse <(seq 100000)
truth 'json: whole numbers have no exponent' test "$("$TAMIS" info --json hundred.tamis | field distinct)" = 100000
