# tamis.fish - completion for fish; install in .../fish/vendor_completions.d

set -l commands plan build add remove query uniq info verify measure merge convert redis bench

complete -c tamis -n "not __fish_seen_subcommand_from $commands help" -f
for entry in \
        'plan:compare the kinds for n keys and choose one' \
        'build:make a filter of keys' \
        'add:add keys to a filter' \
        'remove:remove keys from a filter' \
        'query:print the records that may be in a filter' \
        'uniq:print each record the first time it is seen' \
        'info:tell what a filter is and how full' \
        'verify:prove that a filter misses none of its keys' \
        'measure:measure the rate of false positives' \
        'merge:join filters that are alike' \
        'convert:write a filter in another format' \
        'redis:load and query filters in a Redis server or cluster' \
        'bench:measure the kinds on this machine' \
        'help:explain a command'
    set -l part (string split -m 1 : $entry)
    complete -c tamis -n "not __fish_seen_subcommand_from $commands help" -a $part[1] -d $part[2]
end
complete -c tamis -n "__fish_seen_subcommand_from help" -f -a "$commands"
complete -c tamis -n "not __fish_seen_subcommand_from $commands help" -l version -d 'tell the version'
complete -c tamis -s h -l help -d help

# Options that several commands have.
set -l with_keys '__fish_seen_subcommand_from build add remove query uniq verify measure load'
complete -c tamis -n "$with_keys" -s 0 -l null -d 'records end with NUL'
complete -c tamis -n "$with_keys" -s d -l delimiter -x -d 'records end with this byte'
complete -c tamis -n "$with_keys" -s t -l separator -x -d 'what separates fields'
complete -c tamis -n "$with_keys" -s F -l field -x -d 'the field that is the key'
complete -c tamis -n "$with_keys" -l hex -d 'keys are in hexadecimal'
complete -c tamis -n "$with_keys" -l prehashed -d 'keys are hashes: 16 hexadecimal digits'
complete -c tamis -n "$with_keys" -l strip-cr -d 'drop a carriage return at the end'
complete -c tamis -n "$with_keys" -l fold-case -d 'take capitals as small letters'
complete -c tamis -n "$with_keys" -l as -x -a 'bytes utf16 i32 i64 u64 f32 f64' -d 'how text becomes bytes'
complete -c tamis -n "$with_keys; or __fish_seen_subcommand_from put merge convert" -l progress -d 'show progress'
complete -c tamis -n "$with_keys; or __fish_seen_subcommand_from put merge convert" -l no-progress -d 'do not show progress'
complete -c tamis -n "$with_keys; or __fish_seen_subcommand_from bench" -s j -l threads -x -d 'use at most so many threads'
complete -c tamis -n "$with_keys; or __fish_seen_subcommand_from merge convert put; or begin; __fish_seen_subcommand_from info; and not __fish_seen_subcommand_from redis; end" -l key-file -r -d 'the secret of a keyed filter'
complete -c tamis -n "__fish_seen_subcommand_from build add remove uniq verify merge convert" -s q -l quiet -d 'no summary'
set -l opens 'not __fish_seen_subcommand_from redis; and __fish_seen_subcommand_from add remove query info verify measure merge convert'
complete -c tamis -n "$opens" -l from -x -a 'tamis guava guava32 spark1 spark2 leveldb leveldb-table rocksdb rocksdb-table parquet redisbloom redisbloom-dump dcso libbloom libbloom1 xor8 xor16 fuse8 fuse16 xor8-pack xor16-pack fuse8-pack fuse16-pack seiflotfy' -d 'the format of the filter'
complete -c tamis -n "$opens" -l part -x -d 'which filter of a file that holds several'
complete -c tamis -n "__fish_seen_subcommand_from plan build uniq bench" -s p -l rate -x -a '1% 0.1% 1e-6' -d 'rate of false positives'
complete -c tamis -n "__fish_seen_subcommand_from build convert bench" -s k -l kind -x -a 'bloom block counting cuckoo xor fuse ribbon growing' -d 'kind of filter'
complete -c tamis -n "__fish_seen_subcommand_from build merge convert" -s o -l output -r -d 'where to write the filter'
complete -c tamis -n "__fish_seen_subcommand_from build merge convert" -s f -l force -d 'replace the file if it exists'
complete -c tamis -n "__fish_seen_subcommand_from build convert" -l to -x -a 'tamis guava guava32 spark1 spark2 leveldb leveldb-table rocksdb rocksdb-table parquet redisbloom redisbloom-dump dcso libbloom libbloom1 xor8 xor16 fuse8 fuse16 xor8-pack xor16-pack fuse8-pack fuse16-pack seiflotfy' -d 'the format to write'
complete -c tamis -n "__fish_seen_subcommand_from plan build" -s n -l capacity -x -d 'distinct keys'
complete -c tamis -n "__fish_seen_subcommand_from plan info measure bench" -l json -d 'as JSON'
complete -c tamis -n "__fish_seen_subcommand_from plan bench" -l svg -r -d 'draw into a file'
complete -c tamis -n "__fish_seen_subcommand_from build uniq" -l seed -x -d 'seed of the hash'
complete -c tamis -n "__fish_seen_subcommand_from query uniq" -s c -l count -d 'how many'

# The rest.
complete -c tamis -n "__fish_seen_subcommand_from plan" -s M -l size -x -d 'the best rate that fits in so many bytes'
complete -c tamis -n "__fish_seen_subcommand_from plan" -l need -x -a 'delete grow merge static' -d 'what it must be able to do'
complete -c tamis -n "__fish_seen_subcommand_from build" -l memory -x -d 'stay within so many bytes'
complete -c tamis -n "__fish_seen_subcommand_from query" -s v -l invert -d 'records that certainly are not in it'
complete -c tamis -n "__fish_seen_subcommand_from query" -s q -l quiet -d 'only the exit code'
complete -c tamis -n "__fish_seen_subcommand_from query" -s n -l line-number -d 'with numbers'
complete -c tamis -n "__fish_seen_subcommand_from query; and not __fish_seen_subcommand_from redis" -s l -l which -d 'with the name of the filter'
complete -c tamis -n "__fish_seen_subcommand_from query; and not __fish_seen_subcommand_from redis" -l also -r -d 'ask this filter too'
complete -c tamis -n "__fish_seen_subcommand_from uniq" -l repeated -d 'records that are seen again'
complete -c tamis -n "__fish_seen_subcommand_from uniq" -l save -r -d 'keep what was seen'
complete -c tamis -n "__fish_seen_subcommand_from measure" -l samples -x -d 'keys to make up'
complete -c tamis -n "__fish_seen_subcommand_from merge" -l and -d 'keys that are in all'
complete -c tamis -n "__fish_seen_subcommand_from bench" -s n -l keys -x -d 'number of keys'

# Filters in Redis: a verb, then its options.
set -l verbs reserve load put query info drop
set -l redis '__fish_seen_subcommand_from redis'
complete -c tamis -n "$redis; and not __fish_seen_subcommand_from $verbs" -f -a "$verbs"
complete -c tamis -n "$redis" -s s -l server -x -d 'a server, or nodes of a cluster'
complete -c tamis -n "$redis" -l user -x -d 'log in as'
complete -c tamis -n "$redis" -l patience -x -d 'go on trying for so many seconds'
complete -c tamis -n "$redis" -l tls -d 'speak TLS'
complete -c tamis -n "$redis" -l cacert -r -d 'trust what this certificate has signed'
complete -c tamis -n "$redis" -l cert -r -d 'the certificate to show'
complete -c tamis -n "$redis" -l key -r -d 'its private key'
complete -c tamis -n "$redis; and __fish_seen_subcommand_from reserve load put" -l replicas -x -d 'a key is written when so many replicas have it'
complete -c tamis -n "$redis; and __fish_seen_subcommand_from reserve" -l shards -x -d 'spread it over so many keys'
complete -c tamis -n "$redis; and __fish_seen_subcommand_from reserve" -s n -l capacity -x -d 'distinct keys'
complete -c tamis -n "$redis; and __fish_seen_subcommand_from reserve" -s p -l rate -x -a '1% 0.1% 1e-6' -d 'rate of false positives'
complete -c tamis -n "$redis; and __fish_seen_subcommand_from reserve" -s k -l kind -x -a 'bloom cuckoo' -d 'kind of filter'
complete -c tamis -n "$redis; and __fish_seen_subcommand_from reserve load put" -s q -l quiet -d 'no summary'
