/* sql.c - the functions and tables of the SQLite extension, in a database in memory
 *
 * The first byte selects a statement of the list below or, from 192 on, the text of the input.  A
 * blob (u16 length) follows, which is ?1; its checksums are repaired unless the second byte's bit 7
 * is set.  The rest is ?2, a value of the type that the second byte selects; ?3 is the name of a
 * kind or format.
 *
 * Text may not attach files, read files or make filters of a given size: the authorizer and a
 * second connection without these functions prevent it.  A statement ends after 20,000
 * instructions. */
#include <sqlite3.h>

#include "../support/hostile.h"
#include "fuzz.h"

int sqlite3_tamis_init(sqlite3 *db, char **error, const void *api);

static const char *const texts[] = {
    "SELECT tamis_contains(?1, ?2)",
    "SELECT tamis_contains(?1, ?2, ?3)",
    "SELECT tamis_add(?1, ?2)",
    "SELECT tamis_add(?1, ?2, ?3)",
    "SELECT tamis_remove(?1, ?2)",
    "SELECT tamis_info(?1)",
    "SELECT tamis_info(?1, ?3)",
    "SELECT tamis_merge(?1, ?1)",
    "SELECT tamis_intersect(?1, ?1, tamis_add(?1, ?2))",
    "SELECT tamis_merge(b) FROM (SELECT ?1 AS b UNION ALL SELECT tamis_add(?1, ?2))",
    "SELECT tamis_build(?2, 0.01, ?3)",
    "SELECT tamis_build(k, 0.1, ?3, 50) FROM (SELECT ?2 AS k UNION ALL SELECT 7 UNION ALL SELECT "
    "'a')",
    "SELECT tamis_contains(tamis_build(k, 0.1, ?3), ?2) FROM (SELECT ?2 AS k UNION ALL SELECT "
    "x'00')",
    "SELECT part, format, kind, keys, bytes, fpr, info, length(filter) FROM tamis_filter(?1)",
    "SELECT part, tamis_contains(filter, ?2, ?3) FROM tamis_filter(?1, ?3) LIMIT 4",
    "SELECT count(*) FROM tamis_filter(?1, ?3, ?2)"};
#define STATEMENTS (sizeof texts / sizeof *texts)

static sqlite3 *prepared, *free_text;
static sqlite3_stmt *statements[STATEMENTS];
static size_t must_contain = 12; /* the statement that finds its own key */

static int stop(void *count) { return ++*(unsigned *)count > 20; }

static int authorize(void *context, int action, const char *a, const char *b, const char *c,
                     const char *d) {
    (void)context, (void)c, (void)d;
    if (action == SQLITE_ATTACH || action == SQLITE_PRAGMA || action == SQLITE_DETACH) {
        return SQLITE_DENY;
    }
    if (action == SQLITE_FUNCTION && b != NULL && strcmp(b, "load_extension") == 0) {
        return SQLITE_DENY;
    }
    return a != NULL && sqlite3_stricmp(a, "tamis_file") == 0 ? SQLITE_DENY : SQLITE_OK;
}

static unsigned steps;

static sqlite3 *open_database(void) {
    sqlite3 *db = NULL;
    char *error = NULL;
    fuzz_must(sqlite3_open(":memory:", &db) == SQLITE_OK, "no database");
    fuzz_must(sqlite3_tamis_init(db, &error, NULL) == SQLITE_OK, "the extension cannot start");
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 200000);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 2000);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 20);
    sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 5);
    sqlite3_progress_handler(db, 1000, stop, &steps);
    return db;
}

static void start(void) {
    if (prepared != NULL) return;
    prepared = open_database();
    free_text = open_database();
    sqlite3_set_authorizer(free_text, authorize, NULL);
    for (int arguments = 3; arguments <= 4; arguments++) {
        sqlite3_create_function_v2(free_text, "tamis_build", arguments, SQLITE_UTF8, NULL, NULL,
                                   NULL, NULL, NULL);
    }
    for (size_t i = 0; i < STATEMENTS; i++) {
        if (sqlite3_prepare_v2(prepared, texts[i], -1, &statements[i], NULL) != SQLITE_OK) {
            fuzz_fault(sqlite3_errmsg(prepared));
        }
    }
}

/* A kind or a format, without parameters: these could select any size. */
static const char *name_of(uint8_t which) {
    const size_t kinds = 8;
    if (which % 32 >= kinds) return which % 32 == 31 ? "none" : tamis_format_at(which % 32 - kinds);
    const tamis_kind kind = (tamis_kind)(1 + which % 32);
    /* Sizing a blocked Bloom filter takes longer than all other statements. */
    const bool slow = kind == TAMIS_BLOCK || kind == TAMIS_GROWING;
    return tamis_kind_name(slow && which < 224 ? TAMIS_BLOOM : kind);
}

static void bind(sqlite3_stmt *s, uint8_t how, uint8_t name, struct fuzz_input *in,
                 const uint8_t *blob, size_t length) {
    size_t rest = fuzz_left(in);
    const uint8_t *value = in->at;
    sqlite3_bind_blob(s, 1, blob, (int)length, SQLITE_STATIC);
    switch (how % 6) {
        case 0:
            sqlite3_bind_text(s, 2, (const char *)value, (int)rest, SQLITE_STATIC);
            break;
        case 1:
            sqlite3_bind_blob(s, 2, value, (int)rest, SQLITE_STATIC);
            break;
        case 2:
            sqlite3_bind_int64(s, 2, (sqlite3_int64)fuzz_take_number(in, 8));
            break;
        case 3:
            sqlite3_bind_double(s, 2, (double)(int64_t)fuzz_take_number(in, 8) / 8);
            break;
        case 4:
            sqlite3_bind_text16(s, 2, value, (int)(rest & ~(size_t)1), SQLITE_STATIC);
            break;
        default:
            sqlite3_bind_null(s, 2);
    }
    sqlite3_bind_text(s, 3, name_of(name), -1, SQLITE_STATIC);
}

/* Returns the first column of the first row as an integer; -1 if there is none. */
static int run(sqlite3_stmt *s) {
    int answer = -1, code;
    steps = 0;
    for (unsigned rows = 0; (code = sqlite3_step(s)) == SQLITE_ROW && rows < 20; rows++) {
        if (rows == 0 && sqlite3_column_type(s, 0) == SQLITE_INTEGER) {
            answer = sqlite3_column_int(s, 0);
        }
        for (int i = 0; i < sqlite3_column_count(s); i++) (void)sqlite3_column_bytes(s, i);
    }
    fuzz_must(code != SQLITE_CORRUPT && code != SQLITE_INTERNAL && code != SQLITE_MISUSE,
              "SQLite reports an internal error");
    return answer;
}

static void run_text(const uint8_t *text, size_t length, uint8_t how, uint8_t name,
                     const uint8_t *blob, size_t blob_length) {
    char sql[2048];
    const size_t used = length < sizeof sql - 1 ? length : sizeof sql - 1;
    struct fuzz_input none = {text, text};
    memcpy(sql, text, used);
    sql[used] = '\0';
    const char *at = sql;
    for (unsigned i = 0; i < 4 && *at != '\0'; i++) {
        sqlite3_stmt *s = NULL;
        if (sqlite3_prepare_v2(free_text, at, -1, &s, &at) != SQLITE_OK || s == NULL) break;
        bind(s, how, name, &none, blob, blob_length);
        (void)run(s);
        sqlite3_finalize(s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fuzz_input in = {data, data + size};
    const uint8_t what = fuzz_take(&in), how = fuzz_take(&in), name = fuzz_take(&in);
    size_t length = (size_t)fuzz_take_number(&in, 2);
    const uint8_t *at = fuzz_take_bytes(&in, &length);
    start();
    uint8_t *blob = fuzz_copy(at, length);
    if ((how & 0x80) == 0) repair_sums(blob, length);
    if (what >= 192) {
        run_text(in.at, fuzz_left(&in), how, name, blob, length);
        free(blob);
        return 0;
    }
    const size_t index = what % STATEMENTS;
    sqlite3_stmt *s = statements[index];
    bind(s, how, name, &in, blob, length);
    const int answer = run(s);
    const bool null = how % 6 == 5;
    fuzz_must(index != must_contain || null || answer != 0, "a filter does not contain its key");
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    free(blob);
    return 0;
}

/* Each statement with a filter of 20 keys; text with every function. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t room) {
    static const char *const free_texts[] = {
        "SELECT tamis_version(), tamis_contains(?1, 'a'), tamis_info(?1) ->> 'keys'",
        "SELECT tamis_build(value, 1e-3) FROM (VALUES (1), ('x'), (x'00'), (NULL)) AS t(value)",
        "CREATE TEMP TABLE t AS SELECT tamis_build(?2) AS f; SELECT tamis_merge(f) FROM t; DROP "
        "TABLE t",
        "SELECT * FROM tamis_filter(?1) WHERE tamis_contains(filter, 7)",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 9) SELECT "
        "tamis_build(x) FROM c"};
    const size_t variants = 10, fixed = STATEMENTS * 2;
    struct fuzz_output o = {out, 0, room};
    uint64_t hashes[20];
    uint8_t bytes[2048];
    size_t length = 0;
    tamis_filter *f = NULL;
    if (index >= fixed + sizeof free_texts / sizeof *free_texts) return 0;
    tamis_options options = variant_options(variant_at(index % variants), 30, 0.01);
    hashes_fill(hashes, 20, 0, 1, STREAM_MEMBERS);
    if (tamis_build_hash(&options, hashes, 20, &f) == TAMIS_OK) {
        (void)tamis_encode(f, bytes, sizeof bytes, &length);
    }
    tamis_free(f);
    fuzz_put_number(&o, index < fixed ? index % STATEMENTS : 200, 1);
    fuzz_put_number(&o, index % 6, 1);
    fuzz_put_number(&o, index, 1);
    fuzz_put_number(&o, length, 2);
    fuzz_put_bytes(&o, bytes, length);
    const char *rest = index < fixed ? "key-0001" : free_texts[index - fixed];
    fuzz_put_bytes(&o, rest, strlen(rest));
    return o.length;
}
