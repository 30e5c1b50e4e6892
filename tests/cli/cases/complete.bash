# the completions offer every option of --help, and no other; shells that are missing are named
# (house/generated compares the scripts and man pages with the definitions)
root=$here/../..
shells=''
for shell in zsh fish mandoc; do
    if command -v $shell >/dev/null; then shells="$shells $shell"; else echo "complete: $shell is not installed: its checks are skipped"; fi
done
has_shell() { [[ " $shells " == *" $1 "* ]]; }

PATH=$(dirname "$TAMIS"):$PATH # the scripts call the command that is on the line

# zsh_offers WORDS...: the candidates, as "name:description"; :files PREFIX for files.
zsh_offers() {
    zsh -f -c '_describe() { print -rl -- ${(P)2}; }
        compset() { prefix=$2; }
        _files() { print -r -- ":files $prefix"; }
        script=$1; shift; words=("$@") CURRENT=$#; set --; source $script' - "$root/completions/_tamis" "$@"
}

for command in plan build add remove query uniq info verify measure merge convert bench \
    'redis reserve' 'redis load' 'redis put' 'redis query' 'redis info' 'redis drop'; do
    "$TAMIS" $command --help | grep -Eo '^  (-., |    )--[a-z-]+' | grep -Eo -- '--[a-z-]+' | sort -u >listed
    "$TAMIS" $command --help | grep -Eo '^  -[^-]' | tr -d ' ' | sort -u >letters

    # shellcheck disable=SC1091
    (source "$root/completions/tamis.bash"
     COMP_WORDS=(tamis $command -)
     COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
     compopt() { :; }
     _tamis
     printf '%s\n' "${COMPREPLY[@]}") >offered
    grep -- '^--' offered | grep -vx -- --help | sort -u >long
    same "bash: long options of $command" listed long
    grep -v -- '^--' offered | grep -vx -- -h | sort -u >short
    same "bash: letters of $command" letters short

    if has_shell fish; then
        fish -c "source '$root/completions/tamis.fish'; complete -C 'tamis $command --'" |
            cut -f 1 | grep -vx -- --help | sort -u >long
        same "fish: long options of $command" listed long
    fi
    if has_shell zsh; then
        zsh_offers tamis $command - | cut -d : -f 1 >offered
        grep -- '^--' offered | grep -vx -- --help | sort -u >long
        same "zsh: long options of $command" listed long
        grep -v -- '^--' offered | grep -vx -- -h | sort -u >short
        same "zsh: letters of $command" letters short
    fi
done
if has_shell mandoc; then
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
offers 'a kind in the word' '-kcuckoo' tamis build -kcu
offers 'needs behind =' 'add remove grow merge static' tamis plan --need =
offers 'a type' 'i32 i64' tamis query --as i
offers 'a format' 'guava guava32' tamis convert --to gu
offers 'a need' 'static' tamis plan --need s
offers 'an option' '--prehashed --progress' tamis query --pr
offers 'help' 'query' tamis help q
offers 'help for a verb' 'load' tamis help redis l
touch some.txt
offers 'files' 'some.txt' tamis query some.tx
offers 'a file for an option' 'some.txt' tamis plan --svg some.tx
offers 'no files for plan' '' tamis plan some.tx
offers 'files again' 'some.txt' tamis query some.tx
offers 'a file in the word of an option' '-osome.txt' tamis build -osome.tx
offers 'files behind --' 'some.txt' tamis query -- -k some.tx
offers 'no options behind --' '' tamis query -- -
offers 'nothing for a number' '' tamis build -n ''
offers 'a flag of that letter' 'some.txt' tamis query -n some.tx
if has_shell fish; then
    fish_offers() { fish -c "source '$root/completions/tamis.fish'; complete -C '$1'" | cut -f 1 | paste -sd' '; }
    fish_gives() { verdict "$1" "$([ "$(fish_offers "$2")" = "$3" ] || fish_offers "$2")"; }
    fish_gives 'fish offers a kind' 'tamis build -k fu' fuse
    fish_gives 'fish offers a command' 'tamis mea' measure
    fish_gives 'fish offers a verb' 'tamis redis re' reserve
    fish_gives 'fish offers a choice' 'tamis plan --need ' 'add grow merge remove static'
    fish_gives 'fish offers a kind behind =' 'tamis build --kind=fu' --kind=fuse
    fish_gives 'fish offers files' 'tamis query so' some.txt
    fish_gives 'fish offers a file for an option' 'tamis build --output=so' --output=some.txt
    fish_gives 'fish offers no files for plan' 'tamis plan so' ''
    truth 'fish describes' test -n "$(fish -c "source '$root/completions/tamis.fish'; complete -C 'tamis build -k fu'" | grep -P 'fuse\tbinary fuse filter')"
fi
if has_shell zsh; then
    zsh_gives() { # NAME WANT WORDS...
        verdict "$1" "$([ "$(zsh_offers "${@:3}" | paste -sd' ')" = "$2" ] || zsh_offers "${@:3}")"
    }
    zsh_gives 'zsh offers choices' 'bloom: cuckoo:' tamis redis reserve -k ''
    zsh_gives 'zsh offers files' ':files ' tamis query ''
    zsh_gives 'zsh offers a file for an option' ':files --output=' tamis build --output=
    zsh_gives 'zsh offers nothing for a number' '' tamis build -n ''
    truth 'zsh describes' test -n "$(zsh_offers tamis build -k '' | grep '^fuse:binary fuse filter')"
fi
unset -f compopt
