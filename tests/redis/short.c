/* short.c - law: an item that a filter has accepted is found, whichever allocation failed before
 *
 * The filters of the module without a server, on an allocator that refuses the N-th request, or all
 * from the N-th on: for every N, until a run needs no more.  AddressSanitizer reports
 * leaks. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filters/bf.h"
#include "filters/cf.h"
#include "server/memory.h"
#include "server/worker.h"
#include "support/check.h"

/* ---- memory, as memory.h has it */

static uint64_t asked, refused_at;
static bool for_good; /* all that follow are refused as well */
static uint64_t refusals;

static bool is_refused(void) {
    const uint64_t now = asked++;
    const bool is = now == refused_at || (for_good && now > refused_at);
    refusals += is;
    return is;
}

void *memory_alloc(size_t size) { return is_refused() ? NULL : malloc(size); }
void *memory_zeroed(size_t size) { return is_refused() ? NULL : calloc(1, size); }
void memory_free(void *block) { free(block); }
bool memory_is_short(void) { return false; }
_Noreturn void memory_exhausted(size_t size) {
    (void)size;
    abort(); /* nothing is saved here */
}

static void *library_alloc(void *context, size_t size) {
    (void)context;
    return memory_alloc(size);
}
static void *library_zeroed(void *context, size_t size) {
    (void)context;
    return memory_zeroed(size);
}
static void library_free(void *context, void *block, size_t size) {
    (void)context, (void)size;
    free(block);
}
tamis_allocator memory_allocator(void) {
    return (tamis_allocator){
        .alloc = library_alloc, .free = library_free, .zeroed = library_zeroed};
}

static void no_chance(unsigned char *bytes, size_t length) { memset(bytes, 7, length); }

/* ---- items, and who has taken them */

#define ITEMS 1152 /* nine batches */

struct model {
    int times[ITEMS];
};

static struct items items_of(size_t first, size_t count) {
    static char text[SCALABLE_BATCH][16];
    struct items items = {.count = count};
    for (size_t i = 0; i < count; i++) {
        items.length[i] = (size_t)snprintf(text[i], sizeof text[i], "item-%zu", first + i);
        items.bytes[i] = text[i];
    }
    return items;
}

static char round_name[80];

static void compare(const char *what, const struct model *m, size_t at, const bool *results) {
    for (size_t i = 0; i < SCALABLE_BATCH && at + i < ITEMS; i++) {
        CHECK(results[i] || m->times[at + i] <= 0, "%s: item %zu of `%s` is missing", round_name,
              at + i, what);
    }
}

/* ---- Bloom filters: copied, changed, merged, and changed again while others have the tables */

static void bf_take(struct bf *f, struct model *m, size_t first, size_t count) {
    const struct items items = items_of(first, count);
    struct bf_batch b;
    bf_add(f, &items, &b);
    for (size_t i = 0; i < b.done; i++) m->times[first + i] = 1;
}

static void bf_compare(const char *what, const struct bf *f, const struct model *m) {
    for (size_t at = 0; f != NULL && at < ITEMS; at += SCALABLE_BATCH) {
        const struct items items = items_of(at, SCALABLE_BATCH);
        bool results[SCALABLE_BATCH];
        bf_contains(f, &items, 0, results);
        compare(what, m, at, results);
    }
}

/* As RedisBloom would have made it: the library's filter gives the header. */
static tamis_filter *redisbloom_made(const tamis_options *o, tamis_kind kind, size_t header) {
    tamis_filter *made = NULL, *f = NULL;
    if (tamis_create(o, &made) != TAMIS_OK) abort();
    const size_t size = (size_t)tamis_encoded_size(made);
    uint8_t *bytes = malloc(size);
    if (bytes == NULL || tamis_encode(made, bytes, size, NULL) != TAMIS_OK) abort();
    f = redisbloom_open(kind, bytes, header, UINT64_MAX);
    free(bytes);
    tamis_free(made);
    return f;
}

static struct bf *new_redisbloom_bloom(uint64_t capacity) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.format = "redisbloom";
    o.capacity = capacity;
    return bf_of_redisbloom(
        redisbloom_made(&o, TAMIS_GROWING, REDISBLOOM_BLOOM_HEADER + REDISBLOOM_SUB));
}

static struct bf *new_bloom(uint64_t capacity, bool redisbloom) {
    const struct bf want = {.error = 0.01, .capacity = capacity, .expansion = 2};
    return redisbloom ? new_redisbloom_bloom(capacity) : bf_create(&want, 0);
}

static void bf_unite(struct bf *into, struct model *m, const struct bf *from,
                     const struct model *theirs) {
    bool changed = false;
    if (from == NULL || bf_merge(into, from, false, &changed) != NULL) return;
    for (size_t i = 0; i < ITEMS; i++) m->times[i] |= theirs->times[i];
}

/* While another has the same tables, of which some are still to be united. */
static void bf_take_more(struct bf *f, struct model *m, size_t first) {
    struct bf *other = bf_copy(f);
    bf_take(f, m, first, 1);
    for (size_t at = first + 1; at < first + 300; at += 100) bf_take(f, m, at, 100);
    bf_free(other);
}

static void bloom_run(uint64_t capacity, bool redisbloom) {
    struct model mine = {{0}}, theirs = {{0}}, strange = {{0}}, both;
    struct bf *a = new_bloom(capacity, redisbloom), *stranger = new_bloom(capacity, redisbloom);
    struct bf *b = NULL, *united = NULL;
    if (a != NULL) bf_take(a, &mine, 0, 100);
    if (stranger != NULL) bf_take(stranger, &strange, 700, 100);
    if (a != NULL) b = bf_copy(a);
    if (b != NULL) theirs = mine;
    for (size_t at = 100; a != NULL && at < 400; at += 100) bf_take(a, &mine, at, 100);
    for (size_t at = 400; b != NULL && at < 700; at += 100) bf_take(b, &theirs, at, 100);
    for (size_t way = 0; a != NULL && way < 2; way++) {
        united = bf_copy(a);
        both = mine;
        if (united == NULL) continue;
        if (way == 1) bf_unite(united, &both, stranger, &strange);
        bf_unite(united, &both, b, &theirs);
        bf_take_more(united, &both, 800);
        const uint64_t before = refused_at;
        refused_at = UINT64_MAX;
        bf_compare("united", united, &both);
        refused_at = before;
        bf_free(united);
    }
    refused_at = UINT64_MAX;
    bf_compare("a", a, &mine);
    bf_compare("b", b, &theirs);
    bf_free(a);
    bf_free(b);
    bf_free(stranger);
}

/* ---- cuckoo filters: with items that several stages have, which are taken out again */

static void cf_take(struct cf *f, struct model *m, size_t first, size_t count) {
    const struct items items = items_of(first, count);
    uint8_t results[SCALABLE_BATCH];
    cf_add(f, &items, false, CF_TAKE_ALL, results);
    for (size_t i = 0; i < count; i++) m->times[first + i] += results[i] == CF_ADDED;
}

/* Never more often than it was added.  If memory is refused the removal fails and changes nothing;
 * it never reports that the item is not there. */
static void cf_take_out(struct cf *f, struct model *m, size_t first, size_t count) {
    const struct items items = items_of(first, count);
    for (size_t i = 0; i < count; i++) {
        int *times = &m->times[first + i];
        if (*times <= 0) continue;
        const uint64_t before = cf_count(f, items.bytes[i], items.length[i]);
        bool removed = false;
        const bool good = cf_remove(f, items.bytes[i], items.length[i], &removed);
        const uint64_t after = cf_count(f, items.bytes[i], items.length[i]);
        CHECK(!good || removed, "%s: item %zu was not there", round_name, first + i);
        CHECK(good ? after < before : after == before, "%s: item %zu: %llu, then %llu", round_name,
              first + i, (unsigned long long)before, (unsigned long long)after);
        *times -= good && removed;
    }
}

static void cf_compare(const char *what, const struct cf *f, const struct model *m) {
    for (size_t at = 0; f != NULL && at < ITEMS; at += SCALABLE_BATCH) {
        const struct items items = items_of(at, SCALABLE_BATCH);
        bool results[SCALABLE_BATCH];
        cf_contains(f, &items, results);
        compare(what, m, at, results);
    }
}

static struct cf *new_redisbloom_cuckoo(uint64_t capacity) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    o.format = "redisbloom:cuckoo";
    o.capacity = capacity;
    return cf_of_redisbloom(redisbloom_made(&o, TAMIS_CUCKOO, REDISBLOOM_CUCKOO_HEADER));
}

static void cuckoo_run(uint64_t capacity, bool redisbloom) {
    const struct cf want = {
        .error = 0.01, .capacity = capacity, .bucket_size = 2, .iterations = 20, .expansion = 1};
    struct model mine = {{0}}, theirs = {{0}};
    struct cf *a = redisbloom ? new_redisbloom_cuckoo(capacity) : cf_create(&want);
    if (a == NULL) return;
    for (size_t at = 0; at < 400; at += 100) cf_take(a, &mine, at, 100);
    cf_take(a, &mine, 0, 50);
    cf_take_out(a, &mine, 0, 20); /* not from where they are: from the exact counts */
    struct cf *b = cf_copy(a);
    if (b != NULL) theirs = mine;
    cf_take_out(a, &mine, 0, 40);
    cf_take(a, &mine, 0, 60);
    for (size_t at = 0; b != NULL && at < 60; at += 20) cf_take_out(b, &theirs, at, 10);
    if (b != NULL) cf_take(b, &theirs, 0, 100);
    refused_at = UINT64_MAX;
    cf_compare("a", a, &mine);
    cf_compare("b", b, &theirs);
    cf_free(a);
    cf_free(b);
}

/* ---- every request refused in turn */

static void refuse_each(const char *name, void (*run)(uint64_t, bool), uint64_t capacity,
                        bool redisbloom) {
    bool was = true;
    for (uint64_t n = 0; was; n++) {
        const uint64_t before = refusals;
        asked = 0;
        refused_at = n;
        snprintf(round_name, sizeof round_name, "%s for %llu, request %llu%s", name,
                 (unsigned long long)capacity, (unsigned long long)n, for_good ? " and on" : "");
        run(capacity, redisbloom);
        was = refusals != before;
    }
}

int main(int argc, char **argv) {
    static const uint64_t capacities[] = {100, 300, 5000, 100000, 2500000};
    RedisModule_GetRandomBytes = no_chance;
    run_start(argc, argv, "short");
    if (!CHECK(worker_open(), "no handlers for forks")) return run_end();
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        for (int way = 0; way < 4; way++) {
            for_good = way / 2 != 0;
            refuse_each(way % 2 != 0 ? "RedisBloom BF" : "BF", bloom_run, capacities[i],
                        way % 2 != 0);
            refuse_each(way % 2 != 0 ? "RedisBloom CF" : "CF", cuckoo_run, capacities[i],
                        way % 2 != 0);
        }
    }
    count_up("refusals", refusals);
    while (worker_jobs() != 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return run_end();
}
