/* extension.c - the extension for SQLite, in this process: $TAMIS_EXTENSION is its file
 *
 * Values of every type as keys; NULL; filters from constants, columns, subqueries and the
 * table-valued functions; other locales; damaged and hostile BLOBs; untrusted schemas; and failed
 * allocations of SQLite at every point. */
#define _POSIX_C_SOURCE 200809L /* mkfifo, setenv */
#include <errno.h>
#include <locale.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/hostile.h"

static sqlite3 *db;

/* ------------------------------------------------------------------- a connection */

static sqlite3 *open_database(const char *encoding) {
    sqlite3 *opened = NULL;
    char *error = NULL;
    if (sqlite3_open(":memory:", &opened) != SQLITE_OK) return opened;
    sqlite3_enable_load_extension(opened, 1);
    const int code = sqlite3_load_extension(opened, getenv("TAMIS_EXTENSION"), NULL, &error);
    CHECK(code == SQLITE_OK, "load: %s", error);
    sqlite3_free(error);
    sqlite3_exec(opened, encoding, NULL, NULL, NULL);
    return opened;
}

/* Runs a statement; returns its first value as text (NULL for NULL), or the error. */
struct answer {
    int code;
    bool null;
    char text[400];
};

static struct answer query_with(const char *sql, const struct bytes *blob) {
    struct answer a = {SQLITE_OK, true, ""};
    sqlite3_stmt *statement = NULL;
    a.code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (a.code == SQLITE_OK && blob != NULL) {
        sqlite3_bind_blob64(statement, 1, blob->data, blob->size, SQLITE_STATIC);
    }
    if (a.code == SQLITE_OK) a.code = sqlite3_step(statement);
    if (a.code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        a.null = text == NULL;
        if (text != NULL) snprintf(a.text, sizeof a.text, "%s", text);
        while (a.code == SQLITE_ROW) a.code = sqlite3_step(statement);
    }
    a.code = a.code == SQLITE_DONE ? SQLITE_OK : a.code & 0xff;
    if (a.code != SQLITE_OK) snprintf(a.text, sizeof a.text, "%s", sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    return a;
}

static struct answer query(const char *sql) { return query_with(sql, NULL); }

static void expect(const char *sql, const char *wanted) {
    const struct answer a = query(sql);
    CHECK(a.code == SQLITE_OK && !a.null && strcmp(a.text, wanted) == 0, "%s: code %d, %s", sql,
          a.code, a.null && a.code == SQLITE_OK ? "NULL" : a.text);
}

static void expect_null(const char *sql) {
    const struct answer a = query(sql);
    CHECK(a.code == SQLITE_OK && a.null, "%s: code %d, %s", sql, a.code, a.text);
}

static void expect_error(const char *sql, const char *part) {
    const struct answer a = query(sql);
    CHECK(a.code == SQLITE_ERROR && strstr(a.text, part) != NULL, "%s: code %d, %s", sql, a.code,
          a.text);
}

/* ------------------------------------------------------------------------- values */

static void keys_of_every_type(void) {
    query("CREATE TABLE v(k)");
    query(
        "INSERT INTO v VALUES ('apple'), ('fig'), (x'00ff'), (7), (-1), (2.5), (1e300), "
        "(9007199254740993), (''), (NULL), ('gr\xc3\xbc\xc3\x9f')");
    query("CREATE TABLE f AS SELECT tamis_build(k, 1e-9, 'ribbon') AS filter FROM v");
    expect("SELECT count(*) FROM v, f WHERE tamis_contains(filter, k)", "10");
    expect("SELECT tamis_info(filter) ->> 'keys' FROM f", "10");
    /* The storage of a value does not change its key; its type does. */
    expect("SELECT tamis_contains(filter, 7.0) FROM f", "1");
    expect("SELECT tamis_contains(filter, '7') FROM f", "0");
    expect("SELECT tamis_contains(filter, -1.0) FROM f", "1");
    expect("SELECT tamis_contains(filter, 2) FROM f", "0");
    expect("SELECT tamis_contains(filter, '2.5') FROM f", "0");
    expect("SELECT tamis_contains(filter, 9007199254740992) FROM f", "0");
    expect("SELECT tamis_contains(filter, x'0700000000000000') FROM f", "1");
    expect("SELECT tamis_contains(filter, x'0000000000000440') FROM f", "1");
    expect("SELECT tamis_contains(filter, x'6170706c65') FROM f", "1");
    expect("SELECT tamis_contains(filter, x'') FROM f", "1");
    expect("SELECT tamis_contains(filter, 'APPLE') FROM f", "0");
    expect("SELECT tamis_contains(filter, -0.0) FROM f", "0");
    expect("SELECT tamis_contains(tamis_build(0), -0.0)", "1");
    expect("SELECT tamis_contains(tamis_build(9223372036854775807), 9223372036854775808.0)", "0");
}

static void nulls(void) {
    expect_null("SELECT tamis_contains(NULL, 1)");
    expect_null("SELECT tamis_contains(filter, NULL) FROM f");
    expect_null("SELECT tamis_add(NULL, 1)");
    expect_null("SELECT tamis_add(filter, NULL) FROM f");
    expect_null("SELECT tamis_info(NULL)");
    expect_null("SELECT tamis_merge(filter, NULL) FROM f");
    expect_null("SELECT tamis_merge(NULL)");
    expect("SELECT count(*) FROM tamis_filter(NULL)", "0");
    /* No rows give an empty filter. */
    expect("SELECT tamis_contains(tamis_build(k), 1) FROM v WHERE 0", "0");
    expect("SELECT tamis_contains(tamis_build(NULL), 'x')", "0");
}

static void options(void) {
    expect("SELECT tamis_info(tamis_build(k, 0.001, 'bloom')) ->> 'kind' FROM v", "bloom");
    expect("SELECT tamis_info(tamis_build(k, 0.25)) ->> 'fpr_target' FROM v", "0.25");
    expect("SELECT tamis_info(tamis_build(k, NULL, NULL)) ->> 'kind' FROM v", "fuse");
    expect("SELECT tamis_info(tamis_build(k, 0.01, 'block', 5000)) ->> 'capacity' FROM v", "5000");
    expect("SELECT tamis_info(tamis_build(k, 0.01, 'guava')) ->> 'format' FROM v", "guava");
    expect("SELECT tamis_contains(tamis_build(k, 0.01, 'leveldb:bits=12'), 7, 'leveldb') FROM v",
           "1");
    expect("SELECT tamis_contains(tamis_build(k, NULL, 'fuse16'), 8) FROM v WHERE k = 7", "0");
    expect_error("SELECT tamis_build(k, NULL, 'fuse16') FROM v", "64-bit integers");
    expect("SELECT tamis_contains(tamis_build(7, NULL, 'fuse16'), 'seven')", "0");
    expect_error("SELECT tamis_build(k, 2) FROM v", "rate");
    expect_error("SELECT tamis_build(k, 'x') FROM v", "rate");
    expect_error("SELECT tamis_build(k, 0.1, 'sieve') FROM v", "no such kind");
    expect_error("SELECT tamis_build(k, 0.1, 'bloom', -1) FROM v", "capacity");
    expect_error("SELECT tamis_contains('text', 1)", "BLOB");
    expect_error("SELECT tamis_contains(x'', 1)", "ends before");
    expect_error("SELECT tamis_contains(x'0011', 1, 'sieve')", "no such format");
    expect_error("SELECT tamis_contains(x'0011', 1, '')", "no such format");
    expect_error("SELECT kind FROM tamis_filter(x'0011', 'sieve')", "no such format");
    expect_error("SELECT tamis_build(k, 0.1, 'bloom', 'many') FROM v", "capacity");
    expect_error("SELECT tamis_build(k, 0.1, 'bloom', x'09') FROM v", "capacity");
    expect("SELECT tamis_info(tamis_build(k, 0.1, 'bloom', '64')) ->> 'capacity' FROM v", "64");
    /* The bytes after a NUL count. */
    expect_error("SELECT tamis_build(k, 0.1, 'bloom' || char(0) || 's') FROM v", "no such kind");
    expect_error("SELECT tamis_contains(filter, 7, 'tamis' || char(0) || 's') FROM f",
                 "no such format");
    expect_error("SELECT kind FROM tamis_file('/etc/passwd' || char(0) || '.tamis')", "NUL");
}

/* ------------------------------------------------------------ filters with a key form */

/* A filter of one key, in the table `typed`. */
static void typed_filter(uint32_t type, uint32_t flags, const void *key, size_t length) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    o.fpr = 1e-6;
    o.form.type = type;
    o.form.flags = flags;
    CHECK(tamis_build(&o, &key, &length, 1, &filter) == TAMIS_OK, "build");
    struct bytes blob = bytes_of(filter);
    tamis_free(filter);
    query("CREATE TABLE IF NOT EXISTS typed(filter)");
    query("DELETE FROM typed");
    query_with("INSERT INTO typed VALUES (?1)", &blob);
    bytes_free(&blob);
}

static void numbers_as_records(void) {
    /* 10^19 is not an SQL INTEGER, but it is a whole number and a u64. */
    typed_filter(TAMIS_KEY_U64, 0, "\0\0\xe8\x89\x04\x23\xc7\x8a", 8);
    expect("SELECT tamis_contains(filter, 10000000000000000000) FROM typed", "1");
    expect("SELECT tamis_contains(filter, '10000000000000000000') FROM typed", "1");
    expect("SELECT tamis_contains(filter, 10000000000000002048) FROM typed", "0");
    expect("SELECT tamis_contains(filter, 1e20) FROM typed", "0");
    /* Text as SQL prints it, and 7.0 = 7. */
    typed_filter(TAMIS_KEY_BYTES, TAMIS_KEY_FOLD_CASE, "0.1", 3);
    expect("SELECT tamis_contains(filter, 0.1) FROM typed", "1");
    typed_filter(TAMIS_KEY_BYTES, TAMIS_KEY_FOLD_CASE, "7", 1);
    expect("SELECT tamis_contains(filter, 7.0) + tamis_contains(filter, 7) FROM typed", "2");
    typed_filter(TAMIS_KEY_UTF16, 0, "7\0", 2);
    expect("SELECT tamis_contains(filter, 7.0) + tamis_contains(filter, 7) FROM typed", "2");
    expect("SELECT tamis_contains(filter, '7') + tamis_contains(filter, 77) FROM typed", "1");
}

static void floats(void) {
    typed_filter(TAMIS_KEY_F64, 0, "\0\0\0\0\0\0\xe0\x3f", 8); /* 0.5 */
    expect("SELECT tamis_contains(filter, 0.5) + tamis_contains(filter, '.5') FROM typed", "2");
    expect("SELECT tamis_contains(filter, 5) + tamis_contains(filter, '0,5') FROM typed", "0");
    typed_filter(TAMIS_KEY_F32, 0, "\0\0\0\x3f", 4);
    expect("SELECT tamis_contains(filter, 0.5) + tamis_contains(filter, '5e-1') FROM typed", "2");
    typed_filter(TAMIS_KEY_F32, 0, "\0\0\x80\x7f", 4); /* infinity, which 10^39 is not */
    expect("SELECT tamis_contains(filter, 9e999) + tamis_contains(filter, 'inf') FROM typed", "2");
    expect("SELECT tamis_contains(filter, 1e39) + tamis_contains(filter, '1e39') FROM typed", "0");
}

/* Creates the locale "comma", in which 0.5 is written 0,5; false if that fails. */
static bool comma_locale(void) {
    char command[1500];
    const char *const directory = run_directory();
    snprintf(command, sizeof command,
             "printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\n"
             "END LC_NUMERIC\n' >'%s/source' && localedef -c -i '%s/source' '%s/comma' "
             ">'%s/warnings' 2>&1; true",
             directory, directory, directory, directory);
    if (system(command) != 0)
        return false; /* localedef warns of an incomplete locale, and creates it */
    setenv("LOCPATH", directory, 1);
    return setlocale(LC_NUMERIC, "comma") != NULL;
}

/* The locale of the host does not change keys. */
static void other_locale(void) {
    if (!comma_locale()) {
        fprintf(stderr, "extension: not tested: other locales, which need localedef\n");
        return;
    }
    CHECK(strtod("0.5", NULL) == 0, "the locale is not in effect");
    floats();
    numbers_as_records();
    setlocale(LC_NUMERIC, "C");
}

static void changing(void) {
    query("CREATE TABLE b AS SELECT tamis_build(k, 0.001, 'bloom', 1000) AS filter FROM v");
    expect("SELECT tamis_contains(tamis_add(filter, 'new'), 'new') FROM b", "1");
    expect("SELECT tamis_contains(filter, 'new') FROM b", "0");
    expect("SELECT fpr > 0 AND fpr < 0.02 FROM f, tamis_filter(f.filter)", "1");
    expect_error("SELECT tamis_add(filter, 'new') FROM f", "accepts no further keys");
    expect_error("SELECT tamis_remove(filter, 'fig') FROM b", "cannot remove");
    expect(
        "SELECT tamis_contains(tamis_remove(tamis_build(k, 0.001, 'cuckoo'), 'fig'), 'fig') "
        "FROM v",
        "0");
    /* The aggregate uses every row's filter, not the cached first one. */
    query("CREATE TABLE m(filter)");
    for (int i = 0; i < 20; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "INSERT INTO m SELECT tamis_build(%d, 0.0001, 'bloom', 100)", i);
        query(sql);
    }
    expect(
        "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99), "
        "all_of(f) AS (SELECT tamis_merge(filter) FROM m) "
        "SELECT group_concat(i) FROM n, all_of WHERE tamis_contains(f, i)",
        "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19");
    expect(
        "SELECT tamis_contains(tamis_merge(a.filter, c.filter), 1) FROM m a, m c "
        "WHERE a.rowid = 1 AND c.rowid = 2",
        "1");
    expect(
        "SELECT tamis_contains(tamis_intersect(a.filter, c.filter), 1) FROM m a, m c "
        "WHERE a.rowid = 1 AND c.rowid = 2",
        "0");
    expect_error("SELECT tamis_merge(m.filter, b.filter) FROM m, b", "differ");
    expect_error("SELECT tamis_merge(f.filter, f.filter) FROM f", "cannot be merged");
}

/* Filters that differ from row to row, from every source. */
static void sources(void) {
    /* Filter i has only the key i - 1; sizes are equal, so values may share an address. */
    expect(
        "SELECT count(*) FROM m, (WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 19) SELECT i FROM n) WHERE tamis_contains(filter, i) = (m.rowid - 1 = i)",
        "400");
    expect(
        "SELECT count(*) FROM m, tamis_filter(m.filter) AS t WHERE "
        "tamis_contains(t.filter, m.rowid - 1) AND NOT tamis_contains(t.filter, m.rowid)",
        "20");
    expect(
        "SELECT sum(tamis_contains((SELECT filter FROM m AS x WHERE x.rowid = m.rowid), "
        "m.rowid - 1)) FROM m",
        "20");
    expect(
        "SELECT tamis_contains((SELECT t.filter FROM tamis_filter(m.filter) AS t), 3) "
        "FROM m ORDER BY 1 DESC",
        "1");
    expect("SELECT count(DISTINCT t.filter) FROM m, tamis_filter(m.filter) AS t", "20");
    expect("SELECT tamis_contains(max(t.filter), 99) FROM m, tamis_filter(m.filter) AS t", "0");
    expect_error("SELECT * FROM tamis_filter", "argument");
    expect_error("SELECT * FROM tamis_filter('text')", "BLOB");
    expect_error("SELECT * FROM tamis_file('/no/such/file')", "No such file");
    expect_error("SELECT * FROM tamis_file('/')", "not a file");
}

static void files(void) {
    char path[600], sql[800];
    uint64_t h[3] = {1, 2, 3};
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    snprintf(path, sizeof path, "%s/x.tamis", run_directory());
    o.hasher = TAMIS_HASH_NONE;
    CHECK(tamis_build_hash(&o, h, 3, &filter) == TAMIS_OK, "build");
    CHECK(tamis_save(filter, path, true) == TAMIS_OK, "save");
    tamis_free(filter);
    /* Keys that are hashes are looked up as integers. */
    snprintf(sql, sizeof sql, "SELECT sum(tamis_contains(filter, k)) FROM v, tamis_file('%s')",
             path);
    query("DELETE FROM v WHERE k > 3 AND k < 7");
    query("INSERT INTO v VALUES (2), (3)");
    expect(sql, "2");
    snprintf(sql, sizeof sql, "SELECT kind || keys FROM tamis_file('%s', 'tamis')", path);
    expect(sql, "fuse3");
    snprintf(sql, sizeof sql, "SELECT kind FROM tamis_file('%s', NULL, 'part')", path);
    expect_error(sql, "no parts");
    /* A pipe has no writer to wait for. */
    snprintf(path, sizeof path, "%s/pipe", run_directory());
    CHECK(mkfifo(path, 0600) == 0 || errno == EEXIST, "mkfifo");
    snprintf(sql, sizeof sql, "SELECT kind FROM tamis_file('%s')", path);
    expect_error(sql, "not a file");
    snprintf(path, sizeof path, "%s/x.tamis", run_directory());
    /* Not from within a schema. */
    snprintf(sql, sizeof sql, "CREATE VIEW leak AS SELECT * FROM tamis_file('%s')", path);
    query(sql);
    expect_error("SELECT * FROM leak", "unsafe use");
    query("PRAGMA trusted_schema = 0");
    query("CREATE VIEW harmless AS SELECT tamis_contains(filter, 'fig') FROM f");
    expect("SELECT * FROM harmless", "1");
    query("CREATE VIEW harmless2 AS SELECT kind FROM tamis_filter((SELECT filter FROM f))");
    expect("SELECT * FROM harmless2", "ribbon");
    query("CREATE INDEX pure ON b(tamis_contains(filter, 'fig'))");
    expect("SELECT count(*) FROM b WHERE tamis_contains(filter, 'fig') = 1", "1");
}

/* ------------------------------------------------------------------ damaged blobs */

static const char *const queries[] = {
    "SELECT tamis_contains(?1, 5)",
    "SELECT tamis_info(?1)",
    "SELECT tamis_add(?1, 5)",
    "SELECT tamis_merge(?1, ?1)",
    "SELECT tamis_merge(b) FROM (SELECT ?1 AS b UNION ALL SELECT ?1)",
    "SELECT tamis_contains(filter, 5) FROM tamis_filter(?1)",
    "SELECT tamis_contains(b, 5) FROM (SELECT ?1 AS b UNION ALL SELECT ?1)",
};
#define QUERIES (sizeof queries / sizeof *queries)

static struct bytes filter_of_kind(const struct variant *v) {
    uint64_t *h = hashes_make(100, run_seed(), STREAM_MEMBERS);
    tamis_filter *f = variant_build(v, 0.01, h, 100);
    const struct bytes b = bytes_of(f);
    tamis_free(f);
    free(h);
    return b;
}

/* The undamaged filter is queried in between, so that it is in the cache. */
static void damage(const struct bytes *good, uint64_t rounds, struct rng *r) {
    const size_t room = good->size + 300;
    const char *expected = "SELECT tamis_contains(?1, 5)";
    const struct answer right = query_with(expected, good);
    for (uint64_t round = 0; round < rounds; round++) {
        struct bytes bad = bytes_new(room);
        memcpy(bad.data, good->data, good->size);
        bad.size = mutate(bad.data, good->size, room, r);
        const bool same = bad.size == good->size && memcmp(bad.data, good->data, good->size) == 0;
        const struct answer a = query_with(queries[round % QUERIES], &bad);
        CHECK(same || a.code == SQLITE_ERROR, "a damaged BLOB was accepted: %s",
              queries[round % QUERIES]);
        /* With repaired checksums it may be accepted: then it must only be safe. */
        repair_sums(bad.data, bad.size);
        query_with(queries[round % QUERIES], &bad);
        if (round % 16 == 0) {
            const struct answer again = query_with(expected, good);
            CHECK(again.code == SQLITE_OK && strcmp(again.text, right.text) == 0,
                  "the undamaged filter gives another answer");
        }
        bytes_free(&bad);
        count_up("damaged", 1);
    }
}

static void damaged_blobs(void) {
    struct rng r = {run_seed()};
    size_t variants = 0;
    while (variant_at(variants) != NULL) variants++;
    for (size_t i = 0; i < variants; i++) {
        struct bytes good = filter_of_kind(variant_at(i));
        damage(&good, run_pick(10000, 20000, 200000) / variants + 1, &r);
        bytes_free(&good);
    }
}

/* A table of one good filter and its damaged copies, all of one size, in one statement: the
 * cached good one must not answer for a damaged one. */
static void damaged_neighbours(void) {
    struct bytes good = filter_of_kind(variant_at(0));
    struct rng r = {run_seed()};
    query("CREATE TABLE d(b)");
    for (int i = 0; i < 50; i++) {
        query("DELETE FROM d");
        query_with("INSERT INTO d VALUES (?1)", &good);
        const size_t at = (size_t)rng_below(&r, good.size);
        good.data[at] ^= 1;
        query_with("INSERT INTO d VALUES (?1)", &good);
        good.data[at] ^= 1;
        const struct answer a = query("SELECT tamis_contains(b, 1) FROM d");
        CHECK(a.code == SQLITE_ERROR, "byte %zu of the second filter is wrong: code %d", at,
              a.code);
    }
    bytes_free(&good);
}

/* ---------------------------------------------------------------- without memory */

/* SQLite's allocator, failing from a given call on, or at that call only. */
static sqlite3_mem_methods real;
static long calls, fail_at;
static bool fail_once;

static bool fails(void) {
    calls++;
    return fail_at != 0 && (fail_once ? calls == fail_at : calls >= fail_at);
}
static void *failing_malloc(int size) { return fails() ? NULL : real.xMalloc(size); }
static void *failing_realloc(void *block, int size) {
    return fails() ? NULL : real.xRealloc(block, size);
}

static const char *const scenarios[] = {
    "SELECT tamis_contains(tamis_build(k, 0.01, 'bloom'), 'fig') FROM v",
    "SELECT tamis_contains(g, k) FROM v, (SELECT tamis_build(k, NULL, 'guava') AS g FROM v)",
    "SELECT tamis_contains(filter, k) FROM v, m LIMIT 9",
    "SELECT tamis_info(filter) FROM f",
    "SELECT length(tamis_merge(filter)) FROM m",
    "SELECT tamis_contains(tamis_add(filter, 'x'), 'x') FROM b",
    "SELECT tamis_contains(t.filter, 1) FROM m, tamis_filter(m.filter) AS t",
};

static void no_memory(void) {
    for (size_t s = 0; s < sizeof scenarios / sizeof *scenarios; s++) {
        fail_at = 0;
        const struct answer right = query(scenarios[s]);
        CHECK(right.code == SQLITE_OK, "%s: %s", scenarios[s], right.text);
        for (int once = 0; once < 2; once++) {
            struct answer a = {SQLITE_NOMEM, true, ""};
            for (long at = 1; a.code != SQLITE_OK && at < 5000; at++) {
                calls = 0;
                fail_at = at;
                fail_once = once != 0;
                a = query(scenarios[s]);
                fail_at = 0;
                CHECK(a.code == SQLITE_OK || a.code == SQLITE_NOMEM, "%s: allocation %ld: %d %s",
                      scenarios[s], at, a.code, a.text);
                count_up("faults", 1);
            }
            CHECK(a.code == SQLITE_OK && strcmp(a.text, right.text) == 0, "%s: %s, then %s",
                  scenarios[s], right.text, a.text);
        }
    }
}

int main(int argc, char **argv) {
    run_start(argc, argv, "extension");
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    sqlite3_mem_methods failing = real;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every allocation is counted */

    /* Text of a database in UTF-16 is converted at every call. */
    static const char *const encodings[] = {"PRAGMA encoding = 'UTF-16'",
                                            "PRAGMA encoding = 'UTF-8'"};
    for (size_t i = 0; i < 2; i++) {
        db = open_database(encodings[i]);
        keys_of_every_type();
        nulls();
        options();
        numbers_as_records();
        floats();
        other_locale();
        changing();
        sources();
        no_memory();
        files();
        if (i == 1) damaged_blobs();
        if (i == 1) damaged_neighbours();
        CHECK(sqlite3_close(db) == SQLITE_OK, "statements are not finalised");
    }
    CHECK(sqlite3_memory_used() == 0, "%lld bytes are not freed", (long long)sqlite3_memory_used());
    return run_end();
}
