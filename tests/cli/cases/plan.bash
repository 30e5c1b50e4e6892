# plan and the numbers
check 'needs -n' rc=2 err='-n N is missing' -- "$TAMIS" plan -p 1%
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
textbook 'ten bits a key' 'k = 7, p = 0.819 %' -n 1000000 -M 1250000
textbook 'the bound' 'less than 6.64 bits/key' -n 1M -p 1%
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
choice 'delete' 'cuckoo|counting' -n 1M -p 1% --need delete
choice 'grow' growing -n 1M -p 1% --need grow
choice 'merge' 'block|bloom' -n 1M -p 1% --need merge
choice 'delete and merge' counting -n 1M -p 1% --need delete --need merge
check 'needs that no kind has' rc=2 out='*' err='static' -- "$TAMIS" plan -n 1M -p 1% --need static --need delete
check 'an unknown need' rc=2 err="'delet' is not one of .*did you mean 'delete'" -- "$TAMIS" plan -n 1M --need delet
check 'n = 0' out='*' -- "$TAMIS" plan -n 0 -p 1%
check 'n = 1' out='*' -- "$TAMIS" plan -n 1 -p 1%
truth 'a size' bash -c '"$TAMIS" plan -n 1M -M 2Mi --need static --json | awk -F "[:,]" "/\"bytes\"/ { n++; if (\$2 > 2097152) exit 1 } END { exit n < 7 }"'
truth 'the command that it prints keeps to the size' bash -c '
    eval "$("$TAMIS" plan -n 10000 -M 16Ki --need static | sed -n "s/^build it *tamis/\"\$TAMIS\"/p" | sed "s/FILE.tamis KEYS.txt/sized.tamis -q/")" < <(seq 10000)
    [ "$(stat -c %s sized.tamis)" -le 16384 ]'
choice 'delete in little space' counting -n 1000 -M 1K --need delete
choice 'very little space' bloom -n 1000 -M 260
truth 'what is chosen for it fits' bash -c '
    eval "$("$TAMIS" plan -n 1000 -M 260 | sed -n "s/^build it *tamis/\"\$TAMIS\"/p" | sed "s/FILE.tamis KEYS.txt/little.tamis -q/")" < <(seq 1000)
    [ "$(stat -c %s little.tamis)" -le 260 ]'
truth 'a filter for hardly any space fits, too' bash -c '
    eval "$("$TAMIS" plan -n 5000 -M 925 --need delete --need merge | sed -n "s/^build it *tamis/\"\$TAMIS\"/p" | sed "s/FILE.tamis KEYS.txt/scant.tamis -q/")" < <(seq 5000)
    [ $(wc -c <scant.tamis) -le 925 ]'
truth 'a filter of no keys as well' bash -c '
    eval "$("$TAMIS" plan -n 0 -M 3K --need grow | sed -n "s/^build it *tamis/\"\$TAMIS\"/p" | sed "s/FILE.tamis KEYS.txt/none.tamis -q/")" </dev/null
    [ $(wc -c <none.tamis) -le 3000 ]'
truth 'columns do not touch' bash -c '! "$TAMIS" plan -n 1 -M 1T | grep "counting[0-9]"'
choice 'delete at a low rate' counting -n 1M -p 1e-12 --need delete
check 'a size of nothing' rc=2 err='-M must be from 1' -- "$TAMIS" plan -n 1M -M 0
check 'a size that is too small' rc=2 out='*' err='no block filter of 1,000 keys fits in 16 bytes' -- "$TAMIS" plan -n 1000 -M 16
truth 'a size that is too small: no other reason' bash -c '! "$TAMIS" plan -n 1000 -M 16 2>/dev/null | grep address'
check 'a rate that no static kind has' rc=2 out='*' err='no kind that can do what is needed reaches a rate of 1e-12' -- "$TAMIS" plan -n 1000 -p 1e-12 --need static
truth 'json: the same reason' bash -c '"$TAMIS" plan --json -n 1000 -p 1e-30 2>/dev/null | grep -q "\"why\": \"no kind that can"'
check 'more than can be addressed' rc=2 out='*' err='larger than this machine' -- "$TAMIS" plan -n 1e19
check 'more than can be counted in bits' out='*' -- "$TAMIS" plan -n 10 -M 4611686018427387904
check 'nothing to draw' rc=2 err='nothing to draw for 0 keys' -- "$TAMIS" plan -n 0 --svg none.svg
truth 'one key' bash -c '"$TAMIS" plan -n 1 | grep -q "^1 key at"'
check 'a size for nothing' rc=2 out='*' err='*' -- "$TAMIS" plan -n 1G -M 1Ki --need static

# numbers
number() { # TEXT VALUE
    verdict "number $1" "$(got=$("$TAMIS" plan --json -p 1% -n "$1" 2>&1 | field n 2>&1) && [ "$got" = "$2" ] || echo "'$got'")"
}
number 1000 1000; number 10K 10000; number 5M 5000000; number 2G 2000000000; number 64Ki 65536
number 1Mi 1048576; number 1Gi 1073741824; number 10k 10000; number 1.5M 1500000; number 1e6 1000000
number 1.001K 1001; number 2.018K 2018; number 0.001M 1000
number 0 0; number 007 7; number 2.5e3 2500; number 0.5K 500
for bad in '' x 10X -5 1.5 1.0001K 1.0000000000001K 1e-3 10KB nan inf 0x10 18446744073709551616 99999999999999999999999 1,000 '1 0' 1i; do
    check "no number: '$bad'" rc=2 err="is not a number" -- "$TAMIS" plan -p 1% "-n$bad" -n "$bad"
done
rate() { # TEXT VALUE
    verdict "rate $1" "$(got=$("$TAMIS" plan --json -n 1000 -p "$1" 2>&1 | field fpr 2>&1) && [ "$got" = "$2" ] || echo "'$got'")"
}
rate 0.01 0.01; rate 1% 0.01; rate 1e-6 1e-6; rate 1/1000 0.001; rate 0.1% 0.001; rate .5 0.5; rate 12.5% 0.125
rate 1/8 0.125; rate 1e-1% 0.001
for bad in '' 0 1 1.0 100% 2 -0.1 nan x 0% 1/0 1/1 5/2 '1 %' 1%% 0x1p-3; do
    check "no rate: '$bad'" rc=2 err="is not a rate above 0 and below 1" -- "$TAMIS" plan -n 1000 -p "$bad"
done

# drawings
"$TAMIS" plan -n 1M -p 1% --svg p.svg >/dev/null
if command -v python3 >/dev/null; then
    truth 'svg is XML' python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("p.svg")'
fi
truth 'svg has the bound' grep -q '>bound<' p.svg
legend() { sed -n 's/.*<line x1.*stroke="\(#[0-9a-f]*\)".*">\([a-z]*\)<.text>$/\2 \1/p' p.svg | sort -u; }
truth 'svg: a kind has one colour in both drawings' test -z "$(legend | cut -d' ' -f1 | uniq -d)"
truth 'svg: and no other has it' test -z "$(legend | cut -d' ' -f2 | sort | uniq -d)"
truth 'svg: all kinds are named' test "$(legend | wc -l)" -eq 9
check 'svg to standard output' rc=2 err='--svg needs a file' -- "$TAMIS" plan -n 1M --svg -
check 'svg to no name' rc=2 err='--svg: the name of the file is empty' -- "$TAMIS" plan -n 1M --svg ''
check 'svg that cannot be written' rc=2 out='*' err="cannot write 'no/p.svg'" -- "$TAMIS" plan -n 1M -p 1% --svg no/p.svg
truth 'no drawing in a pipe' test "$("$TAMIS" plan -n 1M -p 1% | grep -c 'Size against rate')" -eq 0
if terminal; then
    truth 'a drawing on a terminal' bash -c 'script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | grep -q "Size against rate"'
    truth 'the answer stands below it' bash -c 'script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | tail -n 1 | grep -q "tamis build -k block"'
    truth 'in ASCII if the locale is' bash -c 'LC_ALL=C script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | LC_ALL=C grep -c "[^ -~[:cntrl:]]" | grep -qx 0'
    truth 'curves in colours' bash -c 'TERM=xterm script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | grep -q "──.*bloom"'
    truth 'curves in letters where there are none' bash -c 'NO_COLOR=1 TERM=xterm script -qec "\"$TAMIS\" plan -n 1M -p 1%" /dev/null | grep -q "  \* bloom  + block  o cuckoo"'
fi

# what -M promises is what the command makes
for size in 1048576 100000; do
    for need in '' '--need static' '--need grow' '--need merge --need delete'; do
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
