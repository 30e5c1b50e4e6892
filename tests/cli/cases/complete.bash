# completions and man pages know every option that --help tells of, and no other
root=$here/../..
for command in plan build add remove query uniq info verify measure merge convert bench \
    'redis reserve' 'redis load' 'redis put' 'redis query' 'redis info' 'redis drop'; do
    "$TAMIS" $command --help | grep -Eo '^  (-., |    )--[a-z-]+' | grep -Eo -- '--[a-z-]+' | sort -u >told
    "$TAMIS" $command --help | grep -Eo '^  -[^-]' | tr -d ' ' | sort -u >letters

    # shellcheck disable=SC1091
    (source "$root/completions/tamis.bash"
     COMP_WORDS=(tamis $command -)
     COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
     compopt() { :; }
     _tamis
     printf '%s\n' "${COMPREPLY[@]}") >offered
    grep -- '^--' offered | grep -vx -- --help | sort -u >long
    same "bash: long options of $command" told long
    grep -v -- '^--' offered | grep -vx -- -h | sort -u >short
    same "bash: letters of $command" letters short

    if command -v fish >/dev/null; then
        fish -c "source '$root/completions/tamis.fish'; complete -C 'tamis $command --'" |
            cut -f 1 | grep -vx -- --help | sort -u >long
        same "fish: long options of $command" told long
    fi

    page=$root/doc/man/tamis-${command%% *}.1
    while read -r option; do
        truth "man page of $command has $option" grep -Eq "Fl -${option#--}( |$)" "$page" "$root/doc/man/tamis.1"
        truth "zsh has $option of $command" grep -Eq -- "(^|['{,*])$option=?['\[,}]" "$root/completions/_tamis"
        truth "fish has $option of $command" grep -Eq -- "-l ${option#--} " "$root/completions/tamis.fish"
    done <told
done
# commands and verbs, as --help tells of them
listed() { grep -E '^  [a-z]+ +[a-z]' | awk '{print $1}' | sort; } # < help
zsh_list() { sed -n "/^    $1=(/,/^    )/s/^ *'\([a-z]*\):.*/\1/p" "$root/completions/_tamis" | sort; }
"$TAMIS" --help | sed -n '/^Commands/,/^Examples/p' | listed >told
zsh_list commands | grep -vx help >offered
same 'zsh: commands' told offered
"$TAMIS" redis --help | sed '/^Examples/,$d' | listed >told
zsh_list verbs >offered
same 'zsh: verbs' told offered
if command -v mandoc >/dev/null; then
    for page in "$root"/doc/man/*.1; do
        truth "$(basename "$page") is clean" test -z "$(cd "$root/doc/man" && mandoc -T lint "${page##*/}" 2>&1 |
            grep -v -e 'outdated mandoc.db' -e 'referenced manual not found')"
    done
fi

# what bash offers
# shellcheck disable=SC1091
source "$root/completions/tamis.bash"
compopt() { :; }
offers() { # NAME WANT WORDS...
    local name=$1 want=$2
    shift 2
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _tamis
    verdict "$name" "$([ "${COMPREPLY[*]}" = "$want" ] || echo "${COMPREPLY[*]}")"
}
offers 'a command' 'build' tamis bu
offers 'all commands' 'plan build add remove query uniq info verify measure merge convert redis bench help --help --version' tamis ''
offers 'a verb' 'reserve' tamis redis r
offers 'an option of a verb' '--shards' tamis redis reserve --sh
offers 'a kind' 'cuckoo' tamis build -k cu
offers 'a kind of a server' 'bloom cuckoo' tamis redis reserve -k ''
offers 'a kind behind =' 'cuckoo' tamis build --kind = cu
offers 'needs behind =' 'delete grow merge static' tamis plan --need =
offers 'a type' 'i32 i64' tamis query --as i
offers 'a need' 'static' tamis plan --need s
offers 'an option' '--prehashed --progress' tamis query --pr
touch some.tamis some.txt
offers 'files' 'some.txt' tamis query some.tx
offers 'nothing for a number' '' tamis build -n ''
if command -v zsh >/dev/null; then truth 'zsh reads it' zsh -n "$root/completions/_tamis"; fi
if command -v fish >/dev/null; then
    truth 'fish reads it' fish -n "$root/completions/tamis.fish"
    truth 'fish offers a kind' bash -c 'fish -c "source '"$root"'/completions/tamis.fish; complete -C \"tamis build -k fu\"" | grep -q fuse'
    truth 'fish offers a command' bash -c 'fish -c "source '"$root"'/completions/tamis.fish; complete -C \"tamis me\"" | grep -q merge'
fi
unset -f compopt
