# build a filter of A and query it with B: finds every line of B that is in A, and few others
# tests: slow full
count=1000000
[ $full = no ] || count=10000000

# A has the even numbers below 2 * count and some repeats, B has a third of A and
# other numbers; both are shuffled.
awk -v n=$count 'BEGIN { for (i = 0; i < n; i++) { j = (i * 7919) % n; print "https://example.org/item/" 2 * j "?lang=en" } }' >A
awk -v n=$count 'BEGIN { for (i = 0; i < n; i++) { j = (i * 6007) % n; print "https://example.org/item/" (j % 3 == 0 ? 2 * j : 2 * j + 1) "?lang=en" } }' >B
members=$(((count + 2) / 3))
truth 'the number of lines of A' test "$(wc -l <A)" -eq $count
truth 'the number of lines of B' test "$(wc -l <B)" -eq $count

# bound NAME RATE: the false positives in `found` are within the rate (fails by chance once in 10^9)
bound() {
    local absent=$((count - members)) wrong
    wrong=$(awk -F '[/?]' '$5 % 2 == 1' found | wc -l)
    verdict "$1: at most $2 wrong ($wrong of $absent)" "$(awk -v w="$wrong" -v n="$absent" -v p="$2" \
        'BEGIN { most = n * p + 6 * sqrt(n * p) + 6; if (w > most) print w " false positives, at most " most " expected" }')"
}

joined() { # NAME RATE OPTIONS...: builds from a pipe and queries with B
    local name=$1 rate=$2
    shift 2
    cat A | "$TAMIS" build -q -f -p "$rate" "$@" -o a.tamis
    "$TAMIS" query a.tamis B >found
    verdict "$name: every member" "$([ "$(awk -F '[/?]' '$5 % 2 == 0' found | wc -l)" -eq $members ] || echo 'a line is missing')"
    bound "$name" "$rate"
    check "$name: -c counts the same" out="$(wc -l <found)\n" -- "$TAMIS" query -c a.tamis B
}
joined 'by default' 0.01
# In input order: the lines found are a subsequence of B, and -v prints the rest.
"$TAMIS" query -v a.tamis B >rest
awk 'NR == FNR { found[FNR] = $0; n = FNR; next } $0 == found[i + 1] { i++; next } { print } END { if (i != n) print "not in order" }' found B >others
same '-v prints the rest' others rest
truth 'grep finds the same members' bash -c "grep -F -x -c -f <(head -1000 A) B >want; [ \"\$(head -1000 A | '$TAMIS' build -q -f -p 1e-9 -o s.tamis; '$TAMIS' query -c s.tamis B)\" = \"\$(cat want)\" ]"
joined 'one thread' 0.01 -j 1
joined 'spilled' 0.001 --memory 1Mi
for kind in bloom block ribbon cuckoo growing; do joined "$kind" 0.001 -k $kind; done

# --memory holds: a build under a memory limit (ulimit) that fails without it
limited() { bash -c "ulimit -d 180000; $1"; }
if [ $full = yes ] && limited '"$TAMIS" --version' >/dev/null 2>&1; then
    check '--memory: within the limit' -- limited 'seq 20000000 | "$TAMIS" build -q -j 2 --memory 128Mi -o big.tamis'
    check 'without --memory: out of memory' rc=2 err='out of memory' -- limited 'seq 20000000 | "$TAMIS" build -q -j 2 -o none.tamis'
    check '--memory: all members' out='1000000\n' -- bash -c 'shuf -i 1-20000000 -n 1000000 | "$TAMIS" query -c big.tamis'
fi
