/* redisbloom.c - RedisBloom's Bloom and cuckoo filters: SCANDUMP chunks and DUMP payloads */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compat.h"
#include "../support/pages.h"
#include "redisbloom_live.h"

/* Header and data, concatenated. */
static struct vector_bytes joined(const char *header, const char *data) {
    struct vector_bytes a = vector_file(header), b = vector_file(data), both;
    both.length = a.length + b.length;
    both.at = both.length == 0 ? NULL : NEED(uint8_t, both.length);
    if (a.length != 0) memcpy(both.at, a.at, a.length);
    if (b.length != 0) memcpy(both.at + a.length, b.at, b.length);
    vector_bytes_free(&a);
    vector_bytes_free(&b);
    return both;
}

static bool flag(const char *arguments, const char *name) {
    return strstr(arguments, name) != NULL;
}

static unsigned argument(const char *arguments, const char *name, unsigned fallback) {
    const char *at = strstr(arguments, name);
    return at == NULL ? fallback : (unsigned)strtoul(at + strlen(name), NULL, 10);
}

/* An empty filter from the arguments of BF.RESERVE and CF.RESERVE. */
static tamis_filter *reserve(const struct vector_table *t, size_t row, const char *format) {
    const char *arguments = vector_cell(t, row, "reserve_args");
    const bool bloom = strcmp(vector_cell(t, row, "type"), "BF") == 0;
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    char text[128], *end;
    if (bloom) {
        snprintf(text, sizeof text, "%s:expansion=%u%s", format,
                 argument(arguments, "EXPANSION ", 2),
                 flag(arguments, "NONSCALING") ? ",nonscaling" : "");
        o.fpr = strtod(arguments, &end);
        o.capacity = strtoull(end, NULL, 10);
    } else {
        snprintf(text, sizeof text, "%s:cuckoo,bucket=%u,iterations=%u,expansion=%u", format,
                 argument(arguments, "BUCKETSIZE ", 2), argument(arguments, "MAXITERATIONS ", 20),
                 argument(arguments, "EXPANSION ", 1));
        o.capacity = strtoull(arguments, NULL, 10);
    }
    o.format = text;
    const tamis_status status = tamis_create(&o, &f);
    CHECK(status == TAMIS_OK, "%s: %s", vector_cell(t, row, "id"), tamis_status_text(status));
    return f;
}

/* Adds as the commands did: a full filter rejects a key, and the next one is tried. With add+del,
 * after every third key the one before it is removed. */
static void add_keys(tamis_filter *f, const struct vector_keys *keys, const char *mode) {
    const bool only_new = strcmp(mode, "addnx") == 0, deletes = strcmp(mode, "add+del") == 0;
    for (size_t i = 0; i < keys->count; i++) {
        if (only_new && tamis_contains(f, keys->keys[i], keys->lengths[i])) continue;
        (void)tamis_add(f, keys->keys[i], keys->lengths[i], NULL);
        if (deletes && i % 3 == 2) (void)tamis_remove(f, keys->keys[i - 1], keys->lengths[i - 1]);
    }
}

static bool holds_all(const struct vector_table *t, size_t row) {
    return strcmp(vector_cell(t, row, "mode"), "add+del") != 0 &&
           !flag(vector_cell(t, row, "reserve_args"), "NONSCALING") &&
           !flag(vector_cell(t, row, "reserve_args"), "EXPANSION 0") &&
           argument(vector_cell(t, row, "reserve_args"), "BUCKETSIZE ", 2) != 1;
}

static void check_chunks(const struct vector_table *t, size_t row,
                         const struct vector_bytes *chunks, const struct vector_keys *keys,
                         size_t *hostile) {
    const char *id = vector_cell(t, row, "id");
    struct vector_keys probes = vector_keys(vector_cell(t, row, "probes"));
    tamis_filter *f = compat_open("redisbloom", chunks, id);
    compat_detect("redisbloom", chunks, true, id);
    if (f != NULL) {
        if (holds_all(t, row)) compat_members(f, keys, id);
        compat_answers(f, &probes, vector_cell(t, row, "answers"), id);
        compat_round_trip("redisbloom", chunks, id);
        count_up("filters", 1);
    }
    tamis_free(f);
    f = reserve(t, row, "redisbloom");
    if (f != NULL) {
        add_keys(f, keys, vector_cell(t, row, "mode"));
        compat_recreated(f, chunks, id);
    }
    if (*hostile > 0) *hostile -= compat_hostile("redisbloom", chunks, 1200, id);
    vector_keys_free(&probes);
}

/* The payload has the same contents as the chunks, also after it is written uncompressed. */
static void check_dump(const struct vector_table *t, size_t row, const struct vector_bytes *chunks,
                       const struct vector_keys *keys, size_t *hostile) {
    const char *id = vector_cell(t, row, "id");
    struct vector_bytes dump = vector_file(vector_cell(t, row, "dump"));
    struct vector_keys probes = vector_keys(vector_cell(t, row, "probes"));
    tamis_filter *f = compat_open("redisbloom-dump", &dump, id);
    compat_detect("redisbloom-dump", &dump, true, id);
    if (f != NULL) {
        compat_answers(f, &probes, vector_cell(t, row, "answers"), id);
        struct bytes again = bytes_of(f);
        struct vector_bytes plain = {again.data, again.size};
        compat_round_trip("redisbloom-dump", &plain, id);
        if (chunks->length != 0) {
            CHECK(tamis_reformat(f, "redisbloom") == TAMIS_OK, "%s: not as chunks", id);
            struct bytes flat = bytes_of(f);
            CHECK(flat.size == chunks->length && memcmp(flat.data, chunks->at, flat.size) == 0,
                  "%s: the dump holds another filter than the chunks", id);
            bytes_free(&flat);
        } else {
            tamis_filter *made = reserve(t, row, "redisbloom-dump");
            add_keys(made, keys, vector_cell(t, row, "mode"));
            compat_recreated(made, &plain, id);
        }
        bytes_free(&again);
        count_up("dumps", 1);
    }
    tamis_free(f);
    if (*hostile > 0) *hostile -= compat_hostile("redisbloom-dump", &dump, 600, id);
    vector_keys_free(&probes);
    vector_bytes_free(&dump);
}

/* A cuckoo filter whose header claims as many items as it has slots, all of them empty, is
 * accepted, and must stay valid after adds. */
static void check_claimed_items(void) {
    enum { SLOTS = 18 };
    uint8_t bytes[38 + SLOTS] = {[0] = SLOTS, [8] = 1, [24] = 1, [32] = SLOTS, [34] = 1},
                       again[sizeof bytes];
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    open.format = "redisbloom";
    if (!CHECK(tamis_decode(bytes, sizeof bytes, &open, &f) == TAMIS_OK, "claimed items")) return;
    CHECK(tamis_add(f, "key", 3, NULL) == TAMIS_OK, "an add");
    CHECK(tamis_encode(f, again, sizeof again, NULL) == TAMIS_OK, "encode");
    tamis_free(f);
    const tamis_status status = tamis_decode(again, sizeof again, &open, &f);
    CHECK(status == TAMIS_OK && tamis_contains(f, "key", 3), "after an add: %s",
          tamis_status_name(status));
    tamis_free(f);
}

/* ---- recorded from RedisBloom's own code; in contiguous memory and in pages */

static struct page_store store;

static uint64_t fnv(uint64_t h, const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}
#define FNV_START UINT64_C(0xcbf29ce484222325)

static uint64_t fnv_of_pages(const tamis_filter *f) {
    uint8_t header[4096];
    uint64_t h = fnv(FNV_START, header, tamis_header_read(f, 0, header, sizeof header));
    const void *t;
    for (size_t i = 0; (t = tamis_storage_table(f, i)) != NULL; i++) {
        for (uint64_t at = 0; at < pages_bytes(t); at++) {
            const uint8_t byte = pages_get(t, at);
            h = fnv(h, &byte, 1);
        }
    }
    return h;
}

static uint64_t fnv_of(const tamis_filter *f) {
    struct bytes all = bytes_of(f);
    const uint64_t h = fnv(FNV_START, all.data, all.size);
    bytes_free(&all);
    return h;
}

static size_t from_hex(const char *text, uint8_t *bytes) {
    size_t length = 0;
    for (; text[2 * length] != '\0'; length++) {
        const char digits[3] = {text[2 * length], text[2 * length + 1], '\0'};
        bytes[length] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return length;
}

/* `bytes` begin with a header of `header` bytes. */
static tamis_filter *open_live(const uint8_t *bytes, size_t header, size_t length, bool paged) {
    tamis_open_options o = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    o.format = "redisbloom";
    o.storage = paged ? &store.storage : NULL;
    (void)(paged ? tamis_header_open(bytes, header, &o, &f) : tamis_decode(bytes, length, &o, &f));
    return f;
}

static void check_live_chain(const struct live_chain *row, bool paged) {
    uint8_t bytes[1024] = {0};
    const size_t header = from_hex(row->header, bytes);
    const size_t length = header + (size_t)bytes[20] + 256 * (size_t)bytes[21];
    tamis_filter *f = open_live(bytes, header, length, paged);
    char key[32];
    int added = 0, found = 0;
    tamis_status last = TAMIS_OK;
    if (!CHECK(f != NULL, "%s: refused", row->name)) return;
    for (int i = 0; i < row->keys; i++) {
        bool fresh = false;
        last = tamis_add(f, key, (size_t)snprintf(key, sizeof key, "key-%d", i), &fresh);
        added += last == TAMIS_OK && fresh;
    }
    for (int i = 0; i < 10000; i++) {
        found += tamis_contains(f, key, (size_t)snprintf(key, sizeof key, "other-%d", i));
    }
    if (last == TAMIS_E_NOMEM) last = TAMIS_E_TOO_BIG; /* one status in RedisBloom */
    CHECK(added == row->added && last == row->last, "%s: %d added, then %s", row->name, added,
          tamis_status_name(last));
    CHECK(found == row->false_positives, "%s: %d false positives", row->name, found);
    CHECK((paged ? fnv_of_pages(f) : fnv_of(f)) == row->fnv, "%s: other bytes", row->name);
    tamis_free(f);
}

/* A full filter of one entry whose next sub-filter would have 2 bits, and no entries: RedisBloom
 * adds it, but a filter with it is not read again, so the add is refused. */
static void check_no_entries(void) {
    uint8_t bytes[73 + 8], again[256];
    const size_t header = from_hex(
        "0100000000000000010000000300000001000000"
        "080000000000000040000000000000000100000000000000"
        "000000000000d03f04832b654715074003000000010000000000000000",
        bytes);
    memset(bytes + header, 0, 8);
    tamis_filter *f = open_live(bytes, header, header + 8, false), *read = NULL;
    if (!CHECK(f != NULL && header == 73, "no entries: refused")) return;
    CHECK(tamis_add(f, "key", 3, NULL) == TAMIS_E_TOO_BIG, "a sub-filter without entries");
    size_t length = 0;
    CHECK(tamis_encode(f, again, sizeof again, &length) == TAMIS_OK, "encode");
    CHECK(tamis_decode(again, length, NULL, &read) == TAMIS_OK, "not read again");
    tamis_free(f);
    tamis_free(read);
}

/* Sub-filters of 1,075 hashes, as many as the lowest error needs: a lookup may read 2^20 bits, the
 * hashes of 975 such sub-filters. */
static void check_probes(void) {
    static const char sub[] =
        "c000000000000000000600000000000000000000000000000100000000000000"
        "000000000038984033040000010000000000000000";
    for (size_t subs = 975; subs <= 976; subs++) {
        const size_t header = 20 + 53 * subs, length = header + 192 * subs;
        struct bytes all = bytes_new(length);
        memset(all.data, 0xff, length);
        memset(all.data, 0, 20);
        all.data[8] = (uint8_t)subs;
        all.data[9] = (uint8_t)(subs >> 8);
        all.data[12] = 5;
        all.data[16] = 1;
        for (size_t i = 0; i < subs; i++) {
            CHECK(from_hex(sub, all.data + 20 + 53 * i) == 53, "a sub-filter");
        }
        tamis_open_options o = TAMIS_OPEN_INIT;
        tamis_filter *f = NULL;
        o.format = "redisbloom";
        const tamis_status status = tamis_decode(all.data, length, &o, &f);
        CHECK(status == (subs == 975 ? TAMIS_OK : TAMIS_E_UNSUPPORTED), "%zu sub-filters: %s", subs,
              tamis_status_name(status));
        CHECK(f == NULL || tamis_contains(f, "key", 3), "all bits are set");
        tamis_free(f);
        bytes_free(&all);
    }
}

static tamis_filter *open_live_cuckoo(const struct live_header *h, const uint8_t *slots,
                                      bool paged) {
    uint8_t bytes[38 + 1024] = {
        [8] = (uint8_t)h->buckets,      [24] = 1,
        [32] = (uint8_t)h->bucket_size, [33] = (uint8_t)(h->bucket_size >> 8),
        [34] = (uint8_t)h->iterations,  [36] = 1};
    const size_t length = (size_t)h->buckets * h->bucket_size;
    if (slots != NULL) memcpy(bytes + 38, slots, length);
    tamis_filter *f = open_live(bytes, 38, 38 + length, paged);
    for (size_t i = 0; paged && f != NULL && slots != NULL && i < length; i++) {
        pages_set(tamis_storage_table(f, 0), i, slots[i]);
    }
    return f;
}

static void check_live_cuckoo(bool paged) {
    for (size_t i = 0; i < sizeof live_headers / sizeof *live_headers; i++) {
        tamis_filter *f = open_live_cuckoo(&live_headers[i], NULL, paged);
        CHECK((f != NULL) == live_headers[i].accepted, "header %zu", i);
        tamis_free(f);
    }
    for (size_t i = 0; i < sizeof live_counts / sizeof *live_counts; i++) {
        const struct live_header h = {live_counts[i].buckets, 4, 20, true};
        uint8_t slots[64];
        (void)from_hex(live_counts[i].slots, slots);
        tamis_filter *f = open_live_cuckoo(&h, slots, paged);
        for (int k = 0; f != NULL && k < 8; k++) {
            char key[8];
            const size_t length = (size_t)snprintf(key, sizeof key, "k%d", k);
            const unsigned count = tamis_count(f, key, length);
            CHECK(count == live_counts[i].counts[k], "%u of k%d in table %zu", count, k, i);
        }
        CHECK(f != NULL, "table %zu", i);
        tamis_free(f);
    }
}

/* Copies are independent; a union holds the keys of both; calls that need contiguous tables are
 * refused. */
static void check_storage(void) {
    uint8_t bytes[1024] = {0};
    const size_t header = from_hex(live_chains[0].header, bytes);
    tamis_filter *a = open_live(bytes, header, 0, true), *b = NULL;
    if (!CHECK(a != NULL && tamis_clone(a, &b) == TAMIS_OK, "a copy")) return;
    CHECK(tamis_add(a, "a", 1, NULL) == TAMIS_OK && tamis_add(b, "b", 1, NULL) == TAMIS_OK, "add");
    CHECK(!tamis_contains(b, "a", 1) && !tamis_contains(a, "b", 1), "copies share keys");
    CHECK(tamis_merge(a, b, TAMIS_UNION) == TAMIS_OK, "union");
    CHECK(tamis_contains(a, "a", 1) && tamis_contains(a, "b", 1), "union without keys");
    CHECK(tamis_merge(a, b, TAMIS_INTERSECTION) == TAMIS_E_NO_MERGE, "intersection");
    CHECK(tamis_encode(a, bytes, sizeof bytes, NULL) == TAMIS_E_UNSUPPORTED, "encoded");
    CHECK(tamis_compact(a, NULL) == TAMIS_E_UNSUPPORTED, "a chain was compacted");
    tamis_free(a);
    tamis_free(b);
    tamis_open_options o = TAMIS_OPEN_INIT;
    CHECK(tamis_header_open(bytes, header, &o, &a) == TAMIS_E_ARGUMENT, "without a storage");
    o.storage = &store.storage;
    CHECK(tamis_header_open(bytes, 20, &o, &a) == TAMIS_E_TRUNCATED, "half a header");
    CHECK(tamis_header_open(bytes, header + 1, &o, &a) == TAMIS_E_TRAILING, "a longer header");
    bytes[20 + 3] = 1; /* 2^24 bytes more */
    bytes[20 + 8 + 3] = 8;
    CHECK(tamis_header_open(bytes, header, &o, &a) == TAMIS_E_TOO_BIG && a == NULL, "too big");
}

int main(int argc, char **argv) {
    run_start(argc, argv, "redisbloom");
    struct vector_table t = vector_table("redisbloom/manifest.tsv");
    size_t hostile_chunks = (size_t)run_pick(3, 25, 60), hostile_dumps = hostile_chunks;
    for (size_t i = 0; i < t.rows; i++) {
        struct vector_bytes chunks =
            joined(vector_cell(&t, i, "header"), vector_cell(&t, i, "data"));
        struct vector_keys keys = vector_keys(vector_cell(&t, i, "keys"));
        if (chunks.length != 0) check_chunks(&t, i, &chunks, &keys, &hostile_chunks);
        check_dump(&t, i, &chunks, &keys, &hostile_dumps);
        vector_keys_free(&keys);
        vector_bytes_free(&chunks);
    }
    vector_table_free(&t);
    check_claimed_items();
    page_store_init(&store, 6);
    for (int paged = 0; paged < 2; paged++) {
        for (size_t i = 0; i < sizeof live_chains / sizeof *live_chains; i++) {
            check_live_chain(&live_chains[i], paged != 0);
        }
        check_live_cuckoo(paged != 0);
    }
    check_storage();
    check_no_entries();
    check_probes();
    CHECK(store.live == 0, "%zu tables are open", store.live);
    return run_end();
}
