# plan, and numbers as arguments
check 'needs -n' rc=2 err='missing -n N' -- "$TAMIS" plan -p 1%
check 'not both' rc=2 err='-p and -M contradict' -- "$TAMIS" plan -n 1000 -p 1% -M 1Mi
check 'no operands' rc=2 err="'x' is not expected" -- "$TAMIS" plan -n 1000 x
textbook() { # NAME REGEX OPTIONS...
    local name=$1 regex=$2
    shift 2
    truth "$name" bash -c '"$TAMIS" plan "$@" | grep -Eq "'"$regex"'"' - "$@"
}
textbook 'the classic formula' '^textbook: m = 9,585,059 bits \(1.14 MiB\), k = 7, p = 1 %' -n 1M -p 1%
textbook '100 million keys' '\(114 MiB\), k = 7' -n 100M -p 0.01
textbook 'k at 10 %' 'k = 3,' -n 1000 -p 0.1
textbook 'ten bits per key' 'k = 7, p = 0.819 %' -n 1000000 -M 1250000
textbook 'the bound' 'at least 6.64 bits/key' -n 1M -p 1%
textbook 'how to build it' 'tamis build -k [a-z]+ -p 0.01 .*-o FILE' -n 1M -p 1%

"$TAMIS" plan -n 1M -p 1% --json >p.json
json 'JSON' p.json
has 'json' p.json n fpr choice why families kind bits_per_key bytes hashes fpr fpr_at_half fpr_at_double cache_lines remove grow merge
truth 'json: n' test "$(field n <p.json)" = 1000000
truth 'json: fpr' test "$(field fpr <p.json)" = 0.01
truth 'json: all kinds' test "$(grep -c '"kind"' p.json)" -eq 8
truth 'json: the rate holds' awk -F '[:,]' '/"fpr"/ && $2 > 0.01 { exit 1 }' p.json
choice() { # NAME KIND OPTIONS...
    local name=$1 kind=$2 got
    shift 2
    got=$("$TAMIS" plan --json "$@" | field choice)
    verdict "choice: $name" "$([[ $got =~ ^($kind)$ ]] || echo "'$got'")"
}
choice 'static' 'fuse|ribbon|xor' -n 1M -p 1% --need static
choice 'delete, an alias of remove' 'cuckoo|counting' -n 1M -p 1% --need delete
choice 'remove' 'cuckoo|counting' -n 1M -p 1% --need remove
choice 'grow' growing -n 1M -p 1% --need grow
choice 'merge' 'block|bloom' -n 1M -p 1% --need merge
choice 'delete and merge' counting -n 1M -p 1% --need remove --need merge
# Without --need plan chooses what build makes; with --need add, what build -n makes.
seq 1000 >thousand
for p in 20% 1% 1e-4 1e-9 2.4e-10 1e-10 1e-15; do
    planned=$("$TAMIS" plan --json -n 1000 -p $p | field choice)
    "$TAMIS" build -q -f -p $p -o agree.tamis thousand
    truth "plan and build agree at $p" test "$("$TAMIS" info --json agree.tamis | field kind)" = "$planned"
    "$TAMIS" plan -n 1000 -p $p | sed -n 's/^build it  tamis \(.*\) -o .*/\1/p' >command
    truth "the command that plan prints makes the same, at $p" bash -c 'read -ra words <command && "$TAMIS" "${words[@]}" -q -f -o line.tamis thousand &&
        "$TAMIS" info line.tamis | grep -q "kind  *'"$planned"'"'
    planned=$("$TAMIS" plan --json -n 1000 -p $p --need add | field choice)
    "$TAMIS" build -q -f -n 1000 -p $p -o agree.tamis thousand
    truth "plan --need add and build -n agree at $p" test "$("$TAMIS" info --json agree.tamis | field kind)" = "$planned"
done
textbook 'needs that change the choice' '^otherwise --need add: block, remove: cuckoo, grow: growing, merge: block$' -n 1M -p 1%
check 'needs that no kind supports' rc=2 out='*' err='static' -- "$TAMIS" plan -n 1M -p 1% --need static --need remove
check 'an unknown need' rc=2 err="--need: unknown value 'remov'; did you mean 'remove'" -- "$TAMIS" plan -n 1M --need remov
check 'an empty need' rc=2 err="--need: unknown value 'x': it must be add, remove, grow, merge or static$" -- "$TAMIS" plan -n 1M --need x
check 'n = 0' out='*' -- "$TAMIS" plan -n 0 -p 1%
check 'n = 1' out='*' -- "$TAMIS" plan -n 1 -p 1%
truth 'a size' bash -c '"$TAMIS" plan -n 1M -M 2Mi --need static --json | awk -F "[:,]" "/\"bytes\"/ { n++; if (\$2 > 2097152) exit 1 } END { exit n < 7 }"'
truth 'the printed command keeps to the size' bash -c '
    eval "$("$TAMIS" plan -n 10000 -M 16Ki --need static | sed -n "s/^build it *tamis/\"\$TAMIS\"/p" | sed "s/FILE.tamis KEYS.txt/sized.tamis -q/")" < <(seq 10000)
    [ "$(stat -c %s sized.tamis)" -le 16384 ]'
choice 'delete in little space' counting -n 1000 -M 1K --need remove
choice 'very little space' bloom -n 1000 -M 260
truth 'the choice fits the size' bash -c '
    eval "$("$TAMIS" plan -n 1000 -M 260 | sed -n "s/^build it *tamis/\"\$TAMIS\"/p" | sed "s/FILE.tamis KEYS.txt/little.tamis -q/")" < <(seq 1000)
    [ "$(stat -c %s little.tamis)" -le 260 ]'
truth 'the choice for a tiny size fits' bash -c '
    eval "$("$TAMIS" plan -n 5000 -M 925 --need remove --need merge | sed -n "s/^build it *tamis/\"\$TAMIS\"/p" | sed "s/FILE.tamis KEYS.txt/scant.tamis -q/")" < <(seq 5000)
    [ $(wc -c <scant.tamis) -le 925 ]'
truth 'the choice for no keys fits' bash -c '
    eval "$("$TAMIS" plan -n 0 -M 3K --need grow | sed -n "s/^build it *tamis/\"\$TAMIS\"/p" | sed "s/FILE.tamis KEYS.txt/none.tamis -q/")" </dev/null
    [ $(wc -c <none.tamis) -le 3000 ]'
truth 'columns do not touch' bash -c '! "$TAMIS" plan -n 1 -M 1T | grep "counting[0-9]"'
choice 'delete at a low rate' counting -n 1M -p 1e-12 --need remove
check 'a size of nothing' rc=2 err='-M must be from 1' -- "$TAMIS" plan -n 1M -M 0
check 'a size that is too small' rc=2 out='*' err='no filter of 1,000 keys that meets the needs fits in 16 bytes' -- "$TAMIS" plan -n 1000 -M 16
truth 'a size that is too small: no other reason' bash -c '! "$TAMIS" plan -n 1000 -M 16 2>/dev/null | grep address'
check 'a rate too low for static kinds' rc=2 out='*' err='no kind that meets the needs reaches a false positive rate of 1e-12' -- "$TAMIS" plan -n 1000 -p 1e-12 --need static
truth 'json: the same reason' bash -c '"$TAMIS" plan --json -n 1000 -p 1e-30 2>/dev/null | grep -q "\"why\": \"no kind that meets"'
check 'more than can be addressed' rc=2 out='*' err='larger than this machine' -- "$TAMIS" plan -n 1e19
check 'more than can be counted in bits' out='*' -- "$TAMIS" plan -n 10 -M 4611686018427387904
check 'nothing to draw' rc=2 err='nothing to draw for 0 keys' -- "$TAMIS" plan -n 0 --svg none.svg
truth 'one key' bash -c '"$TAMIS" plan -n 1 | grep -q "^1 key at"'
check 'a size for no keys' rc=2 out='*' err='*' -- "$TAMIS" plan -n 1G -M 1Ki --need static

# numbers
number() { # TEXT VALUE
    verdict "number $1" "$(got=$("$TAMIS" plan --json -p 1% -n "$1" 2>&1 | field n 2>&1) && [ "$got" = "$2" ] || echo "'$got'")"
}
number 1000 1000; number 10K 10000; number 5M 5000000; number 2G 2000000000; number 64Ki 65536
number 1Mi 1048576; number 1Gi 1073741824; number 10k 10000; number 1.5M 1500000; number 1e6 1000000
number 1.001K 1001; number 2.018K 2018; number 0.001M 1000
number 1,000 1000; number 1,000,000 1000000; number 18,446 18446; number 1,500K 1500000; number 12,345,678,901 12345678901
number 0 0; number 007 7; number 2.5e3 2500; number 0.5K 500
for bad in '' x 10X -5 1.5 1.0001K 1.0000000000001K 1e-3 10KB nan inf 0x10 18446744073709551616 99999999999999999999999 1,00 1,0000 10,00,000 ,100 1, 1,,000 1000,000 1,000,00K 18,446,744,073,709,551,616 '1 0' 1i; do
    check "not a number: '$bad'" rc=2 err="is not a number" -- "$TAMIS" plan -p 1% "-n$bad" -n "$bad"
done
rate() { # TEXT VALUE
    verdict "rate $1" "$(got=$("$TAMIS" plan --json -n 1000 -p "$1" 2>&1 | field fpr 2>&1) && [ "$got" = "$2" ] || echo "'$got'")"
}
rate 0.01 0.01; rate 1% 0.01; rate 1e-6 1e-6; rate 1/1000 0.001; rate 0.1% 0.001; rate .5 0.5; rate 12.5% 0.125
rate 1/8 0.125; rate 1e-1% 0.001
for bad in '' 0 1 1.0 100% 2 -0.1 nan x 0% 1/0 1/1 5/2 '1 %' 1%% 0x1p-3; do
    check "not a rate: '$bad'" rc=2 err="is not a rate above 0 and below 1" -- "$TAMIS" plan -n 1000 -p "$bad"
done

# plots
"$TAMIS" plan -n 1M -p 1% --svg p.svg >/dev/null
if command -v python3 >/dev/null; then
    truth 'svg is XML' python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("p.svg")'
fi
truth 'svg has the bound' grep -q '>lower bound<' p.svg
# NAME COLOUR MARK, one line for each entry of the legends: a line of 26, the mark on it, the name.
legend() {
    sed -n '/class="line".*h26"/{s/.* stroke="\([^"]*\)".*/\1/;N;s/\n.* d="\([^"]*\)".*/\t\1/;N;s/\(.*\)\n.*>\([a-z ]*\)<.text>$/\2\t\1/;p}' p.svg | sort -u
}
truth 'svg: a kind has one colour and mark in both plots' test -z "$(legend | cut -f1 | uniq -d)"
truth 'svg: colours are unique' test -z "$(legend | cut -f2 | sort | uniq -d)"
truth 'svg: marks are unique, except that of the bound' test "$(legend | cut -f3 | sort | uniq -d | wc -l)" -le 1
truth 'svg: all kinds are named' test "$(legend | wc -l)" -eq 9
check 'svg to standard output' rc=2 err='--svg needs a file' -- "$TAMIS" plan -n 1M --svg -
check 'svg with an empty name' rc=2 err='--svg: the file name is empty' -- "$TAMIS" plan -n 1M --svg ''
check 'svg that cannot be written' rc=2 out='*' err="cannot write 'no/p.svg'" -- "$TAMIS" plan -n 1M -p 1% --svg no/p.svg
truth 'no plot in a pipe' test "$("$TAMIS" plan -n 1M -p 1% | grep -c 'Size by false positive rate')" -eq 0
if terminal; then
    truth 'a plot on a terminal' bash -c 'script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | grep -q "Size by false positive rate"'
    truth 'the choice is below the plot' bash -c 'script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | tail -n 1 | grep -q "tamis build -k fuse"'
    truth 'in ASCII if the locale is' bash -c 'LC_ALL=C script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | LC_ALL=C grep -c "[^ -~[:cntrl:]]" | grep -qx 0'
    truth 'curves have marks' bash -c 'TERM=xterm LC_ALL=C.UTF-8 script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | grep -q "─\*─.* bloom"'
    truth 'curves have marks without colours, too' bash -c 'NO_COLOR=1 TERM=xterm LC_ALL=C.UTF-8 script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | grep -q " ─+─ block  ─\*─ bloom  ─x─ cuckoo"'
    truth 'curves of letters in ASCII' bash -c 'LC_ALL=C NO_COLOR=1 TERM=xterm script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | grep -q " + block  \* bloom  x cuckoo"'
fi

# the command that plan -M prints makes a filter of that size
for size in 1048576 100000; do
    for need in '' '--need static' '--need grow' '--need merge --need remove'; do
        "$TAMIS" plan -n 500K -M $size $need | sed -n 's/^build it  tamis \(.*\) -o .*/\1/p' >command
        truth "-M $size $need: it fits" bash -c 'read -ra words <command && [ ${#words[@]} -ge 5 ] &&
            [ "$(seq 500000 | "$TAMIS" "${words[@]}" -q -o - | wc -c)" -le '$size' ]'
    done
done
check 'two keys at 1e-15' out='*' err='' -- bash -c '"$TAMIS" plan -n 2 -p 1e-15 | grep "^> bloom .* bytes "'
for n in 1 1M 100G; do
    truth "the table for $n fits in 80 columns" test "$("$TAMIS" plan -n $n -p 1e-4 | grep -v '^choice' | awk 'length > 80' | wc -l)" -eq 0
done
check 'columns do not touch' out='*' -- "$TAMIS" plan -n 1000 -p 1e-15
truth 'columns do not touch: however large' grep -Eq '^  counting +[0-9,]+ +[0-9.]+ MiB ' "$work/out"
