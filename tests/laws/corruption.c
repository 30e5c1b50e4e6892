/* corruption.c - damaged and hostile bytes
 *
 * Damage: every truncation, every extension and every change of a byte of a small .tamis file of
 * each kind is an error, because a checksum covers every byte; never a filter with false
 * negatives.
 *
 * Forgery: the same with the checksums repaired.  The decoder may then accept the bytes, but
 * nothing may crash, allocation is bounded by the bytes present, and an accepted filter encodes
 * to the same bytes.  Run it with the sanitizers, too.
 *
 * Prints the number of malformed filters of each kind; --count N makes at least N of each.
 *
 * tests: full */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/hostile.h"

static bool is_input_error(tamis_status status) {
    return status >= TAMIS_E_FORMAT && status <= TAMIS_E_CORRUPT;
}

/* Malformed filters of each kind, and those that were accepted. */
#define KINDS_MAX 32
static struct { uint64_t malformed, accepted; } tallies[KINDS_MAX];

/* Both ways in must refuse. */
static void refused(const struct variant *v, const char *what, size_t at, const uint8_t *bytes,
                    size_t size) {
    tamis_filter *f = NULL;
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.format = "tamis";
    tamis_status status = tamis_decode(bytes, size, &open, &f);
    CHECK(is_input_error(status) && f == NULL, "%s: decode, %s %zu: %s", v->name, what, at,
          tamis_status_name(status));
    tamis_free(f);
    f = NULL;
    status = tamis_view(bytes, size, &open, &f);
    CHECK(is_input_error(status) && f == NULL, "%s: view, %s %zu: %s", v->name, what, at,
          tamis_status_name(status));
    tamis_free(f);
    count_up("damaged inputs", 2);
    tallies[v->kind].malformed++;
}

/* As a file: reading it fails; mapping it fails, or verifying it does, and so does every call that
 * would give the damage a valid checksum. */
static void refused_as_file(const struct variant *v, size_t at, const uint8_t *bytes, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/damaged.tamis", run_directory());
    FILE *file = fopen(path, "wb");
    const bool written = file != NULL && fwrite(bytes, 1, size, file) == size;
    if (!CHECK(file != NULL && fclose(file) == 0 && written, "write %s", path)) return;
    tamis_open_options open = TAMIS_OPEN_INIT;
    tamis_filter *f = NULL, *copy = NULL;
    tamis_status status = tamis_open(path, &open, &f);
    CHECK(is_input_error(status) && f == NULL, "%s: file damaged at %zu: %s", v->name, at,
          tamis_status_name(status));
    tamis_free(f);
    f = NULL;
    open.map = true;
    status = tamis_open(path, &open, &f);
    if (status == TAMIS_OK) {
        (void)tamis_contains_hash(f, at);
        CHECK(tamis_clone(f, &copy) == TAMIS_E_CHECKSUM && copy == NULL, "%s: clone", v->name);
        CHECK(tamis_verify(f) == TAMIS_E_CHECKSUM, "%s: mapped, damaged at %zu", v->name, at);
    } else {
        CHECK(is_input_error(status), "%s: mapped file damaged at %zu: %s", v->name, at,
              tamis_status_name(status));
    }
    tamis_free(f);
    count_up("damaged files", 2);
}

static void damage(const struct variant *v, const struct bytes *good) {
    struct bytes bad = bytes_new(good->size + 64);
    memset(bad.data, 0, bad.size);
    memcpy(bad.data, good->data, good->size);
    for (size_t size = 0; size < good->size; size++) refused(v, "cut to", size, bad.data, size);
    for (size_t more = 1; more <= 16; more++) {
        refused(v, "longer by", more, bad.data, good->size + more);
    }
    const unsigned step = (unsigned)run_pick(61, 17, 1);
    for (size_t at = 0; at < good->size; at++) {
        /* A larger table is uniform: one bit of each byte suffices. */
        const bool every = at < HEADER_BYTES || good->size < 1500 || run_effort() == EFFORT_FULL;
        for (unsigned bit = 0; bit < 8; bit++) {
            if (!every && bit != at % 8) continue;
            bad.data[at] = (uint8_t)(good->data[at] ^ (1u << bit));
            refused(v, "bit flipped in byte", at, bad.data, good->size);
        }
        for (unsigned x = 1 + (unsigned)at % step; every && x < 256; x += step) {
            bad.data[at] = (uint8_t)(good->data[at] + x);
            refused(v, "changed byte", at, bad.data, good->size);
        }
        bad.data[at] = good->data[at];
    }
    bytes_free(&bad);
}

/* Several bytes at once: runs of zeros and ones, and a random byte. */
static void damage_several(const struct variant *v, const struct bytes *good, uint64_t rounds,
                           uint64_t salt) {
    struct bytes bad = bytes_copy(good->data, good->size);
    struct rng r = {run_seed() + salt};
    for (uint64_t round = 0; round < rounds; round++) {
        const size_t at = (size_t)rng_below(&r, good->size);
        size_t length = 1 + (size_t)rng_below(&r, 40);
        if (length > good->size - at) length = good->size - at;
        memset(bad.data + at, round % 2 == 0 ? 0 : 0xff, length);
        bad.data[rng_below(&r, good->size)] ^= (uint8_t)(1 + rng_below(&r, 255));
        if (memcmp(bad.data, good->data, good->size) != 0) {
            refused(v, "several bytes at", at, bad.data, good->size);
            if (round % 32 == 0) refused_as_file(v, at, bad.data, good->size);
        }
        memcpy(bad.data, good->data, good->size);
    }
    bytes_free(&bad);
}

/* The memory that `size` bytes of input may take: a small multiple of them. */
static uint64_t allowance(size_t size) { return 16 * (uint64_t)size + 65536; }

/* Bytes with correct checksums.  Counts how many the decoder accepts. */
static void decode_forged(const struct variant *v, const struct bytes *good, const uint8_t *bytes,
                          size_t size, bool view) {
    const bool same = size == good->size && memcmp(bytes, good->data, size) == 0;
    static struct meter meter;
    meter_reset(&meter);
    tamis_open_options open = TAMIS_OPEN_INIT;
    open.format = "tamis";
    open.allocator = meter_allocator(&meter);
    tamis_filter *f = NULL;
    const tamis_status status =
        view ? tamis_view(bytes, size, &open, &f) : tamis_decode(bytes, size, &open, &f);
    const uint64_t peak = atomic_load(&meter.peak_bytes);
    CHECK(peak <= allowance(size), "%s: %zu bytes made the decoder take %llu", v->name, size,
          (unsigned long long)peak);
    CHECK((status == TAMIS_OK) == (f != NULL), "%s: %s and %s", v->name, tamis_status_name(status),
          f != NULL ? "a filter" : "no filter");
    count_up("hostile inputs", 1);
    tallies[v->kind].malformed += !same;
    if (f != NULL) {
        /* A growing filter may allocate more when keys are added: the test limits that. */
        meter.limit = (uint64_t)256 << 20;
        const size_t equal = exercise(f, bytes, size);
        CHECK(equal == size, "%s: accepted %zu bytes and encodes to others from byte %zu on",
              v->name, size, equal);
        count_up("accepted", 1);
        tallies[v->kind].accepted += !same;
    } else {
        CHECK(is_input_error(status) || status == TAMIS_E_SECRET, "%s: hostile bytes gave %s",
              v->name, tamis_status_name(status));
    }
    CHECK(atomic_load(&meter.live) == 0, "%s: %llu blocks leaked", v->name,
          (unsigned long long)atomic_load(&meter.live));
    CHECK(atomic_load(&meter.wrong_size) == 0, "%s: freed with another size", v->name);
}

static void forgery(const struct variant *v, const struct bytes *good, uint64_t rounds,
                    uint64_t salt) {
    struct rng r = {run_seed() + salt};
    struct bytes bad = bytes_new(good->size + 256);
    for (uint64_t round = 0; round < rounds; round++) {
        size_t size = good->size;
        memcpy(bad.data, good->data, size);
        const uint64_t changes = 1 + rng_below(&r, 3);
        for (uint64_t i = 0; i < changes; i++) size = mutate(bad.data, size, bad.size, &r);
        repair_sums(bad.data, size);
        decode_forged(v, good, bad.data, size, round % 2 == 0);
    }
    bytes_free(&bad);
}

/* Every number of the header, and the first ones of the table, set to each boundary value. */
static void every_field(const struct variant *v, const struct bytes *good) {
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      7,
                                      8,
                                      63,
                                      64,
                                      65,
                                      255,
                                      256,
                                      UINT64_C(0x7fffffff),
                                      UINT64_C(0x80000000),
                                      UINT64_C(0xffffffff),
                                      UINT64_C(0x100000000),
                                      UINT64_C(0x1fffffffffffffff),
                                      UINT64_C(0x7fffffffffffffff),
                                      UINT64_C(0x8000000000000000),
                                      UINT64_C(0xfffffffffffffff8),
                                      UINT64_MAX};
    struct bytes bad = bytes_new(good->size);
    for (size_t at = 8; at + 8 <= good->size && at < HEADER_BYTES + 128; at += 4) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            for (unsigned width = 4; width <= 8; width += 4) {
                memcpy(bad.data, good->data, good->size);
                for (unsigned b = 0; b < width; b++) {
                    bad.data[at + b] = (uint8_t)(values[i] >> (8 * b));
                }
                repair_sums(bad.data, bad.size);
                decode_forged(v, good, bad.data, bad.size, false);
            }
        }
    }
    bytes_free(&bad);
}

/* Doubles: a rate is in (0, 1), and those of a growing filter can be halved for every stage. */
static void bad_rates(const struct variant *v, const struct bytes *good) {
    static const double never[] = {0, -0.0, -1, 1, 2, 1e308, INFINITY, -INFINITY, NAN};
    static const double too_low[] = {4.9e-324, 1e-310, 2.3e-308, 1e-300};
    const size_t places[] = {AT_FPR, AT_SHAPE + 24, HEADER_BYTES + 8};
    const bool grows = (v->caps & TAMIS_CAN_GROW) != 0;
    struct bytes bad = bytes_new(good->size);
    for (size_t p = 0; p < (grows ? 3 : 1); p++) {
        memcpy(bad.data, good->data, good->size);
        for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
            memcpy(bad.data + places[p], &never[i], 8);
            repair_sums(bad.data, bad.size);
            refused(v, "no rate at", places[p], bad.data, bad.size);
        }
        for (size_t i = 0; p > 0 && i < sizeof too_low / sizeof *too_low; i++) {
            memcpy(bad.data + places[p], &too_low[i], 8);
            repair_sums(bad.data, bad.size);
            refused(v, "too low a rate at", places[p], bad.data, bad.size);
        }
    }
    bytes_free(&bad);
}

/* The tests themselves: a repaired file that was not changed is accepted, and so is one whose
 * sums were destroyed and repaired. */
static void repair_works(const struct variant *v, const struct bytes *good) {
    struct bytes copy = bytes_copy(good->data, good->size);
    const uint8_t table_bytes_low = copy.data[AT_TABLE_BYTES];
    memset(copy.data + AT_SUM_OF_SUMS, 0xcc, 16);
    repair_sums(copy.data, copy.size);
    CHECK(bytes_equal(&copy, good), "%s: sums as in doc/format.md (byte %zu of %zu, table byte %u)",
          v->name, bytes_difference(&copy, good), good->size, (unsigned)table_bytes_low);
    bytes_free(&copy);
}

/* Small filters, of which every change of a byte can be made. */
static void small_filters(const struct variant *v, const uint64_t *hashes) {
    static const size_t sizes[] = {0, 1, 12, 60};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        tamis_filter *f = variant_build(v, s % 2 == 0 ? 0.01 : 0.1, hashes, sizes[s]);
        if (f == NULL) continue;
        struct bytes good = bytes_of(f);
        repair_works(v, &good);
        bad_rates(v, &good);
        if (run_effort() != EFFORT_QUICK || s == 2) {
            damage(v, &good);
            damage_several(v, &good, run_pick(200, 2000, 50000), 0);
        }
        if (run_effort() != EFFORT_QUICK || s == 3) every_field(v, &good);
        forgery(v, &good, run_pick(300, 2000, 100000), s);
        bytes_free(&good);
        tamis_free(f);
    }
}

/* Grown in several stages, or large enough to be laid out as a large one; and as many more changes
 * as --count requires. */
static void larger_filter(const struct variant *v, const uint64_t *hashes, size_t count,
                          uint64_t malformed) {
    tamis_options o = variant_options(v, 1, 0.01);
    tamis_filter *f = NULL;
    if ((v->caps & TAMIS_CAN_GROW) != 0 && tamis_create(&o, &f) == TAMIS_OK) {
        tamis_add_hash_batch(f, hashes, count, NULL, NULL);
    } else {
        f = variant_build(v, 1e-3, hashes, count);
    }
    if (f == NULL) return;
    struct bytes good = bytes_of(f);
    repair_works(v, &good);
    forgery(v, &good, run_pick(300, 4000, 100000), 77);
    if (run_effort() != EFFORT_QUICK) every_field(v, &good);
    for (uint64_t salt = 78; tallies[v->kind].malformed < malformed; salt++) {
        damage_several(v, &good, 1000, salt);
        forgery(v, &good, 1000, salt);
    }
    bytes_free(&good);
    tamis_free(f);
}

int main(int argc, char **argv) {
    run_start(argc, argv, "corruption");
    uint64_t hashes[400];
    hashes_fill(hashes, 400, 0, run_seed(), STREAM_MEMBERS);
    for (size_t i = 0; variant_at(i) != NULL; i++) {
        const struct variant *v = variant_at(i);
        small_filters(v, hashes);
        larger_filter(v, hashes, 400, run_count(0, 0, 0));
    }
    for (tamis_kind k = tamis_kind_next(TAMIS_AUTO); k != TAMIS_AUTO; k = tamis_kind_next(k)) {
        if (tallies[k].malformed == 0) continue;
        count_up("malformed filters", tallies[k].malformed);
        printf("corruption: %s: %llu malformed filters, %llu accepted with repaired checksums\n",
               tamis_kind_name(k), (unsigned long long)tallies[k].malformed,
               (unsigned long long)tallies[k].accepted);
    }
    return run_end();
}
