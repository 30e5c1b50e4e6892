# tamis.bash - completion for bash; install as .../bash-completion/completions/tamis

_tamis() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local commands='plan build add remove query uniq info verify measure merge convert redis bench'
    local verbs='reserve load put query info drop'
    local keys='-0 --null -d --delimiter -t --separator -F --field --hex --prehashed --strip-cr
        --fold-case --as --key-file'
    local running='-j --threads --progress --no-progress'
    local server='-s --server --user --patience --tls --cacert --cert --key'
    local options values=''

    # --kind=cu is three words to bash.
    if [ "$current" = = ]; then
        current=''
    elif [ "$previous" = = ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands help --help --version" -- "$current")
        return
    fi
    local command=${COMP_WORDS[1]}
    if [ "$command" = redis ]; then
        if [ "$COMP_CWORD" -eq 2 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$verbs -h --help" -- "$current")
            return
        fi
        command="redis ${COMP_WORDS[2]}"
    fi
    case $command in
        plan) options='-n --capacity -p --rate -M --size --need --json --svg' ;;
        build) options="-o --output -f --force -k --kind --to -p --rate -n --capacity --memory
            --seed -q --quiet $keys $running" ;;
        add | remove | verify) options="--from --part -q --quiet $keys $running" ;;
        query) options="-v --invert -c --count -q --quiet -n --line-number -l --which --also --from --part
            $keys $running" ;;
        uniq) options="-p --rate --repeated -c --count --save --seed -q --quiet $keys $running" ;;
        info) options='--json --from --part --key-file' ;;
        measure) options="--samples --json --from --part $keys $running" ;;
        merge) options='-o --output -f --force --and --from --part --key-file -q --quiet --progress --no-progress' ;;
        convert) options='--to --from --part -o --output -f --force -k --kind --key-file -q --quiet --progress --no-progress' ;;
        'redis reserve') options="-n --capacity -p --rate -k --kind --shards --replicas -q --quiet $server" ;;
        'redis load') options="--replicas -q --quiet $keys $server $running" ;;
        'redis put') options="--key-file --replicas -q --quiet --progress --no-progress $server" ;;
        'redis query') options="-v --invert -c --count -q --quiet -n --line-number $keys $server $running" ;;
        'redis info') options="--json $server" ;;
        'redis drop') options="$server" ;;
        bench) options='-n --keys -p --rate -k --kind -j --threads --json --svg' ;;
        help)
            mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
            return
            ;;
        *) return ;;
    esac

    case $previous in
        -k | --kind)
            values='bloom block counting cuckoo xor fuse ribbon growing'
            [[ $command != redis* ]] || values='bloom cuckoo'
            ;;
        --as) values='bytes utf16 i32 i64 u64 f32 f64' ;;
        --need) values='delete grow merge static' ;;
        --to | --from)
            values='tamis guava guava32 spark1 spark2 leveldb leveldb-table rocksdb rocksdb-table parquet redisbloom redisbloom-dump dcso libbloom libbloom1 xor8 xor16 fuse8 fuse16 xor8-pack xor16-pack fuse8-pack fuse16-pack seiflotfy'
            ;;
        -p | --rate) values='1% 0.1% 1e-6' ;;
        -d | --delimiter | -t | --separator | -F | --field | -j | --threads | --seed | --memory | \
            --samples | -M | --size | --capacity | --keys | -s | --server | --user | --patience | \
            --replicas | --shards)
            return
            ;;
        -n)
            # A flag of query, a number elsewhere.
            [[ $command == *query ]] || return
            ;;
    esac
    if [ -n "$values" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    elif [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options -h --help" -- "$current")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}
complete -F _tamis tamis
