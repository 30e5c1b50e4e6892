# help, names, and the parser
all='plan build add remove query uniq info verify measure merge convert redis bench'
check 'no command' rc=2 err='*' -- "$TAMIS"
check '--help' out='*' err='' -- "$TAMIS" --help
cp "$work/out" help
for command in $all; do
    truth "--help lists $command" grep -q "^  $command " help
    check "$command --help" out='*' err='' -- "$TAMIS" $command --help
    cp "$work/out" $command
    truth "$command --help begins with its usage" grep -q "^Usage: tamis $command " $command
    truth "$command --help has examples" grep -q "^  .*tamis $command" $command
    check "$command -h is the same" out='*' -- "$TAMIS" $command -h
    same "$command -h is the same" "$work/out" $command
    check "help $command is the same" out='*' -- "$TAMIS" help $command
    same "help $command is the same" "$work/out" $command
    truth "$command --help has exit codes" grep -q '^  0  ' $command
    truth "$command --help fits in 80 columns" test "$(awk 'length > 79' $command | wc -l)" -eq 0
    check "$command: an unknown option" rc=2 err="^tamis: $command: unknown option --frobnicate; 'tamis $command --help' lists the options$" -- "$TAMIS" $command --frobnicate
    check "$command: an unknown letter" rc=2 err="^tamis: $command: unknown option -Z; 'tamis $command --help' lists the options$" -- "$TAMIS" $command -Z
done
for verb in reserve load put query info drop; do
    check "redis $verb --help" out='*' err='' -- "$TAMIS" redis $verb --help
    cp "$work/out" "redis-$verb"
    truth "redis $verb --help begins with its usage" grep -q "^Usage: tamis redis $verb " "redis-$verb"
    truth "redis $verb --help fits in 80 columns" test "$(awk 'length > 79' "redis-$verb" | wc -l)" -eq 0
    check "help redis $verb" out='*' err='' -- "$TAMIS" help redis $verb
    same "help redis $verb is the same" "$work/out" "redis-$verb"
    check "redis $verb: an unknown option" rc=2 err="^tamis: redis $verb: unknown option --frobnicate; 'tamis redis $verb --help' lists the options$" -- "$TAMIS" redis $verb --frobnicate
done
check 'redis without a verb' rc=2 err='^tamis: redis: missing COMMAND; --help lists the commands$' -- "$TAMIS" redis
check 'redis with an unknown verb' rc=2 err="^tamis: redis: unknown command 'laod'; did you mean 'load'\?$" -- "$TAMIS" redis laod
truth 'help fits in 80 columns' test "$(awk 'length > 79' help | wc -l)" -eq 0
same 'help matches the golden file' help "$here/golden/help.txt"
same 'query --help matches the golden file' query "$here/golden/help-query.txt"
same 'redis --help matches the golden file' redis "$here/golden/help-redis.txt"
same 'redis load --help matches the golden file' redis-load "$here/golden/help-redis-load.txt"
truth '--help begins with a description' grep -q '^tamis: Bloom, .*cuckoo' help
truth '--help hides --generate' test "$(grep -c generate help)" -eq 0
for kind in bloom block counting cuckoo xor fuse ribbon growing; do
    truth "build --help names $kind" grep -qw $kind build
done
for word in '' nonsense man 'man tamis-nonsense'; do
    check "--generate $word" rc=2 err='generate' -- "$TAMIS" --generate $word
done
check 'an option of redis-cli' rc=2 err='^tamis: redis put: unknown option -p; the server is given by -s HOST:PORT$' -- "$TAMIS" redis put -p 6379 name f.tamis
check 'hashes for Redis' rc=2 err='^tamis: redis load: unknown option --prehashed; a filter in Redis hashes its keys itself$' -- "$TAMIS" redis load --prehashed name
check 'help' out='*' -- "$TAMIS" help
same 'help is --help' "$work/out" help
check '--version' out='*' -- "$TAMIS" --version
truth '--version is a version' grep -Eq '^tamis [0-9]+\.[0-9]+\.[0-9]+$' "$work/out"
check 'an unknown command' rc=2 err="^tamis: unknown command 'biuld'; did you mean 'build'\?$" -- "$TAMIS" biuld
check 'a command without a similar name' rc=2 err="^tamis: unknown command 'xyzzy'; --help lists the commands$" -- "$TAMIS" xyzzy
check 'a command of other tools' rc=2 err="^tamis: unknown command 'check'; did you mean 'query'\?$" -- "$TAMIS" check f.tamis
check 'a letter of other tools' rc=2 err="^tamis: query: unknown option -i; did you mean '--fold-case'\?$" -- "$TAMIS" query -vi f.tamis
check 'a letter of other tools without an equivalent' rc=2 err="^tamis: plan: unknown option -z; 'tamis plan --help' lists the options$" -- "$TAMIS" plan -z
check 'an option in place of the command' rc=2 err="^tamis: unknown option --vers; did you mean '--version'\?$" -- "$TAMIS" --vers
for words in --help --version 'help build' 'build --help' 'query -h'; do
    check "$words on a full disk" rc=2 err='cannot write to standard output: No space left' -- bash -c '"$TAMIS" $1 >/dev/full' - "$words"
done
check 'help for an unknown command' rc=2 err="did you mean 'query'" -- "$TAMIS" help qurey
check '--help takes precedence over errors' out='*' -- "$TAMIS" build --help --nonsense

printf 'a\n' | build f.tamis
check 'did you mean' rc=2 err="unknown option --invrt; did you mean '--invert'\?" -- "$TAMIS" query --invrt f.tamis
check 'did you mean, by prefix' rc=2 err="did you mean '--line-number'" -- "$TAMIS" query --line f.tamis
check 'a missing value' rc=2 err='build: missing FILE after -o$' -- "$TAMIS" build -o
check 'a missing value of a long option' rc=2 err='build: missing N after --seed$' -- "$TAMIS" build --seed
check 'a value for a flag' rc=2 err='build: --hex has no value$' -- "$TAMIS" build --hex=1 -o g.tamis
check '--name=value' in='a\n' err='*' -- "$TAMIS" build --output=g.tamis --fpr=0.5
check '-xVALUE' in='a\n' err='*' -- "$TAMIS" build -fog.tamis -p0.5
check 'an empty value' rc=2 err='*' in='a\n' -- "$TAMIS" build -f --output=
check 'the last value applies' in='a\n' err='bloom' -- "$TAMIS" build -f -o g.tamis -k fuse -k bloom
check '-j 0 is all cores' in='a\n' out='a\n' -- "$TAMIS" query -j 0 f.tamis
check '-j too many' rc=2 err='-j must be from 0 to 1024' -- "$TAMIS" query -j 5000 f.tamis
check '-j of nothing' rc=2 err="-j: 'x' is not a number" -- "$TAMIS" query -j x f.tamis
check '--seed of nothing' rc=2 err="--seed: '-1' is not a number" -- "$TAMIS" build -f -o g.tamis --seed -1
check 'help for an unknown verb' rc=2 err="unknown command 'laod'" -- "$TAMIS" help redis laod
check 'help and more words' out='*' -- bash -c 'cmp <("$TAMIS" help build xyz) <("$TAMIS" build --help)'
check 'help --help' out='*' -- bash -c 'cmp <("$TAMIS" help --help) <("$TAMIS" --help)'
check 'help help' out='*' -- bash -c 'cmp <("$TAMIS" help help) <("$TAMIS" help)'
