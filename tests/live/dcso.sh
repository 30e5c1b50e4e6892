# dcso.sh: DCSO's bloom command reads filters that tamis wrote, and tamis those of the command
command -v bloom >/dev/null || { echo "skipped: DCSO's bloom is not installed"; exit 77; }
set -e
rounds=10
[ "${1-}" = --full ] && rounds=100
for ((i = 1; i <= rounds; i++)); do
    n=$((i * i * 7)) p=0.0$((1 + i % 9))
    seq $i 3 $((i + 3 * n)) | head -n $n >keys
    seq -f 'absent-%.0f' 1 2000 >others
    # 3: FNV-1 hashes sequential numbers badly, so the rate is a little above the requested one.
    "$TAMIS" build -q -f --to dcso -n $n -p $p -o mine.bloom keys 2>printed || [ $? -eq 3 ]
    rm -f theirs.bloom
    bloom create -n $n -p $p theirs.bloom <keys
    cmp mine.bloom theirs.bloom
    bloom check mine.bloom <keys >found
    cmp keys found
    bloom check mine.bloom <others >found.theirs || true
    "$TAMIS" query theirs.bloom others >found.mine || [ $? -eq 1 ]
    cmp found.mine found.theirs
done
# Few keys at a high rate: a filter without bits.
for n in 1 2 3; do
    "$TAMIS" build -q -f --to dcso -n $n -p 0.9 -o mine.bloom <<<key
    rm -f theirs.bloom
    bloom create -n $n -p 0.9 theirs.bloom <<<key
    cmp mine.bloom theirs.bloom
done
echo "$rounds filters: same bytes, same answers"
