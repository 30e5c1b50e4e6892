/* redisbloom_pages.c - RedisBloom's filters in the caller's storage: calls that fail, headers that
 * are refused, and the limits of growth
 *
 * A scenario runs again and again, with the first call of the storage failing, then the second, and
 * so on; then the same with allocations.  Afterwards every key that was added is found, and every
 * table is closed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"
#include "../support/pages.h"
#include "../support/sink.h"

#define STEPS_MAX 5000
#define SHIFT 3 /* pages of 8 bytes: a bucket of 5 slots lies in two of them */

/* ---- headers */

struct sub {
    uint64_t size, entries, bytes;
    double error, per_entry;
    uint32_t hashes;
    uint8_t n2;
    uint64_t bits; /* 0: 8 * bytes */
};

static const struct sub usual_sub = {0, 10, 16, 0.005, 11, 8, 0, 0};

struct chain {
    uint64_t items;
    uint32_t options, growth;
    const struct sub *sub;
    uint32_t count, written; /* written: sub-filters that the header really has; 0: count */
};

static struct sink chain_header(const struct chain *c) {
    struct sink s = {NULL, 0, 0};
    sink_le(&s, c->items, 8);
    sink_le(&s, c->count, 4);
    sink_le(&s, c->options, 4);
    sink_le(&s, c->growth, 4);
    for (uint32_t i = 0; i < (c->written == 0 ? c->count : c->written); i++) {
        const struct sub *t = c->sub == NULL ? &usual_sub : &c->sub[i];
        sink_le(&s, t->bytes, 8);
        sink_le(&s, t->bits == 0 ? t->bytes * 8 : t->bits, 8);
        sink_le(&s, t->size, 8);
        sink_double(&s, t->error);
        sink_double(&s, t->per_entry);
        sink_le(&s, t->hashes, 4);
        sink_le(&s, t->entries, 8);
        sink_le(&s, t->n2, 1);
    }
    return s;
}

struct tables {
    uint64_t items, buckets, deletes, count;
    unsigned bucket_size, iterations, expansion;
};

static struct sink cuckoo_header(const struct tables *t) {
    struct sink s = {NULL, 0, 0};
    sink_le(&s, t->items, 8);
    sink_le(&s, t->buckets, 8);
    sink_le(&s, t->deletes, 8);
    sink_le(&s, t->count, 8);
    sink_le(&s, t->bucket_size, 2);
    sink_le(&s, t->iterations, 2);
    sink_le(&s, t->expansion, 2);
    return s;
}

static tamis_status open_header(const struct page_store *store, const struct sink *header,
                                tamis_allocator allocator, tamis_filter **f) {
    tamis_open_options o = TAMIS_OPEN_INIT;
    o.format = "redisbloom";
    o.storage = &store->storage;
    o.allocator = allocator;
    return tamis_header_open(header->at, header->length, &o, f);
}

static const tamis_allocator usual_allocator = {NULL, NULL, NULL, NULL};

/* Opens it and frees the header; the status, and the filter if it is OK. */
static tamis_status open_and_free(const struct page_store *store, struct sink header,
                                  tamis_filter **f) {
    const tamis_status status = open_header(store, &header, usual_allocator, f);
    sink_free(&header);
    return status;
}

static void check_chain_headers(void) {
    static const struct sub none = {0, 0, 16, 0.005, 11, 8, 0, 0};
    static const struct sub wide = {0, 10, 16, 0.005, 11, 8, 8, 0};
    static const struct sub odd = {0, 10, 16, 0.005, 11, 8, 0, 127};
    static const struct sub empty = {0, 1, 0, 0.005, 11, 8, 0, 0};
    static const struct sub huge = {0, 10, UINT64_MAX / 4, 0.005, 11, 8, 0, UINT64_MAX - 7};
    static const struct sub large = {0, 10, 1 << 21, 0.005, 11, 8, 0, 0};
    static const struct sub over = {11, 10, 16, 0.005, 11, 8, 0, 0};
    static const struct {
        struct chain chain;
        tamis_status want;
        const char *what;
    } rows[] = {
        {{0, 5, 2, NULL, 1, 0}, TAMIS_OK, "the usual"},
        {{0, 5, 2, NULL, 0, 1}, TAMIS_E_CORRUPT, "no sub-filters"},
        {{0, 16, 2, NULL, 1, 0}, TAMIS_E_CORRUPT, "unknown options"},
        {{0, 5, 32769, NULL, 1, 0}, TAMIS_E_CORRUPT, "growth"},
        {{0, 5, 2, NULL, 2, 1}, TAMIS_E_TRUNCATED, "one of two sub-filters"},
        {{0, 5, 2, NULL, 1, 2}, TAMIS_E_TRAILING, "two instead of one"},
        {{1, 5, 2, NULL, 1, 0}, TAMIS_E_CORRUPT, "a key that none has"},
        {{0, 5, 2, &none, 1, 0}, TAMIS_E_CORRUPT, "no entries"},
        {{0, 5, 2, &wide, 1, 0}, TAMIS_E_CORRUPT, "2^8 of 2^7 bits"},
        {{0, 5, 2, &odd, 1, 0}, TAMIS_E_CORRUPT, "127 of 128 bits"},
        {{0, 5, 2, &empty, 1, 0}, TAMIS_E_CORRUPT, "no bytes"},
        {{0, 5, 2, &huge, 1, 0}, TAMIS_E_CORRUPT, "2^62 bytes"},
        {{0, 5, 2, &large, 1, 0}, TAMIS_E_TOO_BIG, "2 MiB"},
        {{11, 5, 2, &over, 1, 0}, TAMIS_E_CORRUPT, "more keys than entries"},
        {{0, 5, 2, NULL, 8192, 0}, TAMIS_OK, "8192 sub-filters"},
        {{0, 5, 2, NULL, 8193, 0}, TAMIS_E_UNSUPPORTED, "8193 sub-filters"},
    };
    struct page_store store;
    page_store_init(&store, SHIFT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_filter *f = NULL;
        const tamis_status status = open_and_free(&store, chain_header(&rows[i].chain), &f);
        CHECK(status == rows[i].want && (f != NULL) == (status == TAMIS_OK), "%s: %s", rows[i].what,
              tamis_status_name(status));
        tamis_free(f);
        count_up("headers", 1);
    }
    CHECK(store.live == 0, "%zu tables are open", store.live);
}

static void check_cuckoo_headers(void) {
    static const uint64_t big = (uint64_t)1 << 48;
    static const struct {
        struct tables tables;
        tamis_status want;
        const char *what;
    } rows[] = {
        {{0, 8, 0, 1, 2, 20, 1}, TAMIS_OK, "the usual"},
        {{0, 8, 0, 1, 2, 20, 0}, TAMIS_OK, "one that does not grow"},
        {{0, 8, 0, 2, 2, 20, 0}, TAMIS_E_CORRUPT, "two that do not grow"},
        {{0, 8, 0, 1, 2, 20, 3}, TAMIS_E_CORRUPT, "expansion 3"},
        {{0, 0, 0, 1, 2, 20, 1}, TAMIS_E_CORRUPT, "no buckets"},
        {{0, 9, 0, 1, 2, 20, 1}, TAMIS_E_CORRUPT, "9 buckets"},
        {{0, 8, 0, 1, 0, 20, 1}, TAMIS_E_CORRUPT, "buckets of no slots"},
        {{0, 8, 0, 1, 256, 20, 1}, TAMIS_E_CORRUPT, "buckets of 256 slots"},
        {{0, 8, 0, 1, 2, 0, 1}, TAMIS_E_CORRUPT, "no iterations"},
        {{0, 8, 0, 0, 2, 20, 1}, TAMIS_E_CORRUPT, "no sub-filters"},
        {{0, 8, 0, 1024, 2, 20, 1}, TAMIS_OK, "1024 sub-filters"},
        {{0, 8, 0, 1025, 2, 20, 1}, TAMIS_E_UNSUPPORTED, "1025 sub-filters"},
        {{0, big, 0, 1, 2, 20, 1}, TAMIS_E_TOO_BIG, "2^48 buckets"},
        {{0, 1 << 20, 0, 1, 2, 20, 1}, TAMIS_E_TOO_BIG, "2 MiB"},
    };
    struct page_store store;
    page_store_init(&store, SHIFT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_filter *f = NULL;
        const tamis_status status = open_and_free(&store, cuckoo_header(&rows[i].tables), &f);
        CHECK(status == rows[i].want && (f != NULL) == (status == TAMIS_OK), "%s: %s", rows[i].what,
              tamis_status_name(status));
        tamis_free(f);
        count_up("headers", 1);
    }
    CHECK(store.live == 0, "%zu tables are open", store.live);
}

/* A header is read in pieces, and is the same as it was given. */
static void check_header_read(void) {
    const struct chain chain = {0, 5, 2, NULL, 3, 0};
    const struct tables tables = {0, 8, 3, 1, 2, 20, 1};
    struct sink headers[] = {chain_header(&chain), cuckoo_header(&tables)};
    struct page_store store;
    page_store_init(&store, SHIFT);
    for (size_t i = 0; i < 2; i++) {
        tamis_filter *f = NULL;
        uint8_t all[512];
        CHECK(open_header(&store, &headers[i], usual_allocator, &f) == TAMIS_OK, "header %zu", i);
        for (size_t piece = 1; piece < 100; piece += 7) {
            size_t at = 0, got;
            while ((got = tamis_header_read(f, at, all + at, piece)) != 0) at += got;
            CHECK(at == headers[i].length && memcmp(all, headers[i].at, at) == 0,
                  "header %zu in pieces of %zu", i, piece);
        }
        CHECK(tamis_storage_table(f, 3) == NULL, "a table too many");
        tamis_free(f);
        sink_free(&headers[i]);
    }
}

/* ---- faults */

enum { BASE = 24, MORE = 60 };

static size_t key_of(char key[16], unsigned i) { return (size_t)snprintf(key, 16, "key-%u", i); }

struct fixture {
    struct page_store store;
    struct meter meter;
    struct sink header;
    tamis_filter *f, *other;
    bool held[BASE + MORE]; /* keys that must be found */
};

static void add_key(struct fixture *x, unsigned i) {
    char key[16];
    bool fresh;
    const tamis_status status = tamis_add(x->f, key, key_of(key, i), i % 2 == 0 ? &fresh : NULL);
    if (status == TAMIS_OK) x->held[i] = true;
    CHECK(status == TAMIS_OK || status == TAMIS_E_NOMEM, "add %u: %s", i,
          tamis_status_name(status));
}

static void do_open(struct fixture *x) {
    const tamis_status status =
        open_header(&x->store, &x->header, meter_allocator(&x->meter), &x->other);
    CHECK(status == TAMIS_OK || status == TAMIS_E_NOMEM, "open: %s", tamis_status_name(status));
}

static void do_add(struct fixture *x) {
    for (unsigned i = BASE; i < BASE + MORE; i++) add_key(x, i);
}

static void do_clone(struct fixture *x) {
    const tamis_status status = tamis_clone(x->f, &x->other);
    CHECK(status == TAMIS_OK || status == TAMIS_E_NOMEM, "clone: %s", tamis_status_name(status));
    add_key(x, BASE); /* to a page that is shared now */
}

static void do_union(struct fixture *x) {
    if (tamis_clone(x->f, &x->other) != TAMIS_OK) return;
    const tamis_status status = tamis_merge(x->f, x->other, TAMIS_UNION);
    CHECK(status == TAMIS_OK || status == TAMIS_E_NOMEM || status == TAMIS_E_MISMATCH ||
              status == TAMIS_E_NO_MERGE,
          "union: %s", tamis_status_name(status));
}

/* A page that cannot be read has every key. */
static void do_look(struct fixture *x) {
    char key[16];
    for (unsigned i = 0; i < BASE; i++) {
        CHECK(tamis_contains(x->f, key, key_of(key, i)), "key %u is absent", i);
        CHECK(tamis_count(x->f, key, key_of(key, i)) != 0, "key %u is counted as absent", i);
    }
    tamis_facts facts = TAMIS_FACTS_INIT;
    CHECK(tamis_info(x->f, &facts) == TAMIS_OK && facts.stages >= 1, "info");
}

static void do_remove(struct fixture *x) {
    char key[16];
    for (unsigned i = 0; i < BASE; i += 2) {
        const tamis_status status = tamis_remove(x->f, key, key_of(key, i));
        if (status == TAMIS_OK) x->held[i] = false;
        CHECK(status == TAMIS_OK || status == TAMIS_E_NOMEM, "remove: %s",
              tamis_status_name(status));
    }
}

static void do_compact(struct fixture *x) {
    CHECK(tamis_compact(x->f, NULL) == TAMIS_OK, "compact");
}

struct scenario {
    const char *name;
    bool chain, cuckoo;
    bool shared; /* the pages are those of a copy, too */
    void (*run)(struct fixture *x);
};
static const struct scenario scenarios[] = {
    {"open", true, true, false, do_open},
    {"add", true, true, false, do_add},
    {"add to a copy", true, true, true, do_add},
    {"clone", true, true, false, do_clone},
    {"union", true, true, false, do_union},
    {"look up", true, true, false, do_look},
    {"remove", false, true, false, do_remove},
    {"remove from a copy", false, true, true, do_remove},
    {"compact", false, true, false, do_compact},
    {"compact a copy", false, true, true, do_compact},
};

static bool all_found(const struct fixture *x) {
    char key[16];
    bool found = true;
    for (unsigned i = 0; i < BASE + MORE; i++) {
        found &= !x->held[i] || tamis_contains(x->f, key, key_of(key, i));
    }
    return found;
}

/* One run with a failing call of the storage, or of the allocator; false if it was not reached. */
static bool one_run(const struct scenario *scenario, const struct sink *header, uint64_t step,
                    bool memory, const char *id) {
    struct fixture x = {.header = *header};
    page_store_init(&x.store, SHIFT);
    meter_reset(&x.meter);
    if (!CHECK(open_header(&x.store, header, meter_allocator(&x.meter), &x.f) == TAMIS_OK,
               "%s: open", id)) {
        return false;
    }
    for (unsigned i = 0; i < BASE; i++) add_key(&x, i);
    if (scenario->shared) CHECK(tamis_clone(x.f, &x.other) == TAMIS_OK, "%s: copy", id);
    if (memory) {
        x.meter.fail_at = atomic_load(&x.meter.calls) + step;
        x.meter.fail_once = true;
    } else {
        x.store.fail_at = x.store.calls + step;
    }
    scenario->run(&x);
    const bool reached =
        memory ? atomic_load(&x.meter.calls) >= x.meter.fail_at : x.store.calls >= x.store.fail_at;
    x.meter.fail_at = x.store.fail_at = 0;
    CHECK(all_found(&x), "%s, %s, %s %llu: a key is missing", id, scenario->name,
          memory ? "allocation" : "call", (unsigned long long)step);
    tamis_free(x.f);
    tamis_free(x.other);
    CHECK(x.store.live == 0 && atomic_load(&x.meter.live) == 0, "%s, %s, step %llu: leaks", id,
          scenario->name, (unsigned long long)step);
    count_up(memory ? "failed allocations" : "failed calls", reached);
    return reached;
}

static void check_faults(const struct sink *header, bool chain, const char *id) {
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (!(chain ? scenarios[i].chain : scenarios[i].cuckoo)) continue;
        for (unsigned memory = 0; memory < 2; memory++) {
            uint64_t step = 1;
            while (step < STEPS_MAX && one_run(&scenarios[i], header, step, memory != 0, id)) {
                step += 1 + step / 50; /* the first ones, then fewer and fewer */
            }
            CHECK(step < STEPS_MAX, "%s, %s: never succeeds", id, scenarios[i].name);
        }
    }
}

static void check_all_faults(void) {
    static const struct sub two[] = {{0, 10, 16, 0.005, 11, 8, 7, 0},
                                     {0, 20, 40, 0.005, 11, 8, 0, 0}};
    static const struct sub roomy = {0, 100, 144, 0.005, 11, 8, 0, 0};
    const struct chain chains[] = {{0, 5, 2, NULL, 1, 0},
                                   {0, 4, 1, two, 2, 0},
                                   {0, 0, 2, NULL, 1, 0},
                                   {0, 5, 2, &roomy, 1, 0}};
    const struct tables tables[] = {{0, 4, 0, 1, 5, 20, 1},
                                    {0, 8, 0, 1, 2, 10, 2},
                                    {0, 2, 0, 3, 3, 1, 2},
                                    {0, 64, 0, 1, 2, 9, 1}};
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct sink header = chain_header(&chains[i]);
        check_faults(&header, true, "a chain");
        sink_free(&header);
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct sink header = cuckoo_header(&tables[i]);
        check_faults(&header, false, "cuckoo tables");
        sink_free(&header);
    }
}

/* ---- limits */

/* Adds keys until one is refused; the status, and the number of tables. */
static tamis_status fill(tamis_filter *f, size_t *tables) {
    tamis_status status = TAMIS_OK;
    char key[16];
    for (unsigned i = 0; status == TAMIS_OK && i < 20000; i++) {
        status = tamis_add(f, key, key_of(key, i), NULL);
    }
    for (*tables = 0; tamis_storage_table(f, *tables) != NULL;) ++*tables;
    return status;
}

static void check_fills(struct page_store *store, struct sink header, tamis_status want,
                        size_t want_tables, const char *what) {
    tamis_filter *f = NULL;
    size_t tables = 0;
    if (!CHECK(open_and_free(store, header, &f) == TAMIS_OK, "%s: refused", what)) return;
    const tamis_status status = fill(f, &tables);
    CHECK(status == want && tables == want_tables, "%s: %s with %zu tables", what,
          tamis_status_name(status), tables);
    tamis_free(f);
    CHECK(store->live == 0, "%s: %zu tables are open", what, store->live);
    count_up("limits", 1);
}

static void check_cuckoo_limits(void) {
    const struct tables one = {0, 1, 0, 1, 1, 1, 1}, fast = {0, 1, 0, 1, 1, 1, 32768};
    const struct tables fixed = {0, 1, 0, 1, 4, 1, 0},
                        big = {0, (uint64_t)1 << 47, 0, 1, 1, 1, 32768};
    struct page_store store;
    page_store_init(&store, SHIFT);
    check_fills(&store, cuckoo_header(&one), TAMIS_E_FULL, 32, "the usual number of tables");
    store.storage.max_tables = 5;
    check_fills(&store, cuckoo_header(&one), TAMIS_E_FULL, 5, "five tables");
    store.storage.max_tables = 2000;
    check_fills(&store, cuckoo_header(&one), TAMIS_E_FULL, 1024, "all tables");
    check_fills(&store, cuckoo_header(&fixed), TAMIS_E_FULL, 1, "a table that does not grow");
    store.storage.max_bytes = 1000;
    check_fills(&store, cuckoo_header(&fast), TAMIS_E_TOO_BIG, 1, "more bytes than allowed");
    store.storage.max_bytes = UINT64_MAX;
    store.full = true;
    check_fills(&store, cuckoo_header(&big), TAMIS_E_TOO_BIG, 1, "2^62 buckets");
}

/* The last sub-filter is full; the next one cannot be made. */
static void check_chain_limits(void) {
    enum { SUBS_MAX = 8192 };
    static const uint64_t huge = (uint64_t)1 << 62;
    const struct sub full = {10, 10, 16, 0.005, 11, 8, 0, 0};
    const struct sub wide = {huge, huge, 8, 0.005, 1e-18, 1, 0, 0};
    const struct sub bits = {40, 40, 64, 0.005, 11, 8, 0, 0};
    const struct chain last = {10, 5, 2, &full, 1, 0}, stuck = {10, 5, 0, &full, 1, 0};
    const struct chain fixed = {10, 13, 2, &full, 1, 0}, many = {huge, 5, 8, &wide, 1, 0};
    const struct chain power = {40, 6, 2, &bits, 1, 0};
    struct page_store store;
    page_store_init(&store, SHIFT);
    store.storage.max_bytes = 30;
    check_fills(&store, chain_header(&last), TAMIS_E_TOO_BIG, 1, "more bytes than allowed");
    store.storage.max_bytes = UINT64_MAX;
    check_fills(&store, chain_header(&stuck), TAMIS_E_TOO_BIG, 1, "a growth of 0");
    check_fills(&store, chain_header(&fixed), TAMIS_E_FULL, 1, "a filter that does not grow");
    check_fills(&store, chain_header(&many), TAMIS_E_TOO_BIG, 1, "2^65 entries");
    check_fills(&store, chain_header(&power), TAMIS_E_TOO_BIG, 1, "2^80 bits");
    struct sub *all = NEED(struct sub, SUBS_MAX);
    for (size_t i = 0; i < SUBS_MAX; i++) all[i] = full;
    const struct chain most = {10 * SUBS_MAX, 5, 2, all, SUBS_MAX, 0};
    check_fills(&store, chain_header(&most), TAMIS_E_TOO_BIG, SUBS_MAX, "all sub-filters");
    free(all);
}

/* A lookup reads at most 2^20 bits: a header with more is refused, and so is growth beyond. */
static void check_probes(void) {
    enum { SUBS = 1008 }; /* 1040 bits each */
    const struct sub low = {1, 1, 184, 1e-200, 1500, 1040, 0, 0};
    struct sub *all = NEED(struct sub, SUBS + 1);
    for (size_t i = 0; i <= SUBS; i++) all[i] = low;
    const struct chain just = {SUBS, 5, 2, all, SUBS, 0}, over = {SUBS + 1, 5, 2, all, SUBS + 1, 0};
    struct page_store store;
    tamis_filter *f = NULL;
    page_store_init(&store, SHIFT);
    check_fills(&store, chain_header(&just), TAMIS_E_TOO_BIG, SUBS, "2^20 bits");
    const tamis_status status = open_and_free(&store, chain_header(&over), &f);
    CHECK(status == TAMIS_E_UNSUPPORTED && f == NULL, "more than 2^20 bits: %s",
          tamis_status_name(status));
    free(all);
}

/* Two sub-filters of 2^63 entries: the capacity is the largest number there is. */
static void check_capacity(void) {
    const uint64_t half = (uint64_t)1 << 63;
    const struct sub wide[] = {{0, half, 8, 0.005, 1e-18, 1, 0, 0},
                               {0, half, 8, 0.005, 1e-18, 1, 0, 0}};
    const struct chain chain = {0, 5, 2, wide, 2, 0};
    struct page_store store;
    tamis_filter *f = NULL;
    page_store_init(&store, SHIFT);
    CHECK(open_and_free(&store, chain_header(&chain), &f) == TAMIS_OK, "2^64 entries");
    CHECK(facts_of(f).capacity == UINT64_MAX, "capacity %llu",
          (unsigned long long)facts_of(f).capacity);
    tamis_free(f);
}

/* A union needs the same sub-filters, and room for the keys of both. */
static void check_unions(void) {
    static const struct sub first[] = {{6, 10, 16, 0.005, 11, 8, 7, 0},
                                       {0, 10, 16, 0.005, 11, 8, 0, 0}};
    static const struct sub subs[][2] = {
        {{4, 10, 16, 0.005, 11, 8, 7, 0}, {0, 10, 16, 0.005, 11, 8, 0, 0}}, /* they fit */
        {{5, 10, 16, 0.005, 11, 8, 7, 0}, {0, 10, 16, 0.005, 11, 8, 0, 0}}, /* 11 keys */
        {{0, 9, 16, 0.005, 11, 8, 7, 0}, {0, 10, 16, 0.005, 11, 8, 0, 0}},  /* entries */
        {{0, 10, 16, 0.005, 11, 8, 6, 0}, {0, 10, 16, 0.005, 11, 8, 0, 0}}, /* n2 */
        {{0, 10, 16, 0.005, 10, 7, 7, 0}, {0, 10, 16, 0.005, 11, 8, 0, 0}}, /* hashes */
        {{0, 10, 16, 0.005, 11, 8, 7, 0}, {0, 10, 24, 0.005, 11, 8, 0, 0}}, /* bits */
    };
    const struct chain a = {6, 4, 2, first, 2, 0};
    struct page_store store;
    page_store_init(&store, SHIFT);
    for (size_t i = 0; i < sizeof subs / sizeof *subs + 2; i++) {
        const size_t row = i < sizeof subs / sizeof *subs ? i : 0;
        const struct chain b = {subs[row][0].size, i == 6 ? 5 : 4, 2, subs[row], i == 7 ? 1 : 2, 0};
        tamis_filter *into = NULL, *from = NULL;
        CHECK(open_and_free(&store, chain_header(&a), &into) == TAMIS_OK &&
                  open_and_free(&store, chain_header(&b), &from) == TAMIS_OK,
              "union %zu", i);
        const tamis_status status = tamis_merge(into, from, TAMIS_UNION);
        CHECK(status == (i == 0 ? TAMIS_OK : TAMIS_E_MISMATCH), "union %zu: %s", i,
              tamis_status_name(status));
        tamis_free(into);
        tamis_free(from);
        count_up("unions", 1);
    }
}

/* Compacting what has one table and nothing removed changes nothing. */
static void check_compact(void) {
    const struct tables none = {0, 8, 0, 1, 2, 20, 1}, removed = {0, 8, 3, 1, 2, 20, 1};
    struct page_store store;
    page_store_init(&store, SHIFT);
    for (unsigned i = 0; i < 2; i++) {
        tamis_filter *f = NULL;
        bool changed = i == 0;
        CHECK(open_and_free(&store, cuckoo_header(i == 0 ? &none : &removed), &f) == TAMIS_OK,
              "compact %u", i);
        CHECK(tamis_compact(f, &changed) == TAMIS_OK && changed == (i == 1), "compact %u", i);
        CHECK(tamis_compact(f, NULL) == TAMIS_OK, "compact %u again", i);
        CHECK(tamis_remove(f, "none", 4) == TAMIS_E_ABSENT, "a key is removed from nothing");
        tamis_free(f);
    }
}

int main(int argc, char **argv) {
    run_start(argc, argv, "redisbloom_pages");
    check_chain_headers();
    check_cuckoo_headers();
    check_header_read();
    check_all_faults();
    check_cuckoo_limits();
    check_chain_limits();
    check_probes();
    check_capacity();
    check_unions();
    check_compact();
    return run_end();
}
