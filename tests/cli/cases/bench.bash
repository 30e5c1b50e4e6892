# bench, at small sizes
check 'one kind' out='*' err='' -- "$TAMIS" bench -n 1000 -k block
truth 'one kind has one row' grep -Eq '^block( +[0-9.]+){8} +[0-9.]+ %$' "$work/out"
check 'a static kind' out='*' -- "$TAMIS" bench -n 1000 -k fuse
truth 'a static kind has no add column' grep -Eq '^fuse +[0-9.]+ +- +- ' "$work/out"
check 'two kinds' out='*' -- "$TAMIS" bench -n 1000 -k fuse -k bloom
truth 'two kinds in the order given' test "$(grep -Eo '^(fuse|bloom)' "$work/out" | tr '\n' ' ')" = 'fuse bloom '
"$TAMIS" bench -n 1000 -k block --json --svg b.svg >b.json
json 'JSON' b.json
has 'json' b.json n families kind bits_per_key fpr build_ns add_ns add_batch_ns hit_ns miss_ns hit_batch_ns miss_batch_ns
truth 'svg' grep -q '>block</text>' b.svg
check 'an unknown kind' rc=2 err="unknown kind 'fuze'; did you mean 'fuse'" -- "$TAMIS" bench -k fuze
check 'an operand' rc=2 err="'x' is not expected" -- "$TAMIS" bench x
check '-n 0' rc=2 err='-n must be from 1' -- "$TAMIS" bench -n 0
check 'a rate that a kind does not support' out='*' -- "$TAMIS" bench -n 1000 -k fuse -p 1e-30
truth 'a rate that a kind does not support is reported' grep -q '^fuse .*does not support' "$work/out"
if terminal; then
    check 'bars on a terminal' out='*' -- script -qec '"$TAMIS" bench -n 1000 -k block -k fuse' /dev/null
    truth 'bars on a terminal: one for each kind' test "$(grep -c '^\(block\|fuse\)  *█' "$work/out")" -eq 2
fi
truth 'no bars in a pipe' bash -c '! "$TAMIS" bench -n 1000 -k block | grep "to look up"'
truth 'the table fits in 80 columns' test "$("$TAMIS" bench -n 1000 -k cuckoo -k block | awk 'length > 80' | wc -l)" -eq 0
