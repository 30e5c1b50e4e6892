/* storage_faults.c - memory runs out in filters whose tables are in the caller's storage
 *
 * A Bloom and a cuckoo filter of RedisBloom grow key by key, are copied, united and compacted,
 * while the first allocation fails, then the second, and so on: of the library and of the pages,
 * which the storage allocates here as they are written.  A failed call is E_NOMEM, loses no key,
 * counts nothing and leaks nothing; repeated, it succeeds, and in the end the Bloom filter has the
 * bytes that it gets without a failure.  (A cuckoo filter may use another slot where one cannot be
 * read; it has the same number of keys.) */
#include <stdlib.h>
#include <string.h>

#include "../support/filters.h"

#define KEYS 60
#define STEPS_MAX 5000
#define PAGE_SHIFT 5
enum { PAGE = 1 << PAGE_SHIFT };

static struct meter meter;
static uint64_t integers[KEYS];
static const void *keys[KEYS];
static size_t lengths[KEYS];

/* ---- pages */

struct pages {
    uint64_t bytes;
    uint8_t *page[];
};

static size_t page_count(uint64_t bytes) { return (size_t)((bytes + PAGE - 1) / PAGE); }
static size_t pages_size(uint64_t bytes) {
    return sizeof(struct pages) + page_count(bytes) * sizeof(uint8_t *);
}

static void *zeros(size_t size) {
    const tamis_allocator a = meter_allocator(&meter);
    void *block = a.alloc(a.context, size);
    return block == NULL ? NULL : memset(block, 0, size);
}

static void release(void *block, size_t size) {
    const tamis_allocator a = meter_allocator(&meter);
    if (block != NULL) a.free(a.context, block, size);
}

static void *pages_open(void *context, uint64_t bytes) {
    struct pages *t = zeros(pages_size(bytes));
    (void)context;
    if (t != NULL) t->bytes = bytes;
    return t;
}

static void pages_close(void *table) {
    struct pages *t = table;
    for (size_t i = 0; i < page_count(t->bytes); i++) release(t->page[i], PAGE);
    release(t, pages_size(t->bytes));
}

/* Reading may fail as well: a page that another process holds. */
static const uint8_t *pages_read(void *table, uint64_t page, bool *failed) {
    const struct pages *t = table;
    void *probe = t->page[page] != NULL ? zeros(1) : NULL;
    if (t->page[page] != NULL && probe == NULL) {
        *failed = true;
        return NULL;
    }
    release(probe, 1);
    return t->page[page];
}

static uint8_t *pages_write(void *table, uint64_t page) {
    struct pages *t = table;
    if (t->page[page] == NULL) t->page[page] = zeros(PAGE);
    return t->page[page];
}

static bool pages_unite(void *into, void *from) {
    const struct pages *other = from;
    for (size_t i = 0; i < page_count(other->bytes); i++) {
        if (other->page[i] == NULL) continue;
        uint8_t *page = pages_write(into, i);
        if (page == NULL) return false;
        for (size_t j = 0; j < PAGE; j++) page[j] = (uint8_t)(page[j] | other->page[i][j]);
    }
    return true;
}

static void *pages_copy(void *table) {
    void *copy = pages_open(NULL, ((struct pages *)table)->bytes);
    if (copy == NULL || pages_unite(copy, table)) return copy;
    pages_close(copy);
    return NULL;
}

static const tamis_storage storage = {.struct_size = sizeof storage,
                                      .page_shift = PAGE_SHIFT,
                                      .max_bytes = 1 << 20,
                                      .open = pages_open,
                                      .close = pages_close,
                                      .copy = pages_copy,
                                      .unite = pages_unite,
                                      .read = pages_read,
                                      .write = pages_write};

/* ---- filters */

/* The header, then the tables. */
static struct bytes all_bytes(const tamis_filter *f) {
    struct bytes b = bytes_new(1 << 16);
    const struct pages *t;
    memset(b.data, 0, b.size);
    size_t at = tamis_header_read(f, 0, b.data, b.size);
    for (size_t i = 0; (t = tamis_storage_table(f, i)) != NULL; i++) {
        for (size_t j = 0; j < page_count(t->bytes) && at + PAGE <= b.size; j++, at += PAGE) {
            if (t->page[j] != NULL) memcpy(b.data + at, t->page[j], PAGE);
        }
    }
    return b;
}

/* A call that fails is repeated when memory is back; one that fails again is a failed check. */
static uint64_t refused;
static bool again(tamis_status status) {
    CHECK(status == TAMIS_OK || status == TAMIS_E_NOMEM, "%s", tamis_status_name(status));
    if (status != TAMIS_E_NOMEM) return false;
    refused++;
    if (CHECK(meter.fail_at != 0, "E_NOMEM although no allocation fails")) meter.fail_at = 0;
    return true;
}

static tamis_filter *open_header(const struct bytes *header) {
    tamis_open_options how = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL;
    how.format = "redisbloom";
    how.storage = &storage;
    how.allocator = meter_allocator(&meter);
    const uint64_t live = atomic_load(&meter.live);
    while (again(tamis_header_open(header->data, header->size, &how, &f))) {
        CHECK(f == NULL && atomic_load(&meter.live) == live, "a failed open leaves something");
    }
    return f;
}

/* Looks up without faults: with them a lookup may return true. */
static void check_members(const tamis_filter *f, size_t count, const char *what) {
    const uint64_t fail_at = meter.fail_at, calls = atomic_load(&meter.calls);
    meter.fail_at = 0;
    CHECK(tamis_contains_batch(f, keys, lengths, count, NULL) == count, "%s: a key is lost", what);
    atomic_store(&meter.calls, calls);
    meter.fail_at = fail_at;
}

static void add_keys(tamis_filter *f, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        const uint64_t before = facts_of(f).adds;
        while (again(tamis_add(f, keys[i], lengths[i], NULL))) {
            CHECK(facts_of(f).adds == before, "a failed add is counted");
            check_members(f, i, "a failed add");
        }
    }
    check_members(f, to, "add");
}

static tamis_filter *clone(const tamis_filter *f) {
    tamis_filter *copy = NULL;
    while (again(tamis_clone(f, &copy))) CHECK(copy == NULL, "a failed clone made something");
    return copy;
}

/* Keys are added, and the filter is copied and, as far as it can be, united, reduced and compacted.
 * Returns its bytes. */
static struct bytes work(const struct bytes *header, bool cuckoo) {
    tamis_filter *f = open_header(header), *copy = NULL;
    if (f == NULL) return bytes_new(0);
    add_keys(f, 0, KEYS / 2);
    copy = clone(f);
    add_keys(f, KEYS / 2, KEYS);
    if (copy != NULL) check_members(copy, KEYS / 2, "clone");
    for (size_t i = 0; cuckoo && i < KEYS / 2; i++) {
        while (again(tamis_remove(f, keys[KEYS - 1 - i], lengths[KEYS - 1 - i]))) {
        }
    }
    if (cuckoo) {
        while (again(tamis_compact(f, NULL))) check_members(f, KEYS / 2, "a failed compact");
        check_members(f, KEYS / 2, "compact");
    }
    struct bytes bytes = all_bytes(f);
    tamis_free(copy);
    tamis_free(f);
    CHECK(atomic_load(&meter.live) == 0 && atomic_load(&meter.wrong_size) == 0, "a leak");
    return bytes;
}

/* The union of two filters of the same shape: repeated after a failure it counts each key once. */
static struct bytes unite(const struct bytes *header, bool cuckoo) {
    tamis_filter *f = open_header(header), *other = open_header(header);
    if (!CHECK(!cuckoo && f != NULL && other != NULL, "open")) return bytes_new(0);
    add_keys(f, 0, 4);
    add_keys(other, 0, 3);
    const uint64_t before = facts_of(f).adds;
    while (again(tamis_merge(f, other, TAMIS_UNION))) {
        CHECK(facts_of(f).adds == before, "a failed union is counted");
        check_members(f, 4, "a failed union");
    }
    struct bytes bytes = all_bytes(f);
    tamis_free(other);
    tamis_free(f);
    CHECK(atomic_load(&meter.live) == 0, "a leak");
    return bytes;
}

/* The header of an empty filter for a few keys: the encoding begins with it. */
static struct bytes header_of(bool cuckoo) {
    tamis_options o = TAMIS_OPTIONS_INIT;
    tamis_filter *f = NULL;
    o.format = cuckoo ? "redisbloom:cuckoo" : "redisbloom";
    o.capacity = 8;
    o.fpr = 0.01;
    CHECK(tamis_create(&o, &f) == TAMIS_OK, "%s", o.format);
    struct bytes b = bytes_of(f);
    b.size = cuckoo ? 38 : 73; /* of one sub-filter */
    tamis_free(f);
    return b;
}

static void every_step(struct bytes (*run)(const struct bytes *, bool), bool cuckoo) {
    struct bytes header = header_of(cuckoo);
    meter_reset(&meter);
    struct bytes wanted = run(&header, cuckoo);
    const uint64_t calls = atomic_load(&meter.calls), stride = run_pick(7, 1, 1);
    CHECK(calls > 5 && calls < STEPS_MAX, "%llu allocations", (unsigned long long)calls);
    for (uint64_t step = 1; step <= calls; step += stride) {
        for (unsigned once = 0; once < 2; once++) {
            meter_reset(&meter);
            meter.fail_at = step;
            meter.fail_once = once != 0;
            refused = 0;
            struct bytes got = run(&header, cuckoo);
            CHECK(cuckoo ? memcmp(got.data, wanted.data, 8) == 0 : bytes_equal(&got, &wanted),
                  "%s, allocation %llu: another result (%llu refused)", cuckoo ? "cuckoo" : "Bloom",
                  (unsigned long long)step, (unsigned long long)refused);
            bytes_free(&got);
            count_up("runs", 1);
            count_up("failed allocations", 1);
        }
    }
    bytes_free(&wanted);
    bytes_free(&header);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "storage_faults");
    integer_keys(integers, keys, lengths, KEYS);
    every_step(work, false);
    every_step(work, true);
    every_step(unite, false);
    return run_end();
}
