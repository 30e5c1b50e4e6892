# check.bash - the functions of the cases
#
#     check NAME [rc=N] [out=TEXT] [err=REGEX] [in=TEXT] -- COMMAND...
#
# Runs the command with the text (printf escapes) on its standard input, or with nothing, and
# compares: its exit code (0), its standard output (TEXT has printf escapes; out=* is anything),
# its standard error (an extended regular expression; '' is nothing at all, '*' anything).
# A run that exits with 2 must print one sentence that begins with "tamis: ".

check() {
    local name=$1 rc=0 out='' err='' in='' has_err=0 word
    shift
    while [ "$1" != -- ]; do
        word=$1
        case $word in
            rc=*) rc=${word#rc=} ;;
            out=*) out=${word#out=} ;;
            err=*) err=${word#err=} has_err=1 ;;
            in=*) in=${word#in=} ;;
            *) echo "bad check: $word" >&2; exit 2 ;;
        esac
        shift
    done
    shift
    # A run that ends in an error does not free its memory: that is not a leak.
    local leaks=1
    [ "$rc" -ne 2 ] || leaks=0
    # shellcheck disable=SC2059
    printf -- "$in" | ASAN_OPTIONS="detect_leaks=$leaks:${ASAN_OPTIONS-}" "$@" >"$work/out" 2>"$work/err"
    local got=${PIPESTATUS[1]} why=''
    [ "$got" -eq "$rc" ] || why="exit code $got instead of $rc"
    if [ "$out" != '*' ]; then
        # shellcheck disable=SC2059
        printf -- "$out" >"$work/want"
        cmp -s "$work/want" "$work/out" || why="$why; output is not as expected"
    fi
    if [ "$rc" -eq 2 ] && [ "$err" != '*' ]; then
        [ "$(grep -c '^tamis: ' "$work/err")" -eq 1 ] && [ "$(wc -l <"$work/err")" -eq 1 ] ||
            why="$why; not one sentence on stderr"
    fi
    if [ $has_err -eq 0 ]; then
        err='*'
    fi
    if [ -z "$err" ]; then
        [ ! -s "$work/err" ] || why="$why; something on stderr"
    elif [ "$err" != '*' ]; then
        grep -Eq -- "$err" "$work/err" || why="$why; stderr does not match: $err"
    fi
    verdict "$name" "$why" "$*"
}

# verdict NAME WHY COMMAND: a check has failed if WHY is not empty.
verdict() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAILED $case: $1: ${2#; }"
    if [ -n "${3-}" ]; then
        echo "    $3"
        head -c 600 "$work/out" | head -5 | sed 's/^/    out: /' | cat -v
        head -c 600 "$work/err" | head -5 | sed 's/^/    err: /' | cat -v
    fi
}

# same NAME FILE FILE: equal bytes.
same() { verdict "$1" "$(cmp "$2" "$3" 2>&1)"; }

# differ NAME FILE FILE
differ() { if cmp -s "$2" "$3"; then verdict "$1" "equal files"; else verdict "$1" ''; fi; }

# truth NAME COMMAND...: the command succeeds.
truth() {
    local name=$1
    shift
    if "$@" >"$work/printed" 2>&1; then
        verdict "$name" ''
    else
        verdict "$name" "false: $* $(head -c 300 "$work/printed")"
    fi
}

# only NAME FILE...: the directory has these files and no other.
only() {
    local name=$1
    shift
    local want have
    want=$(printf '%s\n' "$@" | sort)
    have=$(ls -A | sort)
    if [ "$want" = "$have" ]; then
        verdict "$name" ''
    else
        verdict "$name" "files are: $(echo $have), not: $(echo $want)"
    fi
}

# field NAME: the first member of that name in the JSON on standard input (one member per line, as
# the command prints it), without quotes.
field() { sed -n 's/^ *"'"$1"'": \(.*[^,]\),*$/\1/p' | head -1 | sed 's/^"//; s/"$//'; }

# has NAME FILE MEMBER...: the JSON in FILE has these members.
has() {
    local name=$1 file=$2 member
    shift 2
    for member in "$@"; do
        truth "$name has $member" grep -q "^ *\"$member\": ." "$file"
    done
}

# json NAME FILE: it is valid JSON (checked with python3 if installed).
json() {
    if command -v python3 >/dev/null; then truth "$1" python3 -m json.tool "$2"; fi
}

# terminal: can a terminal be created?  (Not in a tree without /dev/pts.)
terminal() { script -qec true /dev/null >/dev/null 2>&1; }

# build FILE OPTIONS... < keys: builds a filter without a summary.
build() { "$TAMIS" build -q -f -o "$@"; }

# dying N COMMAND...: kills the command at its N-th call that changes a file, in a write after half
# of the bytes (faults/fault_at.c).  0: not at all.  Sets $calls to the number of these calls.
dying() {
    local at=$1 code=0
    shift
    ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-} LD_PRELOAD=$FAULT_LIBRARY FAULT_LOG=$work/calls \
        FAULT_CALL=write,sync,cut,rename,link,unlink FAULT_AT=$at FAULT_ERROR=die "$@" || code=$?
    calls=$(wc -l <"$work/calls")
    return $code
}
