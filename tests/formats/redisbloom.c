/* redisbloom.c - RedisBloom's Bloom chains and cuckoo filters: SCANDUMP chunks and DUMP payloads */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/foreign.h"

/* Header and data in one piece, as a user would keep them. */
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

/* An empty filter by the arguments of BF.RESERVE and CF.RESERVE. */
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
        o.rate = strtod(arguments, &end);
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

/* Adds as the commands did: a filter that is full refuses, and the next key is tried.  With
 * add+del, after every third key the one before it is deleted again. */
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
    tamis_filter *f = foreign_open("redisbloom", chunks, id);
    foreign_detect("redisbloom", chunks, true, id);
    if (f != NULL) {
        if (holds_all(t, row)) foreign_members(f, keys, id);
        foreign_answers(f, &probes, vector_cell(t, row, "answers"), id);
        foreign_round_trip("redisbloom", chunks, id);
        tally("filters", 1);
    }
    tamis_free(f);
    f = reserve(t, row, "redisbloom");
    if (f != NULL) {
        add_keys(f, keys, vector_cell(t, row, "mode"));
        foreign_recreated(f, chunks, id);
    }
    if (*hostile > 0) *hostile -= foreign_hostile("redisbloom", chunks, 1200, id);
    vector_keys_free(&probes);
}

/* The payload holds what the chunks hold; written again, uncompressed, it still does. */
static void check_dump(const struct vector_table *t, size_t row, const struct vector_bytes *chunks,
                       const struct vector_keys *keys, size_t *hostile) {
    const char *id = vector_cell(t, row, "id");
    struct vector_bytes dump = vector_file(vector_cell(t, row, "dump"));
    struct vector_keys probes = vector_keys(vector_cell(t, row, "probes"));
    tamis_filter *f = foreign_open("redisbloom-dump", &dump, id);
    foreign_detect("redisbloom-dump", &dump, true, id);
    if (f != NULL) {
        foreign_answers(f, &probes, vector_cell(t, row, "answers"), id);
        struct bytes again = bytes_of(f);
        struct vector_bytes plain = {again.data, again.size};
        foreign_round_trip("redisbloom-dump", &plain, id);
        if (chunks->length != 0) {
            CHECK(tamis_reformat(f, "redisbloom") == TAMIS_OK, "%s: not as chunks", id);
            struct bytes flat = bytes_of(f);
            CHECK(flat.size == chunks->length && memcmp(flat.data, chunks->at, flat.size) == 0,
                  "%s: the dump holds another filter than the chunks", id);
            bytes_free(&flat);
        } else {
            tamis_filter *made = reserve(t, row, "redisbloom-dump");
            add_keys(made, keys, vector_cell(t, row, "mode"));
            foreign_recreated(made, &plain, id);
        }
        bytes_free(&again);
        tally("dumps", 1);
    }
    tamis_free(f);
    if (*hostile > 0) *hostile -= foreign_hostile("redisbloom-dump", &dump, 600, id);
    vector_keys_free(&probes);
    vector_bytes_free(&dump);
}

/* A cuckoo filter whose header claims as many items as it has slots, all of them empty, is
 * accepted. What it becomes by adding must be so, too. */
static void check_claimed_items(void) {
    enum { SLOTS = 18 };
    uint8_t bytes[38 + SLOTS] = {[0] = SLOTS, [8] = 1, [24] = 1, [32] = SLOTS}, again[sizeof bytes];
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
    return run_end();
}
