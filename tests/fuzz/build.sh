#!/usr/bin/env bash
# build.sh: builds the fuzz targets as OSS-Fuzz does.
#
#   $CC $CFLAGS $CXX $CXXFLAGS     the compilers, with their instrumentation
#   $LIB_FUZZING_ENGINE            what to link: -fsanitize=fuzzer, or a library
#   $SRC                           the directory that contains tamis/; the tree of this file without it
#   $WORK                          for the build; a new directory in /tmp without it
#   $OUT                           receives TARGET, TARGET.options and TARGET_seed_corpus.zip
#
# The seeds of TARGET are tests/fuzz/corpus/TARGET and what the target makes itself.
set -euo pipefail

: "${CC:?}" "${CXX:?}" "${LIB_FUZZING_ENGINE:?}" "${OUT:?}"
if [ -n "${SRC:-}" ] && [ -d "$SRC/tamis" ]; then
    source=$SRC/tamis
else
    source=$(cd "$(dirname "$0")/../.." && pwd)
fi
work=${WORK:-$(mktemp -d)}
mkdir -p "$OUT"

cmake -S "$source" -B "$work/tamis" -G Ninja -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
    -DCMAKE_C_FLAGS="${CFLAGS:-}" -DCMAKE_CXX_FLAGS="${CXXFLAGS:-}" -DTAMIS_FUZZ=ON \
    -DTAMIS_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DTAMIS_XXHASH_INLINE=ON -DTAMIS_EXAMPLES=OFF
ninja -C "$work/tamis" fuzz

for options in "$source"/tests/fuzz/*.options; do
    target=$(basename "$options" .options)
    program=$work/tamis/tests/fuzz/fuzz_$target
    # SQLite is optional.
    if [ ! -x "$program" ]; then continue; fi
    cp "$program" "$OUT/$target"
    cp "$options" "$OUT/"
    seeds=$work/seeds/$target
    mkdir -p "$seeds"
    "$work/tamis/tests/fuzz/replay_$target" --write "$seeds" >/dev/null
    cp "$source/tests/fuzz/corpus/$target"/* "$seeds/"
    rm -f "$OUT/${target}_seed_corpus.zip"
    (cd "$seeds" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
done
if [ -z "${WORK:-}" ]; then rm -rf "$work"; fi
