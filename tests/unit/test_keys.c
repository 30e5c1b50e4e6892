/* test_keys.c - collects hashes and returns them in shards: each distinct hash once, in its
 * bucket; the same set in memory, spilled and borrowed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/filters.h"
#include "build/keys_runs.h"
#include "core/bits.h"

static const tamis_allocator standard = {NULL, NULL, NULL, NULL};

/* As in most families; with --quick few enough for 100,000 hashes to have several shards. */
static uint64_t shard_keys = TAMIS__SHARD_KEYS;

/* A radix sort, eight bits at a time: it sorts millions, also under emulation. */
static void sort(uint64_t *hashes, size_t count) {
    uint64_t *from = hashes, *to = NEED(uint64_t, count), *const other = to;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t at[257] = {0};
        for (size_t i = 0; i < count; i++) at[(from[i] >> shift & 255) + 1]++;
        for (size_t b = 0; b < 256; b++) at[b + 1] += at[b];
        for (size_t i = 0; i < count; i++) to[at[from[i] >> shift & 255]++] = from[i];
        uint64_t *const swapped = from;
        from = to;
        to = swapped;
    }
    free(other); /* after an even number of passes the result is in the first array */
}

/* Mixed, sorted and without duplicates: the expected contents of all shards. */
static size_t sorted_set(const uint64_t *hashes, size_t count, uint64_t *out) {
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) out[i] = tamis__mix64(hashes[i]);
    sort(out, count);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || out[i] != out[i - 1]) out[distinct++] = out[i];
    }
    return distinct;
}

/* Reads all shards; checks each by itself; returns their hashes, sorted, in `out`. */
static size_t collect(struct tamis__keys *keys, uint64_t *out) {
    const unsigned lg = tamis__keys_lg_shards(tamis__keys_count(keys), shard_keys);
    size_t total = 0;
    assert_int_equal(tamis__keys_seal(keys, lg, 3, false), TAMIS_OK);
    for (uint64_t shard = 0; shard < UINT64_C(1) << lg; shard++) {
        struct tamis__group group;
        assert_int_equal(tamis__keys_shard(keys, shard, 3, &group), TAMIS_OK);
        assert_int_equal(tamis__group_distinct(&group, 3), TAMIS_OK);
        const size_t buckets = (size_t)1 << group.lg_buckets;
        assert_int_equal(group.start[0], 0);
        assert_int_equal(group.start[buckets], group.count);
        for (size_t b = 0; b < buckets; b++) {
            assert_true(group.start[b] <= group.start[b + 1]);
            for (size_t i = group.start[b]; i < group.start[b + 1]; i++) {
                const uint64_t inner = group.hashes[i];
                const uint64_t top = group.lg_buckets == 0 ? 0 : inner >> (64 - group.lg_buckets);
                assert_int_equal(top, b);
                if (lg != 0) assert_int_equal(inner << (64 - lg), 0);
                out[total++] = lg == 0 ? inner : shard << (64 - lg) | inner >> lg;
            }
        }
        tamis__group_free(&group);
    }
    sort(out, total);
    return total;
}

enum way { IN_MEMORY, SPILLED, BORROWED, WAYS };

static struct tamis__keys *gather(enum way way, const tamis_allocator *a, const uint64_t *hashes,
                                  size_t count) {
    struct tamis__keys *keys = NULL;
    if (way == BORROWED) {
        assert_int_equal(tamis__keys_borrow(a, hashes, count, &keys), TAMIS_OK);
        return keys;
    }
    assert_int_equal(tamis__keys_create(a, way == SPILLED ? 65536 : 0, NULL, &keys), TAMIS_OK);
    for (size_t at = 0, piece; at < count; at += piece) {
        piece = count - at < 777 ? count - at : 777;
        assert_int_equal(tamis__keys_add(keys, hashes + at, piece), TAMIS_OK);
    }
    return keys;
}

static void same_set(const uint64_t *hashes, size_t count) {
    uint64_t *expected = NEED(uint64_t, count), *got = NEED(uint64_t, count);
    const size_t distinct = sorted_set(hashes, count, expected);
    for (int way = 0; way < WAYS; way++) {
        struct meter meter;
        meter_reset(&meter);
        const tamis_allocator metered = meter_allocator(&meter);
        struct tamis__keys *keys = gather((enum way)way, &metered, hashes, count);
        assert_int_equal(tamis__keys_count(keys), count);
        assert_int_equal(collect(keys, got), distinct);
        if (distinct != 0) assert_memory_equal(got, expected, distinct * sizeof *got);
        tamis__keys_free(keys);
        assert_int_equal(atomic_load(&meter.live), 0);
        assert_int_equal(atomic_load(&meter.wrong_size), 0);
    }
    free(expected);
    free(got);
}

static void test_sets(void **state) {
    const size_t sizes[] = {0, 1, 2, 3, 10, 100, 1000, 5000, 100000};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t *hashes = hashes_make(sizes[s], sizes[s], STREAM_MEMBERS);
        same_set(hashes, sizes[s]);
        for (size_t i = 0; i < sizes[s]; i++) hashes[i] = hashes[i / 2]; /* pairs */
        same_set(hashes, sizes[s]);
        for (size_t i = 0; i < sizes[s]; i++) hashes[i] = i; /* counters */
        same_set(hashes, sizes[s]);
        for (size_t i = 0; i < sizes[s]; i++) hashes[i] = 42; /* one key */
        same_set(hashes, sizes[s]);
        for (size_t i = 0; i < sizes[s]; i++) hashes[i] = tamis__unmix64(i); /* one bucket */
        same_set(hashes, sizes[s]);
        free(hashes);
    }
}

/* Past `shard_keys` there are several shards. */
static void test_shards(void **state) {
    const size_t count = (size_t)shard_keys + 100000;
    uint64_t *hashes = hashes_make(count, 5, STREAM_MEMBERS);
    (void)state;
    for (size_t i = 1; i < count; i += 9) hashes[i] = hashes[i - 1];
    assert_true(tamis__keys_lg_shards(count, shard_keys) >= 1);
    same_set(hashes, count);
    free(hashes);
}

/* Runs with any number of shards: as many as parts, fewer, and more.  Those in the first half
 * of the hashes are spilled, or not. */
static void runs_in_shards(const uint64_t *mixed, size_t count, unsigned lg, bool spill) {
    struct tamis__runs runs;
    uint64_t *got = NEED(uint64_t, count);
    size_t total = 0;
    assert_int_equal(tamis__runs_open(&runs, &standard, spill ? 1 : 0, "/tmp"), TAMIS_OK);
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < 3000 ? count - at : 3000;
        struct tamis__run *run = tamis__runs_begin(&runs, n);
        assert_non_null(run);
        tamis__run_fill(run, mixed + at, n);
        tamis__runs_append(&runs, run);
        if (spill && at < count / 2) assert_int_equal(tamis__runs_spill(&runs, false), TAMIS_OK);
    }
    tamis__runs_seal(&runs, lg);
    for (uint64_t shard = 0; shard < UINT64_C(1) << lg; shard++) {
        struct tamis__group g = {.allocator = standard};
        assert_int_equal(tamis__runs_shard(&runs, shard, 3, &g), TAMIS_OK);
        for (size_t b = 0; b < (size_t)1 << g.lg_buckets; b++) {
            for (size_t i = g.start[b]; i < g.start[b + 1]; i++) {
                assert_int_equal(tamis__part_of(g.hashes[i], 0, g.lg_buckets), b);
                got[total++] = lg == 0 ? g.hashes[i] : shard << (64 - lg) | g.hashes[i] >> lg;
            }
        }
        tamis__group_free(&g);
    }
    assert_int_equal(total, count);
    sort(got, count);
    for (size_t i = 0; i < count; i++) assert_int_equal(got[i] >> lg << lg, mixed[i] >> lg << lg);
    tamis__runs_close(&runs);
    free(got);
}

static void test_runs(void **state) {
    const size_t count = 100000;
    const unsigned lg[] = {0, 1, 5, 10, 11, 13};
    uint64_t *hashes = hashes_make(count, 7, STREAM_MEMBERS);
    (void)state;
    sort(hashes, count);
    for (size_t i = 0; i < sizeof lg / sizeof *lg; i++) {
        runs_in_shards(hashes, count, lg[i], false);
        runs_in_shards(hashes, count, lg[i], true);
    }
    free(hashes);
}

static void test_lg_shards(void **state) {
    const uint64_t max = TAMIS__SHARD_KEYS;
    (void)state;
    assert_int_equal(tamis__keys_lg_shards(0, max), 0);
    assert_int_equal(tamis__keys_lg_shards(1, max), 0);
    assert_int_equal(tamis__keys_lg_shards(max, max), 0);
    unsigned before = 0;
    for (unsigned lg = 0; lg < 64; lg++) {
        const unsigned shards = tamis__keys_lg_shards(UINT64_C(1) << lg, max);
        assert_true(shards >= before && shards <= TAMIS__SHARDS_LG_MAX);
        assert_true(shards == TAMIS__SHARDS_LG_MAX || (UINT64_C(1) << lg) >> shards <= max);
        before = shards;
    }
    assert_int_equal(tamis__keys_lg_shards(UINT64_MAX, max), TAMIS__SHARDS_LG_MAX);
}

/* Each thread has a shard in memory: 16 bytes per hash. */
static void test_threads_within_memory(void **state) {
    const size_t count = 200000;
    const struct {
        uint64_t memory;
        unsigned threads;
    } cases[] = {{0, 8}, {64 << 20, 8}, {16 << 20, 5}, {1 << 20, 1}};
    uint64_t *hashes = hashes_make(count, 5, STREAM_MEMBERS);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tamis__keys *keys = NULL;
        assert_int_equal(tamis__keys_create(&standard, cases[i].memory, NULL, &keys), TAMIS_OK);
        assert_int_equal(tamis__keys_add(keys, hashes, count), TAMIS_OK);
        assert_int_equal(tamis__keys_threads(keys, 0, 8), cases[i].threads);
        tamis__keys_free(keys);
    }
    free(hashes);
}

/* A missing directory: adds fail with E_IO once they must spill, not before. */
static void test_no_place_to_spill(void **state) {
    struct tamis__keys *keys = NULL;
    uint64_t *hashes = hashes_make(100000, 5, STREAM_MEMBERS);
    (void)state;
    tamis_status status = tamis__keys_create(&standard, 65536, "/nonexistent/directory", &keys);
    if (status == TAMIS_OK) status = tamis__keys_add(keys, hashes, 100000);
    if (status == TAMIS_OK) status = tamis__keys_seal(keys, 0, 1, false);
    assert_int_equal(status, TAMIS_E_IO);
    tamis__keys_free(keys);
    tamis__keys_free(NULL);
    free(hashes);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--quick") == 0) shard_keys = 1 << 16;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_lg_shards),
        cmocka_unit_test(test_threads_within_memory),
        cmocka_unit_test(test_no_place_to_spill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
