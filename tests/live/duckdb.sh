# duckdb.sh: tamis reads Parquet files of DuckDB, and DuckDB uses a filter that tamis rewrote
#
# tests: full
command -v node >/dev/null && command -v npm >/dev/null || { echo "skipped: node or npm is not installed"; exit 77; }
set -e
cache=${TAMIS_NODE_MODULES:-${XDG_CACHE_HOME:-$HOME/.cache}/tamis-duckdb}
if [ ! -d "$cache/node_modules/@duckdb/node-api" ]; then
    mkdir -p "$cache"
    (cd "$cache" && npm install --no-audit --no-fund --silent @duckdb/node-api) || { echo "skipped: npm cannot download DuckDB"; exit 77; }
fi
export NODE_PATH=$cache/node_modules
node "$LIVE/duckdb.js" write words.parquet
seq -f 'word-%.0f' 0 2999 >words
seq -f 'other-%.0f' 0 2999 >others
test "$("$TAMIS" query -c --part w words.parquet words)" = 3000
seq 0 2999 >numbers
test "$("$TAMIS" query -c --part i --as i64 words.parquet numbers)" = 3000
# The expected answers are DuckDB's.
"$TAMIS" query --part 0/w words.parquet others >mine || [ $? -eq 1 ]
node "$LIVE/duckdb.js" probe words.parquet others >theirs
cmp mine theirs
# A filter of all zeros matches nothing: DuckDB then skips the row group, which proves that it
# reads the bytes that tamis wrote.
test "$(node "$LIVE/duckdb.js" count words.parquet word-7)" = 2
"$PROGRAM" words.parquet emptied.parquet 0/w
test "$(node "$LIVE/duckdb.js" count emptied.parquet word-7)" = 0
printf 'word-7\n' | "$TAMIS" add -q --part 0/w emptied.parquet
test "$(node "$LIVE/duckdb.js" count emptied.parquet word-7)" = 2
echo "tamis reads DuckDB's filters, and DuckDB uses a filter that tamis wrote"
